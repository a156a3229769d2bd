/*
 * Transfers: what an LFS server's answer opened, and nothing else of it.
 */
#include <stdio.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/edge/lfs_lane.h"
#include "gateway/edge/placeholders.h"
#include "policies/inspect/prints.h"
#include "policies/inspect/secrets.h"

/* ---- the permission ---- */

static const struct lfs_permit *unknown(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_lfs_transfer_unknown, "%s",
		    constraint_text(CONSTRAINT_lfs_transfer_unknown));
	conn->refusal.try_instead =
		bytes_str("run the git command again: it asks anew");
	return NULL;
}

static bool has_body(const struct request *request)
{
	return request->framing == FRAMING_CHUNKED ||
	       (request->framing == FRAMING_LENGTH && request->body_len > 0);
}

/* Of a download nothing goes up: nobody looks at it there. */
static const struct lfs_permit *no_body(struct conn *conn,
					const struct lfs_permit *permit)
{
	if (permit->kind != LFS_ACT_DOWNLOAD ||
	    !has_body(&conn->errand->request))
		return permit;
	conn_refuse(conn, CONSTRAINT_lfs_malformed,
		    "a download is asked for without a body");
	return NULL;
}

const struct lfs_permit *lfs_permit_of(struct conn *conn)
{
	struct edge *edge = conn->edge;
	const struct lfs_work *work = conn->lfs;
	const struct request *request = &conn->errand->request;
	const struct lfs_permit *permit =
		permits_find(&edge->lfs_permits, lfs_id_of(&work->at),
			     io_loop_now_ms(edge->keeper->loop));

	if (!permit || permit->repo != work->repo ||
	    !bytes_is(request->method, lfs_method_of(permit->kind)))
		return unknown(conn);
	if (permit->kind != LFS_ACT_UPLOAD)
		return no_body(conn, permit);
	if ((request->framing == FRAMING_LENGTH ? request->body_len : 0) ==
		    permit->object.size &&
	    request->framing != FRAMING_CHUNKED &&
	    !fields_find(&request->fields, "Content-Encoding"))
		return permit;
	conn_refuse(conn, CONSTRAINT_lfs_malformed,
		    "object %.12s has %llu bytes: exactly these are sent, "
		    "with their Content-Length",
		    permit->object.oid,
		    (unsigned long long)permit->object.size);
	return NULL;
}

/* ---- the request ---- */

