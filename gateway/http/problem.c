#include "gateway/http/problem.h"

#include <assert.h>

#include "common/cleanup.h"
#include "common/utf8.h"

/* Everything but the texts, and room for texts at their longest. */
#define BODY_BYTES_MAX (PROBLEM_BYTES_MAX - 512)
/* Of one entry of allowed; all of them fit with every byte escaped. */
#define ALLOWED_TEXT_MAX 64
/* Of a message: a detail and what to do instead. */
#define MESSAGE_TEXT_MAX (2 * PROBLEM_TEXT_MAX)

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* The length of the character at the start of text as JSON may hold it, 0
 * when its first byte must be escaped. */
static size_t plain_len(struct bytes text)
{
	if (text.data[0] < 0x80)
		return is_plain(text.data[0]);
	return utf8_len(text);
}

static int add_escape(struct buf *out, uint8_t c)
{
	if (c == '"' || c == '\\')
		return buf_add_byte(out, '\\') < 0 ? -1 : buf_add_byte(out, c);
	if (c >= 0x80)
		return buf_add_str(out, "\\ufffd");
	return buf_add_format(out, "\\u%04x", c);
}

/* A JSON string of at most max bytes of text. */
static int add_string(struct buf *out, struct bytes text, size_t max)
{
	size_t from = 0, to = 0;

	text = bytes_slice(text, 0, max);
	if (buf_add_byte(out, '"') < 0)
		return -1;
	while (to < text.len) {
		size_t len = plain_len(bytes_slice(text, to, text.len));

		if (len > 0) {
			to += len;
			continue;
		}
		if (buf_add(out, bytes_slice(text, from, to)) < 0 ||
		    add_escape(out, text.data[to]) < 0)
			return -1;
		from = ++to;
	}
	if (buf_add(out, bytes_slice(text, from, to)) < 0)
		return -1;
	return buf_add_byte(out, '"');
}

/* ,"name":"text", or nothing for an empty text; at most max bytes of it. */
static int add_long_member(struct buf *out, const char *name, struct bytes text,
			   size_t max)
{
	if (text.len == 0)
		return 0;
	if (buf_add_str(out, ",\"") < 0 || buf_add_str(out, name) < 0 ||
	    buf_add_str(out, "\":") < 0)
		return -1;
	return add_string(out, text, max);
}

static int add_member(struct buf *out, const char *name, struct bytes text)
{
	return add_long_member(out, name, text, PROBLEM_TEXT_MAX);
}

static int add_allowed(struct buf *out, const struct refusal *refusal)
{
	size_t count = refusal->allowed_count;

	if (count > REFUSAL_ALLOWED_MAX)
		count = REFUSAL_ALLOWED_MAX;
	if (buf_add_str(out, ",\"allowed\":[") < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && buf_add_byte(out, ',') < 0)
			return -1;
		if (add_string(out, refusal->allowed[i], ALLOWED_TEXT_MAX) < 0)
			return -1;
	}
	return buf_add_byte(out, ']');
}

/* Where clients of web APIs look for words (gh, npm, GitLab's). */
static int add_message(struct buf *out, const struct refusal *refusal)
{
	auto_type(buf_release) struct buf text = {0};

	if (refusal->detail.len == 0)
		return 0;
	buf_init(&text, MESSAGE_TEXT_MAX);
	/* What has no room is left out: all of it stands above. */
	if (buf_add_str(&text, "egress denied: ") == 0 &&
	    buf_add(&text, bytes_slice(refusal->detail, 0, PROBLEM_TEXT_MAX)) ==
		    0 &&
	    refusal->try_instead.len > 0 && buf_add_str(&text, "; ") == 0)
		(void)buf_add(&text, refusal->try_instead);
	return add_long_member(out, "message", buf_view(&text),
			       MESSAGE_TEXT_MAX);
}

