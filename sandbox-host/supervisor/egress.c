/*
 * What the session of the sandbox may reach, for the API: the supervisor
 * holds the session, so it alone asks the gateway. The API says what, and
 * can say no more than this: show this session's policy, replace it, lend it
 * a value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/channel.h"
#include "sandbox-host/supervisor/parts.h"

#define EGRESSES_MAX	16 /* channels at once */
#define PERMIT_RATE	200
#define CONTROL_WAIT_MS 1000
#define PATH_BYTES	192

struct egress {
	struct supervisor *supervisor;
	struct rpc *rpc;
	struct egress *next, *prev;
};

/* What the gateway said, for as long as its reply lasts. */
static struct egress_answer answer_of(const struct reply *reply)
{
	const char *errors = json_text(reply->json, "errors");
	struct bytes detail =
		bytes_str(*errors ? errors : json_text(reply->json, "detail"));

	return (struct egress_answer){
		.status = (uint16_t)reply->status,
		.hash = bytes_str(json_text(reply->json, "hash")),
		.detail = bytes_slice(detail, 0, EGRESS_DETAIL_MAX),
	};
}

/* Release reply. False: the ticket was answered. */
static bool call(struct rpc_ticket ticket, const struct client_request *request,
		 struct reply *reply)
{
	struct client client;
	struct err err;
	int result;

	*reply = (struct reply){0};
	result = client_open_within(&client, CONTROL_WAIT_MS, &err);
	if (result == 0) {
		result = client_call(&client, request, reply, &err);
		client_close(&client);
	}
	if (result == 0)
		return true;
	rpc_refuse(ticket, HOST_REFUSED_UNREACHABLE, "%s", err.text);
	return false;
}

static void path_of(const struct egress *egress, const char *rest,
		    char path[PATH_BYTES])
{
	(void)snprintf(path, PATH_BYTES, "/v1/sessions/%s/%s",
		       json_text(egress->supervisor->session.json, "id"), rest);
}

static void answer_show(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	char path[PATH_BYTES];
	const struct client_request request = {.method = "GET", .path = path};
	auto_type(reply_release) struct reply reply;
	struct egress_answer answer;
	auto_fd int sealed = -1;
	struct err err;

	(void)message;
	(void)fd;
	reply = (struct reply){0};
	path_of(owner, "policy", path);
	if (!call(ticket, &request, &reply))
		return;
	answer = answer_of(&reply);
	sealed = wire_memfd_seal(
		"policy", bytes_str(json_text(reply.json, "policy")), &err);
	if (sealed < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &egress_answer_schema, &answer, sealed);
}

static void has_changed(struct supervisor *supervisor, struct bytes text)
{
	events_add(supervisor, "policy", "what may be reached was changed");
	if (again_keep_policy(supervisor, text) < 0)
		log_warn("no memory for the policy that holds now");
	again_tell_changed(supervisor);
}

static void change(struct rpc_ticket ticket, const struct egress *egress,
		   struct bytes text, struct bytes expected)
{
	char path[PATH_BYTES];
	struct client_request request = {
		.method = "PUT",
		.path = path,
		.type = "application/json",
	};
	auto_type(reply_release) struct reply reply;
	json_t *root = json_pack("{s:s%, s:s%}", "policy", text.data, text.len,
				 "expect", expected.data, expected.len);
	auto_free char *body = root ? json_dumps(root, JSON_COMPACT) : NULL;
	struct egress_answer answer;

	reply = (struct reply){0};
	json_decref(root);
	if (!body) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "it is no text");
		return;
	}
	path_of(egress, "policy", path);
	request.body = bytes_str(body);
	if (!call(ticket, &request, &reply))
		return;
	answer = answer_of(&reply);
	if (reply.status == 200)
		has_changed(egress->supervisor, text);
	rpc_reply(ticket, &egress_answer_schema, &answer, -1);
}

static void answer_change(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	const struct egress_change *wanted = message;
	struct bytes text;
	struct err err;

	if (wire_memfd_map(*fd, POLICY_TEXT_MAX, &text, &err) < 0) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "%s", err.text);
		return;
	}
	change(ticket, owner, text, wanted->expected);
	wire_memfd_unmap(text);
}

static bool is_name(struct bytes name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!((name.data[i] >= 'a' && name.data[i] <= 'z') ||
		      (name.data[i] >= '0' && name.data[i] <= '9') ||
		      name.data[i] == '-' || name.data[i] == '.'))
			return false;
	return name.len > 0;
}

static void answer_lend(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct egress_value *lent = message;
	char path[PATH_BYTES], rest[PATH_BYTES / 2];
	const struct client_request request = {
		.method = lent->value.len ? "PUT" : "DELETE",
		.path = path,
		.type = "application/octet-stream",
		.body = lent->value,
	};
	auto_type(reply_release) struct reply reply;
	struct egress_answer answer;

	(void)fd;
	reply = (struct reply){0};
	if (!is_name(lent->name)) {
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "it is no name");
		return;
	}
	(void)snprintf(rest, sizeof(rest), "secrets?name=%.*s",
		       BYTES_ARGS(lent->name));
	path_of(owner, rest, path);
	if (!call(ticket, &request, &reply))
		return;
	answer = answer_of(&reply);
	rpc_reply(ticket, &egress_answer_schema, &answer, -1);
}

static void forget(struct egress *egress)
{
	DL_DELETE(egress->supervisor->egresses, egress);
	egress->supervisor->egress_count--;
	free(egress);
}

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	forget(owner);
}

int egress_open(struct supervisor *supervisor, struct err *err)
{
	static const struct rpc_permit permits[] = {
		{MSG_EGRESS_SHOW, &wire_empty_schema, answer_show, false,
		 PERMIT_RATE},
		{MSG_EGRESS_CHANGE, &egress_change_schema, answer_change, true,
		 PERMIT_RATE},
		{MSG_EGRESS_LEND, &egress_value_schema, answer_lend, false,
		 PERMIT_RATE},
	};
	auto_free struct egress *egress = calloc(1, sizeof(*egress));
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = egress,
		.on_closed = on_closed,
	};
	int theirs;

	if (!egress || supervisor->egress_count >= EGRESSES_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "too many changes of what may be reached");
	egress->supervisor = supervisor;
	theirs = channel_open(supervisor->loop, &config, &egress->rpc, err);
	if (theirs < 0)
		return -1;
	DL_APPEND(supervisor->egresses, egress);
	supervisor->egress_count++;
	(void)take_ptr(&egress);
	return theirs;
}

void egress_close_all(struct supervisor *supervisor)
{
	while (supervisor->egresses) {
		rpc_close(supervisor->egresses->rpc);
		forget(supervisor->egresses);
	}
}
