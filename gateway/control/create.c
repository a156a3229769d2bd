#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/secret.h"
#include "gateway/control/again.h"
#include "gateway/control/ca.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/control/placeholders.h"
#include "gateway/control/rights.h"
#include "gateway/control/secret_files.h"
#include "gateway/control/signer.h"
#include "gateway/control/terms.h"
#include "gateway/session/lease.h"
#include "policies/guardrail.h"
#include "policies/permissions.h"
#include "policies/ref.h"
#include "policies/repo_path.h"

#define TTL_DEFAULT_S	(2 * 60 * 60)
#define NAME_LEN_MAX	64
#define REPO_LEN_MAX	256
#define BRANCH_LEN_MAX	128
#define ERRORS_MAX	(64 * 1024)
#define LEASE_SHOWN_MAX 256 /* of its permissions, on record */
#define SCOPE_ARENA_MAX (32 * 1024 * 1024)

/* What the body asks for; views into its JSON. */
struct wanted {
	struct bytes policy, policy_name, repo, branch;
	const json_t *permissions; /* NULL: none are given */
	struct bytes lease;	   /* they as one text */
	struct bytes again;	   /* the session that is made anew */
	struct bytes token;	   /* the lease that it had */
	json_int_t ttl_s;
	int holds;
	int has_proxy;
};

struct create_task {
	char id[SESSION_ID_MAX + 1];
	char lease[LEASE_SIZE];
	uint64_t expires_ms;
	bool holds;
	bool has_proxy;
	bool signs;
	int package_fd;		   /* -1 once it was given away */
	struct buf permissions;	   /* effective, as one text */
	uint8_t terms[DIGEST_LEN]; /* the configuration's part of them */
	json_t *placeholders;
	struct record record;
	struct record link; /* of the one before, if it is made anew */
};

static void create_end(struct conn *conn)
{
	struct create_task *task = conn->task;

	secret_wipe(task->lease, sizeof(task->lease));
	buf_release(&task->permissions);
	json_decref(task->placeholders);
	if (task->package_fd >= 0)
		(void)close(task->package_fd);
}

/* ---- the body ---- */

static bool is_printable(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < 0x20 || text.data[i] > 0x7e)
			return false;
	return true;
}

static bool is_branch(struct bytes branch)
{
	char ref[sizeof("refs/heads/") + BRANCH_LEN_MAX];

	(void)snprintf(ref, sizeof(ref), "refs/heads/%.*s", BYTES_ARGS(branch));
	return branch.len <= BRANCH_LEN_MAX && ref_is_valid(bytes_str(ref));
}

/* NULL, or what is wrong. */
static const char *check_wanted(const struct wanted *wanted,
				struct arena *arena)
{
	struct policy_repo repo;
	static struct err err;

	if (wanted->policy_name.len > NAME_LEN_MAX ||
	    !is_printable(wanted->policy_name))
		return "policy_name is at most 64 printable characters";
	if (wanted->ttl_s < 1 || wanted->ttl_s > SESSION_TTL_MAX_S)
		return "ttl_s is 1 to 604800 seconds: seven days";
	if (wanted->again.len > SESSION_ID_MAX ||
	    (wanted->again.len > 0) != (wanted->token.len > 0) ||
	    (wanted->token.len > 0 && !lease_is_one(wanted->token)))
		return "again and lease are the id and the lease of one "
		       "session";
	if (wanted->again.len > 0 && wanted->has_proxy)
		return "a session for clients outside is not made anew";
	if (wanted->branch.len > 0 && !is_branch(wanted->branch))
		return "branch is no branch's name, without refs/heads/, of "
		       "at most 128 characters";
	if (wanted->repo.len > REPO_LEN_MAX || !is_printable(wanted->repo))
		return "repo is at most 256 printable characters";
	if (wanted->repo.len > 0 &&
	    repo_url_parse(arena, wanted->repo, &repo, &err) < 0) {
		(void)err_prefix(&err, "repo");
		return err.text;
	}
	return NULL;
}

