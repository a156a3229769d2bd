/*
 * The second decision: the courier believes no edge. What it sends must be
 * in its own copy of the session's scope, on record, and have its token.
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/certificate.h"
#include "gateway/git/refs.h"
#include "gateway/http/head.h"
#include "policies/facts.h"
#include "policies/git_spelling.h"
#include "policies/lfs.h"
#include "policies/path.h"
#include "policies/repo_path.h"

#define RECEIVE_PACK "/git-receive-pack"
#define UPLOAD_PACK  "/git-upload-pack"
#define INFO_REFS    "/info/refs"

/* ---- scope ---- */

const struct scope *leg_scope(const struct leg *leg)
{
	const struct session *session = session_find(
		&leg->courier->keeper->sessions, bytes_str(leg->session));
	const struct scope *scope;
	const struct scope_binding *binding;
	uint8_t mark[DIGEST_LEN];
	struct err err;

	if (!session || session_is_expired(session, clock_wall_ms()))
		return NULL;
	scope = session_scope(session);
	binding = scope_binding_named(scope, bytes_str(leg->binding));
	if (!binding ||
	    !scope_binding_allows(binding, bytes_str(leg->target.host),
				  leg->target.port) ||
	    scope_binding_mark(binding, mark, &err) < 0 ||
	    memcmp(mark, leg->mark, sizeof(mark)) != 0)
		return NULL;
	return scope;
}

/* ---- an ordinary request ---- */

/* What stands before the part of a read's endpoint; empty: it is none. */
static struct bytes read_repo_of(struct bytes path, struct bytes query)
{
	struct bytes suffix = bytes_str(UPLOAD_PACK);

	if (query.len > 0 && bytes_ends_with(path, bytes_str(INFO_REFS)))
		suffix = bytes_str(INFO_REFS);
	else if (!bytes_ends_with(path, suffix))
		return bytes_from(NULL, 0);
	return repo_path_canonical(bytes_slice(path, 0, path.len - suffix.len));
}

/* Would a server that is lenient take it for an endpoint, and git not? */
static bool is_misspelt(struct bytes path)
{
	struct bytes rest;

	return !bytes_ends_with(path, bytes_str(INFO_REFS)) &&
	       !bytes_ends_with(path, bytes_str(UPLOAD_PACK)) &&
	       git_is_spelled_loosely(path, &rest);
}

/* LFS: those of the credential's own repositories, and no writing where
 * nothing may be pushed. What a batch asks for is the edge's to read. */
static int check_lfs_path(const struct leg *leg, const struct scope *scope,
			  const struct lfs_path *at, struct err *err)
{
	const struct scope_repo *repo =
		scope_repo_at(scope, bytes_str(leg->target.host),
			      leg->target.port, repo_path_canonical(at->base));
	struct bytes method = leg->request.method;
	bool writes = repo && (repo->verbs & ~(unsigned)VERB_DELETE) &&
		      (repo->branches_count || repo->tags_count);

	if (!repo || !bytes_is(repo->credential, leg->binding))
		return err_set(err, ERR_DENIED,
			       "the repository is not the session's");
	if (!at->is_exact && !at->is_gitlab)
		return err_set(err, ERR_DENIED,
			       "an LFS endpoint in another spelling");
	if ((repo->read &&
	     (bytes_is(method, "GET") || bytes_is(method, "POST"))) ||
	    (writes && (bytes_is(method, "PUT") || bytes_is(method, "POST") ||
			bytes_is(method, "GET"))))
		return 0;
	return err_set(err, ERR_DENIED,
		       "the session may not do this to the repository's LFS");
}

/* Git's endpoints are those of the credential's own repositories. */
static int check_git_path(const struct leg *leg, const struct scope *scope,
			  struct bytes path, struct bytes query,
			  struct err *err)
{
	struct bytes repo_path = read_repo_of(path, query);
	const struct scope_repo *repo;
	struct lfs_path lfs;

	if (bytes_ends_with(path, bytes_str(RECEIVE_PACK)))
		return err_set(err, ERR_DENIED,
			       "a push travels as a push only");
	if (is_misspelt(path))
		return err_set(err, ERR_DENIED,
			       "a git endpoint in another spelling");
	if (repo_path.len == 0)
		return lfs_path_split(path, &lfs)
			       ? check_lfs_path(leg, scope, &lfs, err)
			       : 0;
	repo = scope_repo_at(scope, bytes_str(leg->target.host),
			     leg->target.port, repo_path);
	if (!repo || !bytes_is(repo->credential, leg->binding))
		return err_set(err, ERR_DENIED,
			       "the repository is not the session's");
	return 0;
}

