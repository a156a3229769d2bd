#include <jansson.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/internal.h"

#define PROBLEM_TYPE "application/problem+json"

static int write_head(struct conn *conn, struct buf *out, unsigned status,
		      const struct fields *fields, size_t body_len)
{
	const struct response response = {
		.status = status,
		.reason = write_reason(status),
		.fields = *fields,
		.framing = FRAMING_LENGTH,
		.body_len = body_len,
	};
	bool keep = conn->errand->request.keep_alive && !conn->close_after &&
		    conn->body_done && conn->requests < CONN_REQUESTS_MAX;

	conn->close_after = !keep;
	return write_response(out, &response, keep);
}

static enum step reply(struct conn *conn, unsigned status,
		       const struct fields *fields, struct bytes body)
{
	auto_type(buf_release) struct buf out;

	buf_init(&out, HEAD_BYTES_MAX);
	if (write_head(conn, &out, status, fields, body.len) < 0 ||
	    io_write(conn->client, buf_view(&out)) < 0)
		return STEP_END;
	conn->has_replied = true;
	conn->reply_status = status;
	if (!bytes_is(conn->errand->request.method, "HEAD")) {
		conn->bytes_down = body.len;
		if (io_write(conn->client, body) < 0)
			return STEP_END;
	}
	return conn->close_after ? STEP_OTHER : STEP_NEXT;
}

enum step internal_reply(struct conn *conn, unsigned status, const char *type,
			 struct bytes body)
{
	struct field items[] = {
		{bytes_str("Content-Type"), bytes_str(type)},
		{bytes_str("Cache-Control"), bytes_str("no-store")},
	};
	const struct fields fields = {items, ARRAY_SIZE(items),
				      ARRAY_SIZE(items)};

	return reply(conn, status, &fields, body);
}

/* Takes json; NULL: memory is out. */
static enum step reply_json(struct conn *conn, unsigned status,
			    const char *type, json_t *json)
{
	auto_free char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text ? internal_reply(conn, status, type, bytes_str(text))
		    : STEP_END;
}

static json_t *problem_of(unsigned status, const char *detail)
{
	struct bytes title = write_reason(status);

	return json_pack("{s:s, s:s%, s:i, s:s}", "type", "about:blank",
			 "title", title.data, title.len, "status", (int)status,
			 "detail", detail);
}

enum step internal_problem(struct conn *conn, unsigned status,
			   const char *detail)
{
	return reply_json(conn, status, PROBLEM_TYPE,
			  problem_of(status, detail));
}

enum step internal_not_allowed(struct conn *conn, const char *allow)
{
	json_t *problem = problem_of(405, "there is no such method here");
	auto_free char *text =
		problem ? json_dumps(problem, JSON_COMPACT) : NULL;
	struct field items[] = {
		{bytes_str("Content-Type"), bytes_str(PROBLEM_TYPE)},
		{bytes_str("Cache-Control"), bytes_str("no-store")},
		{bytes_str("Allow"), bytes_str(allow)},
	};
	const struct fields fields = {items, ARRAY_SIZE(items),
				      ARRAY_SIZE(items)};

	json_decref(problem);
	return text ? reply(conn, 405, &fields, bytes_str(text)) : STEP_END;
}

static json_t *text_of(struct bytes text)
{
	return json_stringn(text.len ? (const char *)text.data : "", text.len);
}

static json_t *time_of(uint64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	clock_format(wall_ms, text);
	return wall_ms ? json_string(text) : json_null();
}

enum step internal_proposal(struct conn *conn, unsigned status,
			    const struct proposal *proposal)
{
	auto_type(buf_release) struct buf words;
	bool is_granted = proposal->state == PROPOSAL_APPROVED;

	buf_init(&words, PROPOSAL_PATH_MAX + 1024);
	if (proposal_add_words(&words, proposal) < 0)
		return STEP_END;
	return reply_json(
		conn, status, "application/json",
		json_pack(
			"{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "id",
			text_of(proposal->id), "state",
			proposal_state_name(proposal->state), "request",
			text_of(buf_view(&words)), "rule",
			text_of(proposal->rule), "why", text_of(proposal->why),
			"created", time_of(proposal->created_ms), "expires",
			time_of(proposal->expires_ms), "scope",
			is_granted ? grant_scope_name(proposal->scope) : "",
			"until", time_of(is_granted ? proposal->until_ms : 0)));
}
