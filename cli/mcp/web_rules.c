#include "cli/mcp/web_rules.h"

#include <string.h>

/* 127.0.0.0/8, as digits and dots alone. */
static bool is_loopback4(struct bytes host)
{
	size_t dots = 0;

	for (size_t i = 0; i < host.len; i++)
		if (host.data[i] == '.')
			dots++;
		else if (host.data[i] < '0' || host.data[i] > '9')
			return false;
	return dots == 3 && bytes_starts_with(host, bytes_str("127."));
}

bool web_is_local(struct bytes host)
{
	if (host.len > 2 && host.data[0] == '[' &&
	    host.data[host.len - 1] == ']')
		host = bytes_slice(host, 1, host.len - 1);
	return bytes_is_nocase(host, "localhost") || bytes_is(host, "::1") ||
	       is_loopback4(host);
}

/* The host of "http://host:port"; empty: it is no such origin. */
static struct bytes host_of(struct bytes origin)
{
	const struct bytes schemes[] = {BYTES_LITERAL("http://"),
					BYTES_LITERAL("https://")};
	uint64_t port;

	for (size_t i = 0; i < 2; i++) {
		struct bytes rest = origin;
		size_t colon;

		if (!bytes_starts_with(origin, schemes[i]))
			continue;
		rest = bytes_slice(rest, schemes[i].len, rest.len);
		colon = rest.len;
		while (colon > 0 && rest.data[colon - 1] != ':' &&
		       rest.data[colon - 1] != ']')
			colon--;
		if (colon == 0 || rest.data[colon - 1] == ']')
			return rest;
		if (bytes_to_u64(bytes_slice(rest, colon, rest.len), 5,
				 &port) == 0)
			return bytes_slice(rest, 0, colon - 1);
	}
	return bytes_from(NULL, 0);
}

bool web_origin_is_local(const struct fields *fields)
{
	const struct field *origin = fields_find(fields, "Origin");

	return !origin || (fields_count_of(fields, "Origin") == 1 &&
			   web_is_local(host_of(origin->value)));
}

/* "text/html; q=1" -> "text/html" */
static struct bytes type_of(struct bytes value)
{
	struct bytes type;

	(void)bytes_split(&value, ';', &type);
	return bytes_trim(type);
}

static bool is_in_range(struct bytes range, struct bytes type)
{
	size_t slash = (size_t)bytes_find(type, '/', 0);

	return bytes_is(range, "*/*") || bytes_equal_nocase(range, type) ||
	       (range.len == slash + 2 && range.data[range.len - 1] == '*' &&
		bytes_equal_nocase(bytes_slice(range, 0, slash + 1),
				   bytes_slice(type, 0, slash + 1)));
}

bool web_accepts(const struct fields *fields, const char *type)
{
	for (size_t i = 0; i < fields->count; i++) {
		struct bytes rest = fields->items[i].value, item;
		bool is_more = true;

		if (!bytes_is_nocase(fields->items[i].name, "Accept"))
			continue;
		while (is_more) {
			is_more = bytes_split(&rest, ',', &item);
			if (is_in_range(type_of(item), bytes_str(type)))
				return true;
		}
	}
	return false;
}

bool web_is_json(const struct fields *fields)
{
	const struct field *type = fields_find(fields, "Content-Type");

	return type && fields_count_of(fields, "Content-Type") == 1 &&
	       bytes_is_nocase(type_of(type->value), "application/json");
}

bool web_is_token(struct bytes token)
{
	static const char marks[] = "-._~+/=";

	for (size_t i = 0; i < token.len; i++) {
		int c = token.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && (c == 0 || !strchr(marks, c)))
			return false;
	}
	return token.len >= WEB_TOKEN_MIN && token.len <= WEB_TOKEN_MAX;
}

bool web_has_token(const struct fields *fields, struct bytes token)
{
	const struct field *field = fields_find(fields, "Authorization");
	struct bytes scheme, rest;

	if (!field || fields_count_of(fields, "Authorization") != 1)
		return false;
	rest = field->value;
	return bytes_split(&rest, ' ', &scheme) &&
	       bytes_is_nocase(scheme, "Bearer") &&
	       bytes_equal_constant_time(bytes_trim(rest), token);
}