/* The path without its query must be what path_normalise() makes of it: so
 * no other spelling of a git endpoint gets by. */
static int check_path(const struct leg *leg, const struct scope *scope,
		      struct err *err)
{
	const struct leg_request *request = &leg->request;
	auto_type(arena_release) struct arena arena;
	struct bytes query = request->path;
	struct bytes path, normal;

	arena_init(&arena, 4 * PATH_MAX_LEN);
	if (!bytes_split(&query, '?', &path))
		query = bytes_from(NULL, 0);
	if (!http_is_target(request->path) ||
	    path_normalise(&arena, path, &normal, err) < 0 ||
	    !bytes_equal(path, normal))
		return err_set(err, ERR_INVALID, "the path is not normalised");
	if (!scope_binding_covers(
		    scope_binding_named(scope, bytes_str(leg->binding)),
		    request->method, path))
		return err_set(err, ERR_DENIED,
			       "the credential is not for such a request");
	return check_git_path(leg, scope, path, query, err);
}

static int check_request(const struct leg *leg, const struct scope *scope,
			 struct err *err)
{
	const struct leg_request *request = &leg->request;

	if (!head_method_is_known(request->method) ||
	    bytes_is(request->method, "CONNECT"))
		return err_set(err, ERR_INVALID, "the method is not allowed");
	/* Upstream would take the next head, token and all, for a body that
	 * was announced and is not there. */
	if (!request->has_body &&
	    (request->has_length || request->body_len > 0))
		return err_set(err, ERR_INVALID, "a length without a body");
	for (size_t i = 0; i < request->fields_count; i++)
		if (!http_is_token(request->fields[i].name) ||
		    !http_is_value(request->fields[i].value))
			return err_set(err, ERR_INVALID,
				       "a field is malformed");
	if (leg->kind == LEG_REQUEST && swap_check(leg, scope, err) < 0)
		return -1;
	return check_path(leg, scope, err);
}

/* ---- a push ---- */

static unsigned verb_bits(uint8_t verb)
{
	switch ((enum push_verb)verb) {
	case PUSH_CREATE:
		return VERB_CREATE;
	case PUSH_FAST_FORWARD:
		return VERB_FAST_FORWARD;
	/* Not told apart, because it needs not be: the wider right. */
	case PUSH_UPDATE:
	case PUSH_REWRITE:
		return VERB_REWRITE;
	case PUSH_DELETE:
		return VERB_DELETE;
	case PUSH_VERB_MAX:
	default:
		return 0;
	}
}

static bool verb_fits(const struct leg_update *update)
{
	return git_oid_is_zero(update->old_oid) ==
		       (update->verb == PUSH_CREATE) &&
	       git_oid_is_zero(update->new_oid) ==
		       (update->verb == PUSH_DELETE);
}

static int check_push(const struct leg *leg, const struct scope *scope,
		      struct err *err)
{
	const struct leg_push *push = &leg->push;
	const struct scope_repo *repo =
		scope_repo_at(scope, bytes_str(leg->target.host),
			      leg->target.port, push->repo_path);
	struct bytes path = repo_path_canonical(push->url_path);

	if (!repo || !bytes_is(repo->credential, leg->binding))
		return err_set(err, ERR_DENIED,
			       "the repository is not the session's");
	if (!http_is_target(push->url_path) ||
	    bytes_find(push->url_path, '?', 0) >= 0 ||
	    scope_repo_at(scope, bytes_str(leg->target.host), leg->target.port,
			  path) != repo)
		return err_set(err, ERR_DENIED,
			       "the path is not the repository's");
	if (push->options_count > 0 && !repo->has_options)
		return err_set(err, ERR_DENIED,
			       "the session may not push with options");
	for (size_t i = 0; i < push->updates_count; i++) {
		const struct leg_update *update = &push->updates[i];

		if (!verb_fits(update) ||
		    !scope_repo_allows_ref(repo, update->ref,
					   verb_bits(update->verb)))
			return err_set(err, ERR_DENIED,
				       "the session may not do this to %.*s",
				       BYTES_ARGS(update->ref));
	}
	return push->updates_count ? 0
				   : err_set(err, ERR_INVALID, "empty push");
}

