#include "gateway/edit/headers.h"

#include "common/cleanup.h"

/* Names that servers read an identity from. */
static const struct bytes credentials[] = {
	BYTES_LITERAL("authorization"),
	BYTES_LITERAL("cookie"),
	BYTES_LITERAL("cookie2"),
	BYTES_LITERAL("private-token"),
	BYTES_LITERAL("job-token"),
	BYTES_LITERAL("deploy-token"),
	BYTES_LITERAL("x-api-key"),
	BYTES_LITERAL("api-key"),
	BYTES_LITERAL("x-auth-token"),
	BYTES_LITERAL("x-access-token"),
	BYTES_LITERAL("x-amz-security-token"),
	BYTES_LITERAL("x-goog-api-key"),
};

/* Names by which a server may take another method, host or path than those
 * that were decided on. */
static const struct bytes overrides[] = {
	BYTES_LITERAL("x-http-method-override"),
	BYTES_LITERAL("x-http-method"),
	BYTES_LITERAL("x-method-override"),
	BYTES_LITERAL("x-original-url"),
	BYTES_LITERAL("x-rewrite-url"),
	BYTES_LITERAL("x-original-method"),
	BYTES_LITERAL("x-forwarded-host"),
	BYTES_LITERAL("x-forwarded-prefix"),
	BYTES_LITERAL("x-forwarded-server"),
	BYTES_LITERAL("x-forwarded-uri"),
	BYTES_LITERAL("x-forwarded-path"),
	BYTES_LITERAL("x-forwarded-method"),
	BYTES_LITERAL("forwarded"),
	BYTES_LITERAL("x-original-host"),
	BYTES_LITERAL("x-original-uri"),
	BYTES_LITERAL("x-http-host-override"),
	BYTES_LITERAL("x-host"),
	BYTES_LITERAL("x-script-name"),
	BYTES_LITERAL("script-name"),
};

/* Ways around the gateway, or pins that its certificates cannot meet. */
static const struct bytes detours[] = {
	BYTES_LITERAL("alt-svc"),
	BYTES_LITERAL("public-key-pins"),
	BYTES_LITERAL("public-key-pins-report-only"),
};

/* Lower case, and '-' for '_': CGI makes one of both. */
static uint8_t folded(uint8_t c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

static bool is_name(struct bytes name, struct bytes wanted)
{
	size_t i = 0;

	if (name.len != wanted.len)
		return false;
	while (i < name.len && folded(name.data[i]) == folded(wanted.data[i]))
		i++;
	return i == name.len;
}

static bool is_one_of(struct bytes name, const struct bytes *names,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_name(name, names[i]))
			return true;
	return false;
}

bool edit_is_credential(struct bytes name)
{
	return is_one_of(name, credentials, ARRAY_SIZE(credentials));
}

static bool is_proxy_field(struct bytes name)
{
	static const struct bytes prefix = BYTES_LITERAL("proxy-");

	return is_name(bytes_slice(name, 0, prefix.len), prefix);
}

bool edit_request(struct request *request, bool has_credential)
{
	struct fields *fields = &request->fields;
	bool dropped = false;
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++) {
		struct bytes name = fields->items[i].name;

		if (is_proxy_field(name) ||
		    is_one_of(name, overrides, ARRAY_SIZE(overrides)))
			continue;
		if (has_credential && edit_is_credential(name)) {
			dropped = true;
			continue;
		}
		fields->items[kept++] = fields->items[i];
	}
	fields->count = kept;
	return dropped;
}

void edit_drop(struct request *request, struct bytes name)
{
	struct fields *fields = &request->fields;
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++)
		if (!is_name(fields->items[i].name, name))
			fields->items[kept++] = fields->items[i];
	fields->count = kept;
}

static bool sets_cookie(struct bytes name)
{
	return bytes_is_nocase(name, "Set-Cookie") ||
	       bytes_is_nocase(name, "Set-Cookie2");
}

void edit_response(struct response *response, bool had_credential)
{
	struct fields *fields = &response->fields;
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++) {
		struct bytes name = fields->items[i].name;

		if (is_one_of(name, detours, ARRAY_SIZE(detours)) ||
		    (had_credential && sets_cookie(name)))
			continue;
		fields->items[kept++] = fields->items[i];
	}
	fields->count = kept;
}
