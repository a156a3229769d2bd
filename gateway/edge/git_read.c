/*
 * Reads, and the edge's own questions to a repository.
 */
#include "common/cleanup.h"
#include "gateway/edge/git_lane.h"
#include "gateway/git/endpoint.h"

#define INFLATE_STEP_BYTES (64 * 1024)

/* ---- filters ---- */

static int inflate(struct git_work *work, struct bytes in, struct buf *out,
		   struct err *err)
{
	for (;;) {
		uint8_t *room = buf_reserve(out, INFLATE_STEP_BYTES);
		size_t made = 0;
		enum inflate_result result;

		if (!room)
			return err_set(err, ERR_TOO_LARGE,
				       "inflate: too much at once");
		result = inflater_step(work->inflater, &in, room,
				       INFLATE_STEP_BYTES, &made, err);
		buf_commit(out, made);
		if (result == INFLATE_INVALID)
			return -1;
		if (result == INFLATE_END && in.len > 0)
			return err_set(err, ERR_INVALID,
				       "inflate: bytes after the end");
		if (made < INFLATE_STEP_BYTES)
			return 0;
	}
}

static int inflate_feed(void *state, struct bytes in, struct buf *out,
			struct err *err)
{
	return inflate(state, in, out, err);
}

static int inflate_end(void *state, struct buf *out, struct err *err)
{
	struct git_work *work = state;

	(void)out;
	return inflater_may_end(work->inflater)
		       ? 0
		       : err_set(err, ERR_INVALID, "inflate: cut short");
}

int git_set_inflater(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct field *coding =
		fields_find(&conn->errand->request.fields, "Content-Encoding");
	struct err err;

	if (fields_count_of(&conn->errand->request.fields, "Content-Encoding") >
	    1) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "Content-Encoding stands there twice");
		return -1;
	}
	if (!coding || bytes_is_nocase(coding->value, "identity"))
		return 0;
	work->inflater = inflater_new(coding->value, GIT_INFLATED_MAX, &err);
	if (!work->inflater) {
		conn_refuse(conn, CONSTRAINT_request_malformed,
			    "Content-Encoding: %s", err.text);
		return -1;
	}
	fields_remove(&conn->errand->request.fields, "Content-Encoding");
	work->filter_up = (struct filter){inflate_feed, inflate_end, work};
	conn->filter_up = &work->filter_up;
	return 0;
}

static int refuse_fetch(struct conn *conn, const struct verdict *verdict)
{
	conn->verdict.constraint = verdict->constraint;
	conn_refuse(conn, verdict->constraint, "%.*s",
		    BYTES_ARGS(verdict->reason));
	return -1;
}

static int fetch_feed(void *state, struct bytes in, struct buf *out,
		      struct err *err)
{
	struct git_work *work = state;
	auto_type(buf_release) struct buf plain;

	buf_init(&plain, GIT_HELD_MAX);
	if (work->inflater) {
		if (inflate(work, in, &plain, err) < 0)
			return -1;
		in = buf_view(&plain);
	}
	if (fetch_request_feed(&work->fetch, in, out) < 0)
		return refuse_fetch(work->conn, &work->fetch.verdict);
	return 0;
}

static int fetch_end(void *state, struct buf *out, struct err *err)
{
	struct git_work *work = state;

	if (work->inflater && inflate_end(state, out, err) < 0)
		return -1;
	if (fetch_request_end(&work->fetch) < 0)
		return refuse_fetch(work->conn, &work->fetch.verdict);
	return 0;
}

static int read_adv_feed(void *state, struct bytes in, struct buf *out,
			 struct err *err)
{
	struct git_work *work = state;

	return fetch_advertise_feed(&work->fetch_adv, in, out, err);
}

static int read_adv_end(void *state, struct buf *out, struct err *err)
{
	struct git_work *work = state;

	(void)out;
	return fetch_advertise_end(&work->fetch_adv, err);
}

static int write_adv_feed(void *state, struct bytes in, struct buf *out,
			  struct err *err)
{
	struct git_work *work = state;

	return advertise_feed(&work->adv, in, out, err);
}

static int write_adv_end(void *state, struct buf *out, struct err *err)
{
	struct git_work *work = state;

	(void)out;
	return advertise_end(&work->adv, err);
}

/* ---- answers ---- */

int git_check_answer(struct conn *conn, const char *type)
{
	const struct response *response = upstream_response(conn->up);
	const struct field *content =
		fields_find(&response->fields, "Content-Type");

	if (git_check_moved(conn, false) < 0)
		return -1;
	if (response->status == 401 || response->status == 403) {
		conn_refuse(conn, CONSTRAINT_credential_unavailable,
			    conn->git->repo->credential.len
				    ? "%s refused the gateway's credential (%u)"
				    : "%s wants a credential (%u), and the "
				      "policy has none for this repository",
			    conn->errand->target.host, response->status);
		return -1;
	}
	if (response->status != 200) {
		conn_refuse(conn, CONSTRAINT_response_malformed,
			    "%s answered %u", conn->errand->target.host,
			    response->status);
		return -1;
	}
	if (!content || !bytes_is_nocase(content->value, type) ||
	    fields_find(&response->fields, "Content-Encoding")) {
		conn_refuse(conn, CONSTRAINT_response_malformed,
			    "%s answered with another type than %s",
			    conn->errand->target.host, type);
		return -1;
	}
	return 0;
}

