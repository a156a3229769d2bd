#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base64.h"
#include "common/cleanup.h"
#include "gateway/exchange/exchange.h"

#define HEX "0123456789ABCDEF"
/* What form and base64 may make of a secret. */
#define ENCODED_MAX	  (3 * EXCHANGE_VALUE_MAX)
#define BODY_MAX	  (64 * 1024)
#define EXCHANGE_PATH_MAX 320

/* ---- pieces ---- */

static int add(struct buf *out, const char *text)
{
	return buf_add(out, bytes_str(text));
}

/* application/x-www-form-urlencoded. */
static int add_form(struct buf *out, struct bytes value)
{
	for (size_t i = 0; i < value.len; i++) {
		uint8_t c = value.data[i];
		char escape[] = {'%', HEX[c >> 4], HEX[c & 15]};
		bool is_plain = (c >= 'a' && c <= 'z') ||
				(c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '-' ||
				c == '.' || c == '_' || c == '*';

		if (c == ' ')
			escape[0] = '+';
		if (buf_add(out,
			    bytes_from(is_plain ? (const void *)&c : escape,
				       is_plain || c == ' ' ? 1 : 3)) < 0)
			return -1;
	}
	return 0;
}

/* "id:password", split at the first colon. */
static int split_client(struct bytes proof, struct bytes *id,
			struct bytes *password, struct err *err)
{
	*password = proof;
	if (bytes_split(password, ':', id) && id->len > 0)
		return 0;
	return err_set(err, ERR_INVALID,
		       "the client's secret has not the form id:password");
}

static int add_head(struct buf *out, const struct config_source *source,
		    const char *method, const char *path)
{
	char port[8] = "";
	bool is_v6 = bytes_find(source->host, ':', 0) >= 0;

	if (source->port != 443)
		(void)snprintf(port, sizeof(port), ":%u", source->port);
	if (add(out, method) < 0 || add(out, " ") < 0 ||
	    buf_add(out, source->url_path) < 0 || add(out, path) < 0 ||
	    add(out, " HTTP/1.1\r\nHost: ") < 0 ||
	    add(out, is_v6 ? "[" : "") < 0 || buf_add(out, source->host) < 0 ||
	    add(out, is_v6 ? "]" : "") < 0 || add(out, port) < 0)
		return -1;
	return add(out, "\r\nUser-Agent: sallyport\r\nConnection: close\r\n");
}

static int add_body(struct buf *out, const char *type, struct bytes body)
{
	char fields[128];

	(void)snprintf(fields, sizeof(fields),
		       "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n", type,
		       body.len);
	return add(out, fields) < 0 ? -1 : buf_add(out, body);
}

static void wipe(struct buf *buf)
{
	if (buf->data)
		secret_wipe(buf->data, buf->size);
	buf_release(buf);
}

/* Large enough at once: growing would leave a secret behind. */
static void init_secret(struct buf *buf, size_t size)
{
	buf_init(buf, size);
	(void)buf_reserve(buf, size);
}

static int too_long(struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "what is asked is too long");
}

/* ---- OAuth 2.0 ---- */

/* RFC 6749 2.3.1: both encoded as a form's values first. */
static int add_basic(struct buf *out, struct bytes id, struct bytes password)
{
	auto_type(wipe) struct buf pair, encoded;
	size_t len;

	init_secret(&pair, ENCODED_MAX);
	init_secret(&encoded, BASE64_LEN(ENCODED_MAX) + 1);
	if (add_form(&pair, id) < 0 || add(&pair, ":") < 0 ||
	    add_form(&pair, password) < 0 || !encoded.data)
		return -1;
	len = BASE64_LEN(buf_len(&pair));
	base64_encode(buf_view(&pair), (char *)encoded.data);
	return add(out, "Authorization: Basic ") < 0 ||
			       buf_add(out, bytes_from(encoded.data, len)) <
				       0 ||
			       add(out, "\r\n") < 0
		       ? -1
		       : 0;
}

static int add_value(struct buf *form, const char *name, struct bytes value)
{
	if (value.len == 0)
		return 0;
	return add(form, name) < 0 ? -1 : add_form(form, value);
}

static int request_oauth2(const struct config_source *source,
			  const struct msg_exchange *wanted, struct buf *out,
			  struct err *err)
{
	auto_type(wipe) struct buf form;
	struct bytes id, password;
	bool is_refresh = wanted->refresh.len > 0;

