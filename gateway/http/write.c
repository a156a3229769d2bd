#include "gateway/http/write.h"

#include "common/cleanup.h"

#include <assert.h>

#include "gateway/http/guard.h"

#define PORT_HTTP  80
#define PORT_HTTPS 443

static uint16_t scheme_port(enum target_scheme scheme)
{
	return scheme == SCHEME_HTTPS ? PORT_HTTPS : PORT_HTTP;
}

/* Append a number: snprintf costs more than the rest of a head. */
static int add_number(struct buf *out, uint64_t number)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return buf_add(out, bytes_from(digits + i, sizeof(digits) - i));
}

static int add_host(struct buf *out, const struct target *target)
{
	bool is_ipv6 = target->kind == HOST_IPV6;

	if (buf_add_str(out, is_ipv6 ? "Host: [" : "Host: ") < 0 ||
	    buf_add_str(out, target->host) < 0 ||
	    (is_ipv6 && buf_add_byte(out, ']') < 0))
		return -1;
	if (target->port != scheme_port(target->scheme) &&
	    (buf_add_byte(out, ':') < 0 || add_number(out, target->port) < 0))
		return -1;
	return buf_add_str(out, "\r\n");
}

static int add_line(struct buf *out, struct bytes method, struct bytes path,
		    struct bytes query, bool has_query)
{
	assert(http_is_token(method) && http_is_target(path));
	assert(query.len == 0 || http_is_target(query));
	if (buf_add(out, method) < 0 || buf_add_byte(out, ' ') < 0 ||
	    buf_add(out, path) < 0)
		return -1;
	if (has_query &&
	    (buf_add_byte(out, '?') < 0 || buf_add(out, query) < 0))
		return -1;
	return buf_add_str(out, " HTTP/1.1\r\n");
}

int write_request_line(struct buf *out, struct bytes method, struct bytes path,
		       const struct target *target)
{
	assert(http_is_target(bytes_str(target->host)));
	if (add_line(out, method, path, bytes_from(NULL, 0), false) < 0)
		return -1;
	return add_host(out, target);
}

bool write_is_own(struct bytes name)
{
	static const char *const names[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"connection",
		"keep-alive",
		"te",
		"trailer",
		"upgrade",
		"expect",
		"proxy-authorization",
		"proxy-connection",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

int write_field(struct buf *out, struct bytes name, struct bytes value)
{
	uint8_t *to = buf_reserve(out, name.len + value.len + 4);

	assert(http_is_token(name) && http_is_value(value));
	if (!to || name.len + value.len + 4 > buf_room(out))
		return -1;
	memcpy(to, name.data, name.len);
	to += name.len;
	*to++ = ':';
	*to++ = ' ';
	if (value.len)
		memcpy(to, value.data, value.len);
	to += value.len;
	*to++ = '\r';
	*to++ = '\n';
	buf_commit(out, name.len + value.len + 4);
	return 0;
}

int write_framing(struct buf *out, enum framing framing, uint64_t body_len)
{
	switch (framing) {
	case FRAMING_NONE:
	case FRAMING_TO_CLOSE:
		return 0;
	case FRAMING_CHUNKED:
		return buf_add_str(out, "Transfer-Encoding: chunked\r\n");
	case FRAMING_LENGTH:
		if (buf_add_str(out, "Content-Length: ") < 0 ||
		    add_number(out, body_len) < 0)
			return -1;
		return buf_add_str(out, "\r\n");
	}
	return -1;
}

int write_end(struct buf *out)
{
	return buf_add_str(out, "\r\n");
}

static int write_fields(struct buf *out, const struct fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		if (write_field(out, fields->items[i].name,
				fields->items[i].value) < 0)
			return -1;
	return 0;
}

/* RFC 9110 8.6: a method that defines a body says so when it has none. */
static bool wants_length(struct bytes method)
{
	return bytes_is(method, "POST") || bytes_is(method, "PUT") ||
	       bytes_is(method, "PATCH");
}

int write_request(struct buf *out, const struct request *request,
		  const struct target *target)
{
	enum framing framing = request->framing;

	assert(request->form != FORM_AUTHORITY);
	assert(framing != FRAMING_TO_CLOSE);
	assert(http_is_target(bytes_str(target->host)));
	if (framing == FRAMING_NONE && wants_length(request->method))
		framing = FRAMING_LENGTH;
	if (add_line(out, request->method, request->path, request->query,
		     request->has_query) < 0 ||
	    add_host(out, target) < 0 ||
	    write_fields(out, &request->fields) < 0 ||
	    write_framing(out, framing, request->body_len) < 0)
		return -1;
	return write_end(out);
}

/* A response without body bytes may say how long the body would have been:
 * to HEAD, and 304. */
static enum framing announced(const struct response *response)
{
	if (response->framing == FRAMING_NONE && response->body_len > 0 &&
	    response->status >= 200 && response->status != 204)
		return FRAMING_LENGTH;
	return response->framing;
}

int write_response(struct buf *out, const struct response *response,
		   bool keep_alive)
{
	assert(response->status >= 100 && response->status <= 599);
	assert(http_is_value(response->reason));
	assert(!keep_alive || response->framing != FRAMING_TO_CLOSE);
	if (buf_add_str(out, "HTTP/1.1 ") < 0 ||
	    add_number(out, response->status) < 0 ||
	    buf_add_byte(out, ' ') < 0 || buf_add(out, response->reason) < 0 ||
	    buf_add_str(out, "\r\n") < 0 ||
	    write_fields(out, &response->fields) < 0 ||
	    write_framing(out, announced(response), response->body_len) < 0)
		return -1;
	if (!keep_alive && buf_add_str(out, "Connection: close\r\n") < 0)
		return -1;
	return write_end(out);
}

struct bytes write_reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *reason;
	} reasons[] = {
		{101, "Switching Protocols"},
		{200, "OK"},
		{201, "Created"},
		{202, "Accepted"},
		{204, "No Content"},
		{206, "Partial Content"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{409, "Conflict"},
		{412, "Precondition Failed"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{416, "Range Not Satisfiable"},
		{422, "Unprocessable Content"},
		{426, "Upgrade Required"},
		{429, "Too Many Requests"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{502, "Bad Gateway"},
		{503, "Service Unavailable"},
		{504, "Gateway Timeout"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return bytes_str(reasons[i].reason);
	return bytes_str("Status");
}
