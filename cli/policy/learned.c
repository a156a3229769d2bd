#include "cli/policy/learned.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "gateway/flow/record.h"
#include "policies/host.h"
#include "policies/path.h"
#include "policies/ref.h"
#include "policies/repo_path.h"

#define NOTE_BYTES_MAX 400
#define KEY_BYTES_MAX  4096
#define HTTP_PORT      80
#define HTTPS_PORT     443

/* uthash's hash function falls through its cases and says so to gcc only. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

void learned_init(struct learned *learned, const struct learned_source *source,
		  bool wants_denied)
{
	*learned = (struct learned){
		.source = source,
		.wants_denied = wants_denied,
	};
	learned->notes_end = &learned->notes;
	arena_init(&learned->arena, LEARNED_ARENA_MAX);
}

void learned_release(struct learned *learned)
{
	HASH_CLEAR(hh, learned->requests);
	arena_release(&learned->arena);
}

/* ---- what is left out ---- */

void learned_note(struct learned *learned, const char *format, ...)
{
	char text[NOTE_BYTES_MAX];
	struct learned_note *note;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (note = learned->notes; note; note = note->next)
		if (bytes_is(note->text, text))
			return;
	note = learned->note_count < LEARNED_NOTES_MAX
		       ? arena_alloc(&learned->arena, sizeof(*note))
		       : NULL;
	if (!note) {
		learned->more_notes++;
		return;
	}
	note->text = arena_copy(&learned->arena, bytes_str(text));
	*learned->notes_end = note;
	learned->notes_end = &note->next;
	learned->note_count++;
}

/* ---- rows ---- */

/* A row's members; untrusted. */
struct row {
	const char *activity, *host, *method, *path, *rule, *credential;
	uint16_t port;
	bool allowed;
	enum constraint constraint;
	unsigned status;
	bool is_left_out; /* it only says what no pattern may match */
	bool is_ended;	  /* a decision's: how it ended stands there too */
};

/* One that we do not know is no question that is open. */
static enum constraint constraint_of(const char *name)
{
	enum constraint known = constraint_from_name(bytes_str(name));

	return known == CONSTRAINT_MAX ? CONSTRAINT_internal : known;
}

static struct row read_row(const json_t *json)
{
	json_int_t port = json_integer_value(json_object_get(json, "port"));
	const char *constraint = json_text(json, "constraint");
	bool is_allowed = json_is_true(json_object_get(json, "allowed"));

	return (struct row){
		.activity = json_text(json, "activity"),
		.host = json_text(json, "host"),
		.method = json_text(json, "method"),
		.path = json_text(json, "path"),
		.rule = json_text(json, "rule"),
		.credential = json_text(json, "credential"),
		.port = (uint16_t)(port > 0 && port <= UINT16_MAX ? port : 0),
		.allowed = is_allowed,
		.constraint = is_allowed || !*constraint
				      ? CONSTRAINT_none
				      : constraint_of(constraint),
		.status = (unsigned)json_integer_value(
			json_object_get(json, "status")),
		.is_ended = *json_text(json, "ended") != '\0',
	};
}

/* Did nobody decide against it, but nobody for it either? What a rule or a
 * person has denied, and what no rule could open, is not learnt. */
static bool is_open_question(enum constraint constraint)
{
	switch ((int)constraint) {
	case CONSTRAINT_host_not_allowed:
	case CONSTRAINT_port_not_allowed:
	case CONSTRAINT_method_not_allowed:
	case CONSTRAINT_path_not_allowed:
	case CONSTRAINT_websocket_not_allowed:
	case CONSTRAINT_approval_pending:
	case CONSTRAINT_fetch_not_allowed:
	case CONSTRAINT_push_ref_not_allowed:
	case CONSTRAINT_push_verb_not_allowed:
	case CONSTRAINT_push_not_fast_forward:
		return true;
	default:
		return false;
	}
}

bool learned_is_wanted(const struct learned *learned,
		       const struct learned_request *request)
{
	return request->was_allowed ||
	       (learned->wants_denied && is_open_question(request->refused));
}

/* ---- requests ---- */

static enum learned_method method_of(const char *name)
{
	static const char *const names[LEARNED_METHOD_MAX] = {
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
	};
	int at = 0;

	while (at < LEARNED_METHOD_MAX && strcmp(names[at], name) != 0)
		at++;
	return (enum learned_method)at;
}

/* Of source's own rules: by its name, or as "rules[3]". */
static size_t origin_of(const struct learned *learned, const char *name)
{
	const struct policy *policy =
		learned->source ? learned->source->policy : NULL;

	/* Those of presets come after them, and have a '/' in their names. */
	for (size_t i = 0; policy && i < policy->rule_count; i++)
		if (bytes_is(policy->rules[i].name, name))
			return strchr(name, '/') ? LEARNED_NO_ORIGIN : i;
	return LEARNED_NO_ORIGIN;
}