static json_t *parse_wanted(struct conn *conn, struct wanted *wanted)
{
	struct bytes body = buf_view(&conn->http.body);
	const char *policy = "", *name = "", *repo = "", *branch = "";
	const char *again = "", *token = "";
	size_t policy_len = 0, name_len = 0, repo_len = 0, branch_len = 0;
	size_t again_len = 0, token_len = 0;
	json_error_t error;
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);

	*wanted = (struct wanted){.ttl_s = TTL_DEFAULT_S};
	if (root &&
	    json_unpack_ex(root, &error, JSON_STRICT,
			   "{s:s%, s?s%, s?s%, s?s%, s?I, s?b, s?b, s?o, "
			   "s?s%, s?s%}",
			   "policy", &policy, &policy_len, "policy_name", &name,
			   &name_len, "repo", &repo, &repo_len, "branch",
			   &branch, &branch_len, "ttl_s", &wanted->ttl_s,
			   "hold", &wanted->holds, "proxy", &wanted->has_proxy,
			   "permissions", &wanted->permissions, "again", &again,
			   &again_len, "lease", &token, &token_len) < 0) {
		json_decref(root);
		root = NULL;
	}
	if (!root) {
		conn_refuse(conn, 400, "the body: %s", error.text);
		return NULL;
	}
	wanted->policy = bytes_from(policy, policy_len);
	wanted->policy_name = bytes_from(name, name_len);
	wanted->repo = bytes_from(repo, repo_len);
	wanted->branch = bytes_from(branch, branch_len);
	wanted->lease = bytes_from(NULL, 0);
	wanted->again = bytes_from(again, again_len);
	wanted->token = bytes_from(token, token_len);
	return root;
}

/* NULL, or what is wrong. */
static const char *take_permissions(struct conn *conn, struct wanted *wanted)
{
	static struct err err;
	auto_type(buf_release) struct buf text = {0};
	const json_t *item;
	size_t i;

	if (!wanted->permissions)
		return NULL;
	if (!json_is_array(wanted->permissions) ||
	    json_array_size(wanted->permissions) == 0 ||
	    json_array_size(wanted->permissions) > PERMISSIONS_MAX)
		return "permissions is a list of 1 to 64 texts";
	if (wanted->repo.len == 0)
		return "permissions are for repo: give one";
	buf_init(&text, PERMISSIONS_BYTES_MAX);
	json_array_foreach(wanted->permissions, i, item)
	{
		struct bytes permission = bytes_from(json_string_value(item),
						     json_string_length(item));

		if (permission_check(permission, &err) < 0)
			return err.text;
		if ((i > 0 && buf_add_byte(&text, ' ') < 0) ||
		    buf_add(&text, permission) < 0)
			return "permissions are 8192 bytes at most";
	}
	wanted->lease = arena_copy(&conn->http.arena, buf_view(&text));
	return wanted->lease.len ? NULL : "no memory";
}

/* ---- the package ---- */

static struct policy *compile(struct conn *conn, const struct wanted *wanted,
			      const char *id)
{
	auto_type(buf_release) struct buf report;
	const struct policy_variables variables = {
		.session_id = bytes_str(id),
		.branch = wanted->branch,
		.repo = wanted->repo,
		.permissions = wanted->lease,
	};
	const char *file = arena_str(&conn->http.arena, wanted->policy_name);
	struct policy_errors errors = {
		.out = &report,
		.file = file && *file ? file : "policy",
	};
	struct policy *policy;

	buf_init(&report, ERRORS_MAX);
	policy = guarded_compile(wanted->policy,
				 conn->control->keeper->config.guardrail,
				 &variables, &errors);
	if (!policy)
		conn_refuse_errors(conn, 422, "the policy does not compile",
				   buf_view(&report));
	return policy;
}

static int seal(struct conn *conn, const struct wanted *wanted,
		const struct policy *policy, struct create_task *task,
		struct err *err)
{
	uint8_t hash[DIGEST_LEN];
	auto_type(arena_release) struct arena arena;
	struct session_package session = {
		.id = bytes_str(task->id),
		.owner_uid = conn->who.uid,
		.repo = wanted->repo,
		.branch = wanted->branch,
		.permissions = wanted->lease,
		.permitted = buf_view(&task->permissions),
		.policy_name = wanted->policy_name,
		.created_ms = clock_wall_ms(),
		.lease_hash = bytes_from(hash, sizeof(hash)),
		.has_proxy = wanted->has_proxy,
		.policy_text = wanted->policy,
		.guardrail_text = conn->control->keeper->config.guardrail,
	};

