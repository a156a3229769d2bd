#include "gateway/edit/headers.h"

#include "common/cleanup.h"

/* Names that servers read an identity from. */
static const char *const credentials[] = {
	"authorization",
	"cookie",
	"cookie2",
	"private-token",
	"job-token",
	"deploy-token",
	"x-api-key",
	"api-key",
	"x-auth-token",
	"x-access-token",
	"x-amz-security-token",
	"x-goog-api-key",
};

/* Names by which a server may take another method or path than the one that
 * was decided on. */
static const char *const overrides[] = {
	"x-http-method-override", "x-http-method",	"x-method-override",
	"x-original-url",	  "x-rewrite-url",	"x-original-method",
	"x-forwarded-host",	  "x-forwarded-prefix", "x-host",
};

/* Ways around the gateway, or pins that its certificates cannot meet. */
static const char *const detours[] = {
	"alt-svc",
	"public-key-pins",
	"public-key-pins-report-only",
};

static bool is_one_of(struct bytes name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

bool edit_is_credential(struct bytes name)
{
	return is_one_of(name, credentials, ARRAY_SIZE(credentials));
}

static bool is_proxy_field(struct bytes name)
{
	return bytes_is_nocase(bytes_slice(name, 0, 6), "proxy-");
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