/* Can a policy name this host and port, and nothing but them? */
static bool is_target(struct learned *learned, const struct row *row)
{
	char canonical[HOST_NAME_MAX_LEN + 1];

	if (row->port &&
	    host_canonical(bytes_str(row->host), canonical) != HOST_INVALID &&
	    !strcmp(row->host, canonical))
		return true;
	if (!row->is_left_out)
		learned_note(learned, "no host and port of a policy: %s:%u",
			     row->host, row->port);
	return false;
}

/* Does a policy's path mean this one, and nothing but it? */
static bool is_path(struct learned *learned, const struct row *row)
{
	struct bytes path = bytes_str(row->path), normal;
	auto_type(arena_release) struct arena arena;
	struct err err;
	bool is_exact;

	arena_init(&arena, 64 * 1024);
	is_exact = bytes_find(path, '*', 0) < 0 && !strstr(row->path, "${") &&
		   path_normalise(&arena, path, &normal, &err) == 0 &&
		   bytes_equal(path, normal);
	if (!is_exact && !row->is_left_out)
		learned_note(learned,
			     "no path of a policy, or one with a '*': %s "
			     "%s:%u%s",
			     row->method, row->host, row->port, row->path);
	return is_exact;
}

static void settle(struct learned_request *request, const struct row *row)
{
	request->was_allowed |= row->allowed;
	request->was_refused |= !row->allowed;
	if (!row->allowed)
		request->refused = row->constraint;
}

/* The request of that row; made when it is new. NULL: too many. */
static struct learned_request *request_of(struct learned *learned,
					  const struct row *row,
					  enum learned_method method,
					  struct err *err)
{
	size_t origin = row->allowed ? origin_of(learned, row->rule)
				     : LEARNED_NO_ORIGIN;
	struct learned_request *request = NULL;
	char text[KEY_BYTES_MAX];
	struct bytes key;
	int len = snprintf(text, sizeof(text), "%zu %d %u %s %s %s", origin,
			   method, row->port, row->host, row->credential,
			   row->path);

	if (len < 0 || (size_t)len >= sizeof(text)) {
		(void)err_set(err, ERR_INVALID, "a row is too long");
		return NULL;
	}
	HASH_FIND(hh, learned->requests, text, (unsigned)len, request);
	if (request)
		return request;
	key = arena_copy(&learned->arena, bytes_from(text, (size_t)len));
	request = arena_alloc(&learned->arena, sizeof(*request));
	if (!request || !key.len ||
	    HASH_COUNT(learned->requests) == LEARNED_REQUESTS_MAX) {
		(void)err_set(err, ERR_TOO_LARGE,
			      "more than %d different requests: write a "
			      "policy with patterns",
			      LEARNED_REQUESTS_MAX);
		return NULL;
	}
	*request = (struct learned_request){
		.origin = origin,
		.host = arena_copy(&learned->arena, bytes_str(row->host)),
		.path = arena_copy(&learned->arena, bytes_str(row->path)),
		.credential =
			arena_copy(&learned->arena, bytes_str(row->credential)),
		.port = row->port,
		.method = method,
	};
	HASH_ADD_KEYPTR(hh, learned->requests, key.data, (unsigned)key.len,
			request);
	return request;
}

static int take_as(struct learned *learned, const struct row *row,
		   enum learned_method method, struct err *err)
{
	struct learned_request *request;

	if (!is_target(learned, row))
		return 0;
	request = request_of(learned, row, method, err);
	if (!request)
		return -1;
	settle(request, row);
	return 0;
}

static int take_request(struct learned *learned, const struct row *row,
			struct err *err)
{
	enum learned_method method = method_of(row->method);
	struct learned_request *request;
	struct row unsaid = *row;

	if (!is_target(learned, row))
		return 0;
	if (method == LEARNED_UNSAID && row->method[0] && !row->is_left_out)
		learned_note(learned, "no method of a policy: %s", row->method);
	if (method == LEARNED_UNSAID || !is_path(learned, row)) {
		unsaid.path = unsaid.credential = "";
		method = LEARNED_UNSAID;
	}
	request = request_of(learned, method == LEARNED_UNSAID ? &unsaid : row,
			     method, err);
	if (!request)
		return -1;
	settle(request, row);
	request->is_websocket |=
		row->constraint == CONSTRAINT_websocket_not_allowed;
	return 0;
}

/* How it ended says what it was: a WebSocket, or a tunnel that nobody looked
 * into. What a policy decides, the row before has said. */
static int take_response(struct learned *learned, struct row *row,
			 struct err *err)
{
	bool is_websocket = row->status == 101 && !strcmp(row->method, "GET");
	bool is_tunnel = !row->method[0] || !strcmp(row->method, "CONNECT");
	struct learned_request *request;