	arena_init(&arena, SCOPE_ARENA_MAX);
	terms_of_config(&conn->control->keeper->config, task->terms);
	if (wanted->token.len)
		memcpy(task->lease, wanted->token.data, sizeof(task->lease));
	else
		lease_new(task->lease);
	digest_sha256(bytes_str(task->lease), bytes_from(NULL, 0), hash);
	task->expires_ms = session.created_ms + (uint64_t)wanted->ttl_s * 1000;
	session.expires_ms = task->expires_ms;
	task->placeholders = placeholders_json(policy, task->lease);
	if (!task->placeholders)
		return err_set(err, ERR_TOO_LARGE, "placeholders: no memory");
	if (scope_from_policy(policy, &arena, &session.scope, err) < 0)
		return -1;
	task->package_fd = package_seal(&session, err);
	return task->package_fd < 0 ? -1 : 0;
}

static struct create_task *task_new(struct conn *conn)
{
	struct create_task *task =
		arena_alloc(&conn->http.arena, sizeof(*task));
	char id[27];

	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return NULL;
	}
	random_id(id);
	(void)snprintf(task->id, sizeof(task->id), "s-%s", id);
	task->package_fd = -1;
	buf_init(&task->permissions, PERMISSIONS_BYTES_MAX);
	task->placeholders = NULL;
	conn->task = task;
	conn->on_end = create_end;
	return task;
}

/* ---- the steps ---- */

/* The first port of the door; empty for a session that has no business
 * there. */
static json_t *proxy_of(const struct conn *conn, const struct create_task *task)
{
	const struct gateway_config *config = &conn->control->keeper->config;

	return task->has_proxy ? json_text(config->proxy_listeners[0].address)
			       : json_string("");
}

/* The files that secrets stand in, which no sandbox may show. NULL: memory is
 * out. */
static json_t *secret_files(struct conn *conn)
{
	struct secret_files files;
	json_t *list;

	if (secret_files_list(&conn->control->keeper->config, &conn->http.arena,
			      &files) < 0)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < files.count; i++)
		(void)json_array_append_new(list,
					    json_text(files.items[i].path));
	return list;
}

/* signing is taken. */
static void reply_created(struct conn *conn, json_t *signing)
{
	const struct create_task *task = conn->task;
	const struct msg_ca *ca = &conn->control->ca;
	const struct bytes state = conn->control->keeper->config.state;
	char terms[TERMS_SIZE];

	terms_write(task->terms, ca, terms);
	if (task->holds)
		memcpy(conn->held[conn->held_count++], task->id,
		       sizeof(task->id));
	conn_reply_json(
		conn, 201,
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, "
			  "s:o, s:o, s:s, s:o}",
			  "id", task->id, "lease", task->lease, "permissions",
			  json_words(buf_view(&task->permissions)), "expires",
			  json_time(task->expires_ms), "ca_pem",
			  ca_trusted(conn->control), "ca_pkcs12",
			  json_base64(ca->pkcs12), "state", json_text(state),
			  "proxy", proxy_of(conn, task), "placeholders",
			  json_incref(task->placeholders), "signing", signing,
			  "terms", terms, "secret_files", secret_files(conn)));
}

static void on_signer(struct conn *conn, const void *message)
{
	reply_created(conn, signer_json(message));
}

static void on_created(struct conn *conn, const void *message)
{
	const struct create_task *task = conn->task;
	struct err err;

	(void)message;
	/* One that no record leads to could be made anew when it is revoked. */
	if (task->link.session.len > 0 &&
	    keeper_record(conn->control->keeper, &task->link) < 0) {
		(void)ask_end_session(conn->control, bytes_str(task->id), &err);
		conn_refuse(conn, 503, "the record could not be kept");
		return;
	}
	if (task->signs)
		signer_ask(conn, bytes_str(task->id), true, on_signer);
	else
		reply_created(conn, json_null());
}

static void ask_create(struct conn *conn)
{
	const struct create_task *task = conn->task;
	const struct wire_empty empty = {0};
	struct question question = {
		.role = ROLE_WARDEN,
		.type = MSG_SESSION_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = task->package_fd,
		.reply_schema = &wire_empty_schema,
		.undo = bytes_str(task->id),
		.uid = conn->who.uid,
	};

	/* What cannot be recorded does not happen. */
	if (keeper_record(conn->control->keeper, &task->record) < 0) {
		conn_refuse(conn, 503, "the record could not be kept");
		return;
	}
	conn_ask(conn, &question, on_created);
}

/* Which one is there instead of the one before; wanted ends with this turn. */
static void note_link(struct conn *conn, struct bytes before,
		      struct create_task *task)
{
	task->link = (struct record){
		.kind = RECORD_ADMIN,
		.allowed = true,
		.session = arena_copy(&conn->http.arena, before),
		.host = bytes_str("control"),
		.method = bytes_str(AGAIN_METHOD),
		.detail = bytes_str(arena_format(&conn->http.arena, AGAIN_LINK,
						 conn->who.uid, task->id)),
	};
}