static bool may_pass(struct bytes name)
{
	static const char *const names[] = {"content-type", "accept", "range",
					    "if-range", "user-agent"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

static bool has(const struct fields *fields, struct bytes name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (bytes_equal_nocase(fields->items[i].name, name))
			return true;
	return false;
}

/* The permission may be forgotten before the request is sent. */
static int copy_fields(struct lfs_work *work, const struct fields *from,
		       struct fields *to)
{
	for (size_t i = 0; i < from->count; i++) {
		struct bytes name =
			arena_copy(&work->arena, from->items[i].name);
		struct bytes value =
			arena_copy(&work->arena, from->items[i].value);

		if (!name.len || value.len != from->items[i].value.len ||
		    fields_add(to, name, value) < 0)
			return -1;
	}
	return 0;
}

/* The server's fields, and of the client's those that say what it sends or
 * wants of the object. */
static int make_fields(struct conn *conn, const struct lfs_permit *permit,
		       struct fields *fields)
{
	const struct fields *sent = &conn->errand->request.fields;
	size_t room = sent->count + permit->fields.count + HEAD_FIELDS_SPARE;

	*fields = (struct fields){
		arena_array(&conn->lfs->arena, room, sizeof(struct field)), 0,
		room};
	if (!fields->items ||
	    copy_fields(conn->lfs, &permit->fields, fields) < 0)
		return -1;
	for (size_t i = 0; i < sent->count; i++)
		if (may_pass(sent->items[i].name) &&
		    !has(&permit->fields, sent->items[i].name) &&
		    fields_add(fields, sent->items[i].name,
			       sent->items[i].value) < 0)
			return -1;
	return 0;
}

static int make_request(struct conn *conn, const struct lfs_permit *permit)
{
	struct lfs_work *work = conn->lfs;
	struct request *request = &conn->errand->request;
	struct bytes query = arena_copy(&work->arena, permit->path);
	struct bytes path;

	if (query.len != permit->path.len ||
	    make_fields(conn, permit, &request->fields) < 0)
		return -1;
	request->has_query = bytes_split(&query, '?', &path);
	request->path = path;
	request->query = request->has_query ? query : bytes_from(NULL, 0);
	work->front = conn->errand->target;
	work->is_away = true;
	conn->errand->target = permit->target;
	return 0;
}

/* ---- what is brought ---- */

static int refuse_secret(struct conn *conn, const char *kind, struct err *err)
{
	conn_refuse(conn, CONSTRAINT_push_secret, "the object holds %s", kind);
	return err_set(err, ERR_DENIED, "a secret");
}

/* The last byte goes once all that came is known to be right: without it
 * the server has no object. */
static int check_feed(void *state, struct bytes in, struct buf *out,
		      struct err *err)
{
	struct conn *conn = state;
	struct lfs_work *work = conn->lfs;
	const char *found;

	if (in.len == 0)
		return 0;
	digest_feed(work->digest, in);
	found = work->scan ? secret_scan_feed(work->scan, in) : NULL;
	if (found)
		return refuse_secret(conn, found, err);
	if (work->last >= 0 && buf_add_byte(out, (uint8_t)work->last) < 0)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	work->last = in.data[in.len - 1];
	return buf_add(out, bytes_slice(in, 0, in.len - 1));
}

static int check_end(void *state, struct buf *out, struct err *err)
{
	struct conn *conn = state;
	struct lfs_work *work = conn->lfs;
	const char *found = work->scan ? secret_scan_end(work->scan) : NULL;
	uint8_t digest[DIGEST_LEN];
	char hex[2 * DIGEST_LEN + 1];

	digest_close(work->digest, digest);
	work->digest = NULL;
	bytes_to_hex(bytes_from(digest, sizeof(digest)), hex);
	if (found)
		return refuse_secret(conn, found, err);
	if (strcmp(hex, work->object.oid) != 0) {
		conn_refuse(conn, CONSTRAINT_lfs_malformed,
			    "what was sent is not object %.12s: it has "
			    "another SHA-256",
			    work->object.oid);
		return err_set(err, ERR_DENIED, "another object");
	}
	return work->last >= 0 ? buf_add_byte(out, (uint8_t)work->last) : 0;
}

static int open_scan(struct conn *conn)
{
	if (!push_checks_of(conn->lfs->repo).deny_secrets)
		return 0;
	conn->lfs->scan = own_secrets_scan(conn);
	if (!conn->lfs->scan)
		return -1;
	conn->lfs->prints = prints_keep(conn->edge->own.prints);
	return 0;
}

static int check_upload(struct conn *conn)
{
	struct lfs_work *work = conn->lfs;

	if (open_scan(conn) < 0)
		return -1;
	work->digest = digest_open();
	if (!work->digest) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	work->check = (struct filter){check_feed, check_end, conn};
	conn->filter_up = &work->check;
	conn->keeps_length = true;
	return 0;
}

/* ---- what comes back ---- */

static int refuse_length(struct conn *conn, uint64_t bytes)
{
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "object %.12s has %llu bytes, and %s sends %llu",
		    conn->lfs->object.oid,
		    (unsigned long long)conn->lfs->object.size,
		    conn->errand->target.host, (unsigned long long)bytes);
	return -1;
}

/* Of a body without a length. */
static int count_feed(void *state, struct bytes in, struct buf *out,
		      struct err *err)
{
	struct conn *conn = state;
	struct lfs_work *work = conn->lfs;

	if (in.len > work->object.size - work->came)
		return err_set(err, ERR_TOO_LARGE,
			       "the object goes on behind its end");
	work->came += in.len;
	return buf_add(out, in);
}

static int count_end(void *state, struct buf *out, struct err *err)
{
	const struct conn *conn = state;

	(void)out;
	if (conn->lfs->came == conn->lfs->object.size)
		return 0;
	return err_set(err, ERR_INVALID, "the object ends before its end");
}

/* Of a part (RFC 9110 14.4): "bytes FROM-TO/ALL". */
static int check_part(struct conn *conn, const struct response *response)
{
	const struct field *range =
		fields_find(&response->fields, "Content-Range");
	struct bytes all = range ? range->value : bytes_from(NULL, 0);
	struct bytes part;
	uint64_t bytes;

	if (!bytes_split(&all, '/', &part) ||
	    bytes_to_u64(all, 19, &bytes) < 0 ||
	    bytes == conn->lfs->object.size)
		return 0;
	return refuse_length(conn, bytes);
}

/* What is coded has another length than the object. */
static int check_length(struct conn *conn, const struct response *response)
{
	struct lfs_work *work = conn->lfs;

	if (!bytes_is(conn->errand->request.method, "GET") ||
	    fields_find(&response->fields, "Content-Encoding"))
		return 0;
	if (response->status == 206)
		return check_part(conn, response);
	if (response->status != 200)
		return 0;
	if (response->framing == FRAMING_LENGTH)
		return response->body_len == work->object.size
			       ? 0
			       : refuse_length(conn, response->body_len);
	work->check = (struct filter){count_feed, count_end, conn};
	conn->filter_down = &work->check;
	return 0;
}

static int check_reply(struct conn *conn)
{
	const struct response *response = upstream_response(conn->up);

	if (response->status == 401) {
		conn_refuse(conn, CONSTRAINT_credential_unavailable,
			    "%s does not take what the LFS server gave for it",
			    conn->errand->target.host);
		return -1;
	}
	if (response->status < 300 || response->status >= 400 ||
	    response->status == 304)
		return check_length(conn, response);
	conn_refuse(conn, CONSTRAINT_response_malformed,
		    "%s sends the client elsewhere (%u): transfers are open "
		    "where the LFS server said",
		    conn->errand->target.host, response->status);
	return -1;
}

int lfs_take_permit(struct conn *conn, const struct lfs_permit *permit)
{
	struct lfs_work *work = conn->lfs;

	work->object = permit->object;
	conn->verdict.credential = permit->with_credential
					   ? work->repo->credential
					   : bytes_from(NULL, 0);
	conn->verdict.reason = bytes_str(
		arena_format(&work->arena, "lfs %s of %.12s, %llu bytes",
			     lfs_method_of(permit->kind), work->object.oid,
			     (unsigned long long)work->object.size));
	if (permit->kind == LFS_ACT_UPLOAD && check_upload(conn) < 0)
		return -1;
	if (make_request(conn, permit) < 0) {
		conn_refuse(conn, CONSTRAINT_internal, "memory is out");
		return -1;
	}
	(void)edit_request(&conn->errand->request,
			   conn->verdict.credential.len > 0);
	conn->check_reply = check_reply;
	return 0;
}