int grant_check(const struct leg *leg, struct err *err)
{
	const struct scope *scope = leg_scope(leg);

	if (!scope)
		return err_set(err, ERR_DENIED,
			       "the session may not use this credential");
	return leg->kind == LEG_PUSH ? check_push(leg, scope, err)
				     : check_request(leg, scope, err);
}

/* ---- token and record: both, in any order ---- */

struct grant {
	struct leg *leg; /* NULL: cancelled */
	unsigned left;
	bool is_recorded;
	bool has_token;
	uint8_t attach;
	char username[BINDING_NAME_MAX + 1];
	struct secret token;
	char why[ERR_TEXT_MAX];
};

void grant_cancel(struct grant *grant)
{
	grant->leg = NULL;
}

static void grant_done(struct grant *grant)
{
	struct leg *leg = grant->leg;

	if (--grant->left > 0)
		return;
	if (leg && grant->has_token && grant->is_recorded) {
		const struct msg_token token = {
			.attach = grant->attach,
			.username = bytes_str(grant->username),
			.secret = secret_view(&grant->token),
		};

		leg_granted(leg, &token);
	} else if (leg) {
		leg->grant = NULL;
		leg_refuse(leg,
			   grant->has_token ? CONSTRAINT_audit_unavailable
					    : CONSTRAINT_credential_unavailable,
			   "%s",
			   grant->has_token ? "the use could not be recorded"
					    : grant->why);
	}
	secret_release(&grant->token);
	free(grant);
}

static void on_recorded(bool ok, void *owner)
{
	struct grant *grant = owner;

	grant->is_recorded = ok;
	grant_done(grant);
}

static void on_token(struct rpc_outcome *outcome, void *owner)
{
	const struct msg_token *token = outcome->message;
	struct grant *grant = owner;
	struct err err;

	if (outcome->err) {
		(void)snprintf(grant->why, sizeof(grant->why), "%s",
			       outcome->err->text);
	} else if (secret_set(&grant->token, token->secret, &err) == 0) {
		grant->has_token = true;
		grant->attach = token->attach;
		(void)snprintf(grant->username, sizeof(grant->username), "%.*s",
			       BYTES_ARGS(token->username));
	}
	grant_done(grant);
}

static int ask_record(struct leg *leg, struct grant *grant)
{
	bool is_push = leg->kind == LEG_PUSH;
	/* Of the two, the other one's views are from an earlier request. */
	struct bytes rest = is_push ? leg->push.url_path : leg->request.path;
	struct record record = {
		.kind = RECORD_SECRET_USE,
		.allowed = true,
		.session = bytes_str(leg->session),
		.request_id = is_push ? leg->push.request_id
				      : leg->request.request_id,
		.rule = is_push ? leg->push.rule : leg->request.rule,
		.host = bytes_str(leg->target.host),
		.port = leg->target.port,
		.method = is_push ? bytes_str("PUSH") : leg->request.method,
		.credential = bytes_str(leg->binding),
		.detail =
			bytes_str(leg->kind == LEG_UPGRADE ? "websocket" : ""),
	};

	/* A query may hold secrets. */
	(void)bytes_split(&rest, '?', &record.path);
	return keeper_record_durable(leg->courier->keeper, &record, on_recorded,
				     grant);
}

void grant_start(struct leg *leg)
{
	struct grant *grant = calloc(1, sizeof(*grant));
	struct err err;

	if (!grant) {
		leg_refuse(leg, CONSTRAINT_internal, "memory is out");
		return;
	}
	secret_init(&grant->token);
	grant->leg = leg;
	leg->grant = grant;
	grant->left = 3; /* token, record, and this function */
	(void)snprintf(grant->why, sizeof(grant->why),
		       "the vault is being restarted");
	if (leg->is_certificate) {
		/* It was shown; nothing of it stands in a head. */
		grant->has_token = true;
		grant->attach = ATTACH_CERTIFICATE;
		grant->left--;
	} else if (leg_ask_token(leg, on_token, grant, &err) < 0) {
		grant->left--;
	}
	if (ask_record(leg, grant) < 0)
		grant->left--;
	grant_done(grant);
}