/* Who created what: the warden's own record has only the session. */
static void note_record(struct conn *conn, const struct wanted *wanted,
			struct create_task *task)
{
	struct bytes lease = bytes_slice(wanted->lease, 0, LEASE_SHOWN_MAX);
	char policy[POLICY_HASH_SIZE], token[POLICY_HASH_SIZE];
	const char *detail;

	policy_hash(wanted->policy, policy);
	policy_hash(bytes_str(task->lease), token);
	detail = arena_format(
		&conn->http.arena,
		AGAIN_CREATED "policy %.*s, repo %.*s, branch %.*s%s%.*s%s%.*s",
		conn->who.uid, policy, token, BYTES_ARGS(wanted->policy_name),
		BYTES_ARGS(wanted->repo), BYTES_ARGS(wanted->branch),
		lease.len ? ", lease " : "", BYTES_ARGS(lease),
		wanted->again.len ? ", again " : "", BYTES_ARGS(wanted->again));

	task->record = (struct record){
		.kind = RECORD_ADMIN,
		.allowed = true,
		.session = bytes_str(task->id),
		.host = bytes_str("control"),
		.method = bytes_str("session.create"),
		.detail = bytes_str(detail),
	};
	if (wanted->again.len > 0)
		note_link(conn, wanted->again, task);
}

static void create(struct conn *conn, struct wanted *wanted)
{
	const char *wrong = check_wanted(wanted, &conn->http.arena);
	struct create_task *task;
	struct policy *policy;
	struct err err;
	int sealed;

	if (wanted->has_proxy &&
	    conn->control->keeper->config.proxy_listeners_count == 0)
		wrong = "proxy: this gateway has no proxy port "
			"(listen.proxy of gateway.yaml)";
	if (!wrong)
		wrong = take_permissions(conn, wanted);
	if (!wrong && wanted->holds && conn->held_count == CONN_HELD_MAX)
		wrong = "hold: a connection holds 8 sessions at most";
	if (wrong) {
		conn_refuse(conn, 422, "%s", wrong);
		return;
	}
	task = task_new(conn);
	policy = task ? compile(conn, wanted, task->id) : NULL;
	if (!policy)
		return;
	if (!rights_to_secrets(conn, policy)) {
		policy_free(policy);
		return;
	}
	if (wanted->policy_name.len == 0)
		wanted->policy_name =
			arena_copy(&conn->http.arena, policy->name);
	/* What does not fit is not told; it holds all the same. */
	(void)permissions_write(policy, wanted->repo, &task->permissions);
	task->signs = policy->sign.is_on;
	sealed = seal(conn, wanted, policy, task, &err);
	policy_free(policy);
	if (sealed < 0) {
		conn_refuse(conn, 422, "%s", err.text);
		return;
	}
	task->holds = wanted->holds;
	task->has_proxy = wanted->has_proxy;
	note_record(conn, wanted, task);
	buf_release(&conn->http.body);
	ca_need(conn, ask_create);
}

/* The record has nothing against it; the body is still there. */
static void create_again(struct conn *conn)
{
	struct wanted wanted;
	json_t *root;

	conn->task = NULL;
	root = parse_wanted(conn, &wanted);
	if (root)
		create(conn, &wanted);
	json_decref(root);
}

static void check_again(struct conn *conn, const struct wanted *wanted)
{
	struct again *again = arena_alloc(&conn->http.arena, sizeof(*again));
	const char *wrong = check_wanted(wanted, &conn->http.arena);
	char hash[POLICY_HASH_SIZE];

	if (wrong || !again) {
		conn_refuse(conn, wrong ? 422 : 503, "%s",
			    wrong ? wrong : "no memory");
		return;
	}
	*again = (struct again){.uid = conn->who.uid};
	policy_hash(wanted->token, again->given);
	(void)snprintf(again->id, sizeof(again->id), "%.*s",
		       BYTES_ARGS(wanted->again));
	policy_hash(wanted->policy, hash);
	again_ask(conn, again, hash, create_again);
}

void handle_session_create(struct conn *conn)
{
	struct wanted wanted;
	json_t *root = parse_wanted(conn, &wanted);

	if (!root)
		return;
	if (wanted.again.len > 0)
		check_again(conn, &wanted);
	else
		create(conn, &wanted);
	json_decref(root);
}