	row->path = is_tunnel ? "" : row->path;
	if (is_tunnel && row->allowed)
		return take_as(learned, row, LEARNED_TUNNEL, err);
	if (!is_websocket || !is_target(learned, row) || !is_path(learned, row))
		return 0;
	/* The row does not say with which credential. */
	for (request = learned->requests; request; request = request->hh.next)
		if (request->method == LEARNED_GET &&
		    request->port == row->port && request->was_allowed &&
		    bytes_is(request->host, row->host) &&
		    bytes_is(request->path, row->path))
			request->is_websocket = true;
	return 0;
}

/* ---- repositories ---- */

static bool is_suffix(const char *path, const char *suffix)
{
	return bytes_ends_with(bytes_str(path), bytes_str(suffix));
}

/* The repository that a policy would mean by the rule's name. */
static bool read_url(struct learned *learned, const struct row *row,
		     struct policy_repo *repo)
{
	struct err err;

	if (!strstr(row->rule, "${") &&
	    repo_url_parse(&learned->arena, bytes_str(row->rule), repo, &err) ==
		    0 &&
	    repo->port == row->port && bytes_is(repo->host, row->host))
		return true;
	learned_note(learned, "no repository of a policy: %s", row->rule);
	return false;
}

static struct learned_repo *repo_of(struct learned *learned,
				    const struct row *row)
{
	struct learned_repo *repo = learned->repos;
	struct bytes url = bytes_str(row->rule);
	struct policy_repo wanted;

	for (size_t i = 0; i < learned->repo_count; i++, repo++)
		if (bytes_equal(repo->url, url))
			return repo;
	if (!read_url(learned, row, &wanted))
		return NULL;
	/* Another spelling would be the same one twice. */
	for (size_t i = 0; i < learned->repo_count; i++)
		if (learned->repos[i].port == wanted.port &&
		    bytes_equal(learned->repos[i].host, wanted.host) &&
		    bytes_equal_nocase(learned->repos[i].path, wanted.path))
			return &learned->repos[i];
	if (learned->repo_count == POLICY_REPOS_MAX) {
		learned_note(learned, "one repository too many: %s", row->rule);
		return NULL;
	}
	learned->repo_count++;
	*repo = (struct learned_repo){
		.url = arena_copy(&learned->arena, url),
		.host = wanted.host,
		.path = wanted.path,
		.port = wanted.port,
	};
	return repo;
}

/* A request on a git endpoint of a repository. */
static int take_git(struct learned *learned, const struct row *row,
		    struct err *err)
{
	struct learned_repo *repo = repo_of(learned, row);
	struct row unsaid = *row;

	unsaid.path = unsaid.credential = "";
	if (take_as(learned, &unsaid, LEARNED_UNSAID, err) < 0)
		return -1;
	if (!repo)
		return 0;
	if (!bytes_is(repo->host, row->host))
		learned_note(learned,
			     "LFS objects of %s are kept on %s:%u: that is "
			     "for its lfs.hosts",
			     row->rule, row->host, row->port);
	if (is_suffix(row->path, "/git-upload-pack") ||
	    (!row->allowed && is_suffix(row->path, "/info/refs"))) {
		repo->has_fetched = true;
		repo->was_read |= row->allowed;
		repo->refused = row->constraint;
	}
	if (row->credential[0])
		repo->credential =
			arena_copy(&learned->arena, bytes_str(row->credential));
	return 0;
}

/* Of a request that git alone makes, and that was refused on a host where the
 * policy knows no such repository: row->rule becomes its URL. */
static bool names_repo(struct learned *learned, struct row *row)
{
	static const struct bytes refs = BYTES_LITERAL("/info/refs");
	struct bytes path = bytes_str(row->path);
	struct policy_repo repo = {.port = 0};
	char port[8] = "";
	struct err err;

	if (row->allowed || strcmp(row->method, "GET") != 0 ||
	    !bytes_ends_with(path, refs) || row->port == HTTP_PORT)
		return false;
	path = repo_path_canonical(bytes_slice(path, 0, path.len - refs.len));
	if (row->port != HTTPS_PORT)
		(void)snprintf(port, sizeof(port), ":%u", row->port);
	row->rule = arena_format(&learned->arena, "https://%s%s%.*s", row->host,
				 port, BYTES_ARGS(path));
	return row->rule && path.len > 0 && !strstr(row->rule, "${") &&
	       repo_url_parse(&learned->arena, bytes_str(row->rule), &repo,
			      &err) == 0 &&
	       bytes_equal(repo.path, path) && bytes_is(repo.host, row->host);
}

static unsigned verb_of(const struct row *row, bool is_tag)
{
	if (!strcmp(row->method, "create"))
		return VERB_CREATE;
	if (!strcmp(row->method, "delete"))
		return VERB_DELETE;
	/* A tag that moves is another tag. */
	if (!strcmp(row->method, "fast-forward") && !is_tag)
		return VERB_FAST_FORWARD;
	return VERB_REWRITE;
}