static int add_body(struct buf *out, const struct problem *problem)
{
	const struct refusal *refusal = problem->refusal;
	const char *name = constraint_name(refusal->constraint);

	if (buf_add_format(out,
			   "{\"type\":\"urn:sallyport:constraint:%s\","
			   "\"title\":\"%s\",\"status\":%u,"
			   "\"constraint\":\"%s\"",
			   name, constraint_text(refusal->constraint),
			   constraint_status(refusal->constraint), name) < 0 ||
	    add_member(out, "detail", refusal->detail) < 0 ||
	    add_member(out, "rule", refusal->rule) < 0 ||
	    add_member(out, "session", problem->session) < 0 ||
	    add_member(out, "request_id", problem->request_id) < 0 ||
	    (refusal->allowed_count > 0 && add_allowed(out, refusal) < 0) ||
	    add_member(out, "try", refusal->try_instead) < 0 ||
	    add_member(out, "proposal", refusal->proposal) < 0 ||
	    add_message(out, refusal) < 0)
		return -1;
	return buf_add_str(out, "}\n");
}

/* A line for git; at most PROBLEM_TEXT_MAX bytes of text, of which what is no
 * printable ASCII becomes '?'. An empty text is none. */
static int add_line(struct buf *out, const char *words, struct bytes text)
{
	text = bytes_slice(text, 0, PROBLEM_TEXT_MAX);
	if (text.len == 0)
		return 0;
	if (buf_add_str(out, words) < 0)
		return -1;
	for (size_t i = 0; i < text.len; i++) {
		bool is_shown = text.data[i] >= 0x20 && text.data[i] < 0x7f;

		if (buf_add_byte(out, is_shown ? text.data[i] : '?') < 0)
			return -1;
	}
	return buf_add_byte(out, '\n');
}

static int add_lines(struct buf *out, const struct problem *problem)
{
	const struct refusal *refusal = problem->refusal;
	const char *name = constraint_name(refusal->constraint);
	struct bytes detail = refusal->detail;
	size_t count = refusal->allowed_count;

	if (detail.len == 0)
		detail = bytes_str(constraint_text(refusal->constraint));
	if (add_line(out, "sallyport: ", bytes_str(name)) < 0 ||
	    add_line(out, "  ", detail) < 0)
		return -1;
	for (size_t i = 0; i < count && i < REFUSAL_ALLOWED_MAX; i++)
		if (add_line(out, "allowed: ", refusal->allowed[i]) < 0)
			return -1;
	if (add_line(out, "try: ", refusal->try_instead) < 0 ||
	    add_line(out, "rule: ", refusal->rule) < 0)
		return -1;
	return add_line(out, "request: ", problem->request_id);
}

/* What a status demands beside itself. */
static const char *extra_fields(unsigned status)
{
	switch (status) {
	case 405:
		return "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, "
		       "CONNECT\r\n";
	case 407:
		return "Proxy-Authenticate: Basic realm=\"sallyport\"\r\n"
		       "Proxy-Authenticate: Bearer realm=\"sallyport\"\r\n";
	default:
		return "";
	}
}

static int add_head(struct buf *out, const struct problem *problem,
		    size_t body_len)
{
	enum constraint constraint = problem->refusal->constraint;
	unsigned status = constraint_status(constraint);

	if (buf_add_format(out,
			   "HTTP/1.1 %u egress denied: %s\r\n"
			   "Content-Type: %s\r\n"
			   "Content-Length: %zu\r\n"
			   "Cache-Control: no-store\r\n%s",
			   status, constraint_name(constraint),
			   problem->is_for_git ? "text/plain; charset=utf-8"
					       : "application/problem+json",
			   body_len, extra_fields(status)) < 0)
		return -1;
	if (problem->retry_after_s &&
	    buf_add_format(out, "Retry-After: %u\r\n", problem->retry_after_s) <
		    0)
		return -1;
	return buf_add_str(out, problem->close ? "Connection: close\r\n\r\n"
					       : "\r\n");
}

int problem_write(struct buf *out, const struct problem *problem)
{
	auto_type(buf_release) struct buf body;

	buf_init(&body, BODY_BYTES_MAX);
	assert(problem->refusal->constraint != CONSTRAINT_none);
	if ((problem->is_for_git ? add_lines : add_body)(&body, problem) < 0 ||
	    add_head(out, problem, buf_len(&body)) < 0)
		return -1;
	return problem->is_head ? 0 : buf_add(out, buf_view(&body));
}
