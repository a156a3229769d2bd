#include "sandbox-host/session/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/http/framing.h"
#include "gateway/http/head.h"
#include "gateway/http/write.h"
#include "sandbox-host/session/dirs.h"

#define READ_BYTES (64 * 1024)

int client_open(struct client *client, struct err *err)
{
	return client_open_within(client, CLIENT_TIMEOUT_S * 1000, err);
}

int client_open_within(struct client *client, unsigned ms, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char run[sizeof(address.sun_path) - 16];
	int number;
	const struct timeval timeout = {.tv_sec = CLIENT_TIMEOUT_S};
	const struct timeval sooner = {.tv_sec = ms / 1000,
				       .tv_usec = ms % 1000 * 1000};

	buf_init(&client->in, CLIENT_BODY_MAX);
	client->fd = -1;
	client->until = -1;
	if (session_run_dir(run, sizeof(run)) < 0)
		return err_set(err, ERR_TOO_LARGE,
			       "the run directory's path "
			       "is too long for a socket");
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "%s/control.sock", run);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return err_system(err, "make socket");
	(void)setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout,
			 sizeof(timeout));
	(void)setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &sooner,
			 sizeof(sooner));
	if (connect(client->fd, (const struct sockaddr *)&address,
		    sizeof(address)) == 0) {
		/* One that was named is believed. */
		if (!getenv("SALLYPORT_RUN") &&
		    session_check_peer(client->fd, address.sun_path, err) < 0) {
			client_close(client);
			return -1;
		}
		(void)setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout,
				 sizeof(timeout));
		return 0;
	}
	number = errno;
	client_close(client);
	if (number == EACCES)
		return err_set(err, ERR_DENIED,
			       "%s is not open to this user: name the run "
			       "directory of your own gateway in SALLYPORT_RUN",
			       address.sun_path);
	return err_set(err, ERR_CLOSED,
		       "no gateway answers at %s (%s): start "
		       "sallyport-gateway, or name its run directory in "
		       "SALLYPORT_RUN",
		       address.sun_path, strerror(number));
}

void client_close(struct client *client)
{
	if (client->fd >= 0)
		(void)close(client->fd);
	client->fd = -1;
	buf_release(&client->in);
}

/* ---- send ---- */

static int send_all(int fd, struct bytes bytes, struct err *err)
{
	while (bytes.len > 0) {
		ssize_t put = send(fd, bytes.data, bytes.len, MSG_NOSIGNAL);

		if (put < 0)
			return err_system(err, "send to the gateway");
		bytes = bytes_slice(bytes, (size_t)put, bytes.len);
	}
	return 0;
}

int client_send(struct client *client, const struct client_request *request,
		struct err *err)
{
	const struct target target = {.host = "localhost", .port = 80};
	auto_type(buf_release) struct buf head;

	buf_init(&head, HEAD_BYTES_MAX);
	if (write_request_line(&head, bytes_str(request->method),
			       bytes_str(request->path), &target) < 0 ||
	    (request->type && write_field(&head, bytes_str("Content-Type"),
					  bytes_str(request->type)) < 0) ||
	    write_framing(&head, request->type ? FRAMING_LENGTH : FRAMING_NONE,
			  request->body.len) < 0 ||
	    write_end(&head) < 0)
		return err_set(err, ERR_TOO_LARGE, "the request is too large");
	if (send_all(client->fd, buf_view(&head), err) < 0)
		return -1;
	/* A head that is refused may be answered without the body being read:
	 * the answer says why, a broken pipe does not. */
	if (send_all(client->fd, request->body, err) < 0 &&
	    err->number != EPIPE && err->number != ECONNRESET)
		return -1;
	*err = (struct err){0};
	return 0;
}

/* ---- receive ---- */

/* Has the wait for an answer ended without one? */
static bool is_over(const struct client *client)
{
	struct pollfd fds[] = {
		{.fd = client->fd, .events = POLLIN},
		{.fd = client->until, .events = POLLIN},
	};

	if (client->until < 0)
		return false;
	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return true;
	return fds[1].revents != 0;
}

/* More bytes into client->in. 1; 0 at the end; -1. */
static int receive(struct client *client, struct err *err)
{
	uint8_t *room = buf_reserve(&client->in, READ_BYTES);
	ssize_t got;

	if (!room)
		return err_set(err, ERR_TOO_LARGE, "the answer is too large");
	if (is_over(client))
		return 0;
	got = recv(client->fd, room, READ_BYTES, 0);
	if (got < 0 && errno == EAGAIN)
		return err_set(err, ERR_TIMEOUT, "the gateway says nothing");
	if (got < 0)
		return err_system(err, "read from the gateway");
	buf_commit(&client->in, (size_t)got);
	return got > 0;
}

static int receive_head(struct client *client, struct arena *arena,
			const char *method, struct response *response,
			struct err *err)
{
	struct guard guard;
	struct http_fault fault;
	size_t len;

	guard_init(&guard, GUARD_RESPONSE);
	for (;;) {
		enum guard_result result =
			guard_scan(&guard, buf_view(&client->in), &len);

		if (result == GUARD_COMPLETE)
			break;
		if (result == GUARD_INVALID)
			return err_set(err, ERR_INVALID,
				       "the gateway's answer: %s",
				       guard.fault.reason);
		if (receive(client, err) <= 0)
			return err->code ? -1
					 : err_set(err, ERR_CLOSED,
						   "the gateway hung up");
	}
	if (head_response(arena, &guard,
			  bytes_slice(buf_view(&client->in), 0, len),
			  bytes_str(method), response, &fault) < 0)
		return err_set(err, ERR_INVALID, "the gateway's answer: %s",
			       fault.reason);
	buf_consume(&client->in, len);
	return 0;
}