	init_secret(&form, BODY_MAX);
	if (split_client(wanted->proof, &id, &password, err) < 0)
		return -1;
	if (add(&form, "grant_type=") < 0 ||
	    add(&form, is_refresh ? "refresh_token" : "client_credentials") <
		    0 ||
	    add_value(&form, "&refresh_token=", wanted->refresh) < 0 ||
	    add_value(&form, "&scope=", source->scope) < 0 ||
	    (source->in_body &&
	     (add_value(&form, "&client_id=", id) < 0 ||
	      add_value(&form, "&client_secret=", password) < 0)))
		return too_long(err);
	if (add_head(out, source, "POST", "") < 0 ||
	    add(out, "Accept: application/json\r\n") < 0 ||
	    (!source->in_body && add_basic(out, id, password) < 0) ||
	    add_body(out, "application/x-www-form-urlencoded",
		     buf_view(&form)) < 0)
		return too_long(err);
	return 0;
}

/* ---- GitHub ---- */

#define GITHUB_FIELDS                                                          \
	"Accept: application/vnd.github+json\r\n"                              \
	"X-GitHub-Api-Version: 2022-11-28\r\n"

static int add_bearer(struct buf *out, struct bytes token)
{
	return add(out, GITHUB_FIELDS "Authorization: Bearer ") < 0 ||
			       buf_add(out, token) < 0 || add(out, "\r\n") < 0
		       ? -1
		       : 0;
}

static bool is_name(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isalnum(text.data[i]) && text.data[i] != '-' &&
		    text.data[i] != '_' && text.data[i] != '.')
			return false;
	return text.len > 0 && !bytes_is(text, ".") && !bytes_is(text, "..");
}

/* "owner/name", as both stand in a URL. */
static bool is_repository(struct bytes text)
{
	struct bytes owner;

	return bytes_split(&text, '/', &owner) && is_name(owner) &&
	       is_name(text);
}

/* One repository, and rights that are named: without either GitHub gives
 * all that the app has (security; the second decision). */
static int check_app(const struct msg_exchange *wanted, struct err *err)
{
	bool is_open = !is_repository(wanted->repository) ||
		       wanted->permissions_count == 0;

	for (size_t i = 0; i < wanted->permissions_count; i++)
		is_open |= bytes_is(wanted->permissions[i].name, "workflows") ||
			   wanted->permissions[i].name.len == 0;
	return is_open ? err_set(err, ERR_DENIED,
				 "a token for one repository, with named "
				 "permissions, is all that is bought")
		       : 0;
}

static json_t *app_body(const struct msg_exchange *wanted)
{
	json_t *permissions = json_object();
	struct bytes name = wanted->repository;
	struct bytes owner;

	(void)bytes_split(&name, '/', &owner);
	for (size_t i = 0; i < wanted->permissions_count; i++)
		(void)json_object_setn_new_nocheck(
			permissions,
			(const char *)wanted->permissions[i].name.data,
			wanted->permissions[i].name.len,
			json_string(wanted->permissions[i].write ? "write"
								 : "read"));
	return json_pack("{s:[s%], s:o}", "repositories",
			 (const char *)name.data, name.len, "permissions",
			 permissions);
}

static int request_app(const struct config_source *source,
		       const struct msg_exchange *wanted, struct buf *out,
		       struct err *err)
{
	char path[64];
	json_t *body;
	auto_free char *text = NULL;

	if (check_app(wanted, err) < 0)
		return -1;
	body = app_body(wanted);
	text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	json_decref(body);
	(void)snprintf(path, sizeof(path),
		       "/app/installations/%" PRIu64 "/access_tokens",
		       source->installation);
	if (!text || add_head(out, source, "POST", path) < 0 ||
	    add_bearer(out, wanted->proof) < 0 ||
	    add_body(out, "application/json", bytes_str(text)) < 0)
		return too_long(err);
	return 0;
}

int request_owner(const struct config_source *source,
		  const struct msg_exchange *wanted, struct buf *out,
		  struct err *err)
{
	char path[EXCHANGE_PATH_MAX];
	int len;

	if (check_app(wanted, err) < 0)
		return -1;
	len = snprintf(path, sizeof(path), "/repos/%.*s/installation",
		       BYTES_ARGS(wanted->repository));
	if (len < 0 || (size_t)len >= sizeof(path) ||
	    add_head(out, source, "GET", path) < 0 ||
	    add_bearer(out, wanted->proof) < 0 || add(out, "\r\n") < 0)
		return too_long(err);
	return 0;
}

/* ---- both ---- */

int request_buy(const struct config_source *source,
		const struct msg_exchange *wanted, struct buf *out,
		struct err *err)
{
	return source->kind == SOURCE_GITHUB_APP
		       ? request_app(source, wanted, out, err)
		       : request_oauth2(source, wanted, out, err);
}

int request_end(const struct config_source *source, struct bytes token,
		struct buf *out, struct err *err)
{
	if (add_head(out, source, "DELETE", "/installation/token") < 0 ||
	    add_bearer(out, token) < 0 || add(out, "\r\n") < 0)
		return too_long(err);
	return 0;
}