static int compare_refs(const struct learned_ref *a,
			const struct learned_ref *b)
{
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int order = a->is_tag - b->is_tag;

	if (order == 0)
		order = memcmp(a->name.data, b->name.data, len);
	return order ? order
		     : (a->name.len > b->name.len) -
			       (a->name.len < b->name.len);
}

static void add_ref(struct learned *learned, struct learned_repo *repo,
		    const struct learned_ref *wanted)
{
	struct learned_ref **at = &repo->refs;
	struct learned_ref *ref;

	while (*at && compare_refs(*at, wanted) < 0)
		at = &(*at)->next;
	ref = *at;
	if (ref && compare_refs(ref, wanted) == 0) {
		if (wanted->refused == CONSTRAINT_none)
			ref->refused = CONSTRAINT_none;
		return;
	}
	ref = repo->ref_count < POLICY_LIST_MAX
		      ? arena_alloc(&learned->arena, sizeof(*ref))
		      : NULL;
	if (!ref) {
		learned_note(learned, "one ref too many: %.*s",
			     BYTES_ARGS(wanted->name));
		return;
	}
	*ref = *wanted;
	ref->name = arena_copy(&learned->arena, wanted->name);
	ref->next = *at;
	*at = ref;
	repo->ref_count++;
}

static void take_push(struct learned *learned, const struct row *row)
{
	static const struct bytes heads = BYTES_LITERAL("refs/heads/");
	static const struct bytes tags = BYTES_LITERAL("refs/tags/");
	struct bytes name = bytes_str(row->path);
	bool is_tag = bytes_starts_with(name, tags);
	struct learned_ref ref = {.is_tag = is_tag, .refused = row->constraint};
	struct learned_repo *repo;

	if (!ref_is_valid(name) || strstr(row->path, "${") ||
	    (!is_tag && !bytes_starts_with(name, heads))) {
		learned_note(learned, "no ref of a policy: %s", row->path);
		return;
	}
	repo = repo_of(learned, row);
	if (!repo)
		return;
	ref.name = bytes_slice(name, is_tag ? tags.len : heads.len, name.len);
	repo->is_unproven |= !strcmp(row->method, "update") && !is_tag;
	repo->verbs |= verb_of(row, is_tag);
	add_ref(learned, repo, &ref);
}

/* ---- all ---- */

/* Was it not let pass, and is not wanted? */
static bool is_left_out(struct learned *learned, const struct row *row,
			const json_t *json)
{
	json_int_t count = json_integer_value(json_object_get(json, "count"));

	if (row->allowed)
		return false;
	if (count > 0) {
		learned_note(learned, "refusals that have no record of their "
				      "own");
		return true;
	}
	if (learned->wants_denied && is_open_question(row->constraint))
		return false;
	learned->refused++;
	if (learned->wants_denied)
		learned_note(learned, "refused for another reason: %s %s %s%s",
			     json_text(json, "constraint"), row->method,
			     row->host, row->path);
	return true;
}

static int take_decision(struct learned *learned, struct row *row,
			 const json_t *json, struct err *err)
{
	bool is_git = !strncmp(row->rule, "https://", strlen("https://"));
	bool is_request = !strcmp(row->activity, "request");
	bool is_push = !strcmp(row->activity, "push");
	struct row asked;

	/* The gateway's own pages are everybody's. */
	if (!strcmp(row->rule, "sallyport"))
		return 0;
	row->is_left_out = is_left_out(learned, row, json);
	if (row->is_left_out && (is_git || is_push))
		return 0;
	asked = *row;
	if (is_push)
		take_push(learned, row);
	else if (is_git)
		return take_git(learned, row, err);
	else if (is_request && !row->is_left_out && names_repo(learned, &asked))
		return take_git(learned, &asked, err);
	else if (is_request)
		return take_request(learned, row, err);
	else
		return take_as(learned, row, LEARNED_CONNECTION, err);
	return 0;
}

int learned_take(struct learned *learned, const json_t *json, struct err *err)
{
	struct row row = read_row(json);

	*err = (struct err){0};
	learned->rows++;
	if (!strcmp(row.activity, "request") || !strcmp(row.activity, "push") ||
	    !strcmp(row.activity, "connection")) {
		if (take_decision(learned, &row, json, err) < 0)
			return -1;
		return row.is_ended ? take_response(learned, &row, err) : 0;
	}
	if (!strcmp(row.activity, "response"))
		return take_response(learned, &row, err);
	if (!strcmp(row.activity, "dns") && learned->wants_denied)
		learned_note(learned,
			     "a name was looked up and refused; what would "
			     "have been asked there is not known: %s",
			     row.host);
	return 0;
}