typedef int span_fn(struct bytes span, void *owner, struct err *err);

static int receive_body(struct client *client, const struct response *response,
			span_fn *fn, void *owner, struct err *err)
{
	struct body_decoder decoder;

	body_decoder_init(&decoder, response->framing, response->body_len);
	for (;;) {
		struct bytes input = buf_view(&client->in), span;
		size_t before = input.len;
		enum body_result result = body_decode(&decoder, &input, &span);
		int got;

		if (result == BODY_INVALID)
			return err_set(err, ERR_INVALID,
				       "the gateway's answer: %s",
				       decoder.reason);
		got = span.len ? fn(span, owner, err) : 0;
		buf_consume(&client->in, before - input.len);
		if (got != 0 || result == BODY_END)
			return got < 0 ? -1 : 0;
		if (before > input.len)
			continue;
		got = receive(client, err);
		if (got < 0)
			return -1;
		if (got == 0)
			return body_decoder_may_end(&decoder)
				       ? 0
				       : err_set(err, ERR_CLOSED,
						 "the gateway hung up");
	}
}

static int keep_span(struct bytes span, void *owner, struct err *err)
{
	return buf_add(owner, span) < 0
		       ? err_set(err, ERR_TOO_LARGE, "the answer is too large")
		       : 0;
}

/* All of the body behind that head. */
static int take_reply(struct client *client, const struct response *response,
		      struct reply *reply, struct err *err)
{
	buf_init(&reply->body, CLIENT_BODY_MAX);
	if (receive_body(client, response, keep_span, &reply->body, err) < 0)
		return -1;
	reply->status = response->status;
	reply->json =
		json_loadb((const char *)buf_view(&reply->body).data,
			   buf_len(&reply->body), JSON_REJECT_DUPLICATES, NULL);
	return 0;
}

int client_receive(struct client *client, const char *method,
		   struct reply *reply, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct response response;

	*reply = (struct reply){0};
	*err = (struct err){0};
	arena_init(&arena, HEAD_ARENA_BYTES);
	return receive_head(client, &arena, method, &response, err) < 0
		       ? -1
		       : take_reply(client, &response, reply, err);
}

int client_call(struct client *client, const struct client_request *request,
		struct reply *reply, struct err *err)
{
	*reply = (struct reply){0};
	*err = (struct err){0};
	return client_send(client, request, err) < 0
		       ? -1
		       : client_receive(client, request->method, reply, err);
}

void reply_release(struct reply *reply)
{
	buf_release(&reply->body);
	json_decref(reply->json);
	reply->json = NULL;
}

const char *json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

int reply_check(const struct reply *reply, struct err *err)
{
	const char *detail = json_text(reply->json, "detail");
	const char *errors = json_text(reply->json, "errors");
	enum err_code code = ERR_INVALID;

	if (reply->status >= 200 && reply->status < 300)
		return 0;
	if (reply->status == 401 || reply->status == 403)
		code = ERR_DENIED;
	else if (reply->status == 404)
		code = ERR_MISSING;
	else if (reply->status >= 500)
		code = ERR_SYSTEM;
	return err_set(err, code, "%s%s%s", detail[0] ? detail : "refused",
		       errors[0] ? "\n" : "", errors);
}

int client_end(struct client *client, const struct client_request *request,
	       struct reply *reply, struct err *err)
{
	int result = client_call(client, request, reply, err);

	client_close(client);
	return result < 0 ? -1 : reply_check(reply, err);
}

int client_once(const struct client_request *request, struct reply *reply,
		struct err *err)
{
	struct client client;

	*reply = (struct reply){0};
	return client_open(&client, err) < 0
		       ? -1
		       : client_end(&client, request, reply, err);
}

/* ---- follow ---- */

struct follow {
	struct buf line;
	client_line_fn *fn;
	void *owner;
};

static int take_lines(struct bytes span, void *owner, struct err *err)
{
	struct follow *follow = owner;

	while (span.len > 0) {
		struct bytes head;
		bool whole = bytes_split(&span, '\n', &head);

		if (buf_add(&follow->line, head) < 0)
			return err_set(err, ERR_TOO_LARGE, "a line too long");
		if (!whole)
			break;
		if (!follow->fn(buf_view(&follow->line), follow->owner))
			return 1;
		buf_clear(&follow->line);
	}
	return 0;
}

/* No lines: what was answered in their place. */
static int take_refusal(struct client *client, const struct response *response,
			struct err *err)
{
	auto_type(reply_release) struct reply reply = {0};

	if (take_reply(client, response, &reply, err) < 0 ||
	    reply_check(&reply, err) < 0)
		return -1;
	return err_set(err, ERR_INVALID, "the gateway answered %u",
		       response->status);
}

int client_follow(struct client *client, const char *path, client_line_fn *fn,
		  void *owner, struct err *err)
{
	const struct client_request request = {.method = "GET", .path = path};
	const struct timeval forever = {0};
	struct follow follow = {.fn = fn, .owner = owner};
	auto_type(arena_release) struct arena arena;
	struct response response;
	int result;

	*err = (struct err){0};
	buf_init(&follow.line, 64 * 1024);
	arena_init(&arena, HEAD_ARENA_BYTES);
	(void)setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &forever,
			 sizeof(forever));
	if (client_send(client, &request, err) < 0 ||
	    receive_head(client, &arena, "GET", &response, err) < 0)
		return -1;
	if (response.status != 200)
		return take_refusal(client, &response, err);
	result = receive_body(client, &response, take_lines, &follow, err);
	buf_release(&follow.line);
	return result;
}