/* Of what the client asked. Upstream's own "not found" may pass as it is; a
 * part of an answer would pass the filter. */
static int check_reply(struct conn *conn)
{
	const struct response *response = upstream_response(conn->up);

	if (git_check_moved(conn, true) < 0)
		return -1;
	if (response->status >= 300 && response->status != 401 &&
	    response->status != 403) {
		conn->filter_down = NULL;
		return 0;
	}
	return git_check_answer(conn, git_answer_type(conn->git->endpoint));
}

/* A pack that packcheck must read has its bases with it: libgit2 reads no
 * commit of a thin pack. */
static bool needs_whole_packs(const struct policy_repo *repo)
{
	return push_checks_any(repo) || decide_proves_moves(repo);
}

/* Pushes know one version: there the field is dropped, whatever it says. */
static int take_protocol(struct conn *conn)
{
	struct git_work *work = conn->git;
	const struct field *protocol =
		fields_find(&conn->errand->request.fields, "Git-Protocol");

	if (!protocol)
		return 0;
	if (work->endpoint == GIT_ADVERTISE_WRITE ||
	    work->endpoint == GIT_RECEIVE_PACK) {
		fields_remove(&conn->errand->request.fields, "Git-Protocol");
		return 0;
	}
	work->version = git_protocol_version(protocol->value);
	if (work->version >= 0 &&
	    fields_count_of(&conn->errand->request.fields, "Git-Protocol") == 1)
		return 0;
	conn_refuse(conn, CONSTRAINT_request_malformed,
		    "Git-Protocol is none of version=0, 1, 2");
	return -1;
}

int git_set_filters(struct conn *conn)
{
	struct git_work *work = conn->git;

	if (take_protocol(conn) < 0)
		return -1;
	/* Filters read what they pass on. */
	fields_remove(&conn->errand->request.fields, "Accept-Encoding");
	conn->check_reply = check_reply;
	switch ((unsigned)work->endpoint) {
	case GIT_ADVERTISE_READ:
		work->filter_down =
			(struct filter){read_adv_feed, read_adv_end, work};
		conn->filter_down = &work->filter_down;
		return 0;
	case GIT_ADVERTISE_WRITE:
		advertise_init(&work->adv, work->repo, &work->refs,
			       needs_whole_packs(work->repo) ? ADVERTISE_NO_THIN
							     : 0);
		work->filter_down =
			(struct filter){write_adv_feed, write_adv_end, work};
		conn->filter_down = &work->filter_down;
		return 0;
	case GIT_UPLOAD_PACK:
		fetch_request_init(&work->fetch, work->version);
		if (git_set_inflater(conn) < 0)
			return -1;
		work->filter_up = (struct filter){fetch_feed, fetch_end, work};
		conn->filter_up = &work->filter_up;
		return 0;
	default:
		return git_set_inflater(conn);
	}
}

/* ---- questions of the edge's own ---- */

int git_send_own(struct conn *conn, const char *endpoint, const char *query,
		 struct bytes body)
{
	struct git_work *work = conn->git;
	struct field items[4] = {
		{bytes_str("User-Agent"), bytes_str("git/sallyport")},
	};
	struct request request = {
		.method = bytes_str(body.len ? "POST" : "GET"),
		.query = bytes_str(query),
		.has_query = query[0] != '\0',
		.fields = {.items = items, .count = 1, .room = 4},
		.framing = body.len ? FRAMING_LENGTH : FRAMING_NONE,
		.body_len = body.len,
		.keep_alive = true,
	};
	const struct upstream_labels labels = {
		.request_id = bytes_str(conn->request_id),
		.rule = conn->verdict.rule,
	};
	char *path = arena_format(&work->arena, "%.*s/%s",
				  BYTES_ARGS(work->url_path), endpoint);
	struct err err;

	if (!path) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	request.path = bytes_str(path);
	if (body.len || strstr(query, "upload-pack"))
		(void)fields_add(&request.fields, bytes_str("Git-Protocol"),
				 bytes_str("version=2"));
	if (body.len)
		(void)fields_add(&request.fields, bytes_str("Content-Type"),
				 bytes_str(git_request_type(GIT_UPLOAD_PACK)));
	if (upstream_send(conn->up, &request, &labels, &err) < 0 ||
	    (body.len && (upstream_body(conn->up, body) < 0 ||
			  upstream_body_end(conn->up) < 0))) {
		conn_refuse(conn, CONSTRAINT_internal,
			    "the question to the repository was not sent");
		return -1;
	}
	return 0;
}
