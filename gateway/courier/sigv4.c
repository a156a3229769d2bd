#include "gateway/courier/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/secret.h"
#include "gateway/courier/attach.h"
#include "gateway/flow/limits.h"
#include "policies/query.h"

#define ALGORITHM     "AWS4-HMAC-SHA256"
#define CANONICAL_MAX (512 * 1024)
#define HEX_SIZE      (2 * DIGEST_LEN + 1)
#define DAY_LEN	      8 /* of the time */

void sigv4_time(uint64_t wall_ms, char out[SIGV4_TIME_SIZE])
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(out, SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

/* ---- the query ---- */

static int compare_bytes(struct bytes a, struct bytes b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.data, b.data, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_fields(const void *a, const void *b)
{
	const struct field *one = a;
	const struct field *two = b;
	int order = compare_bytes(one->name, two->name);

	return order ? order : compare_bytes(one->value, two->value);
}

static int escape(struct arena *arena, struct bytes *text)
{
	auto_type(buf_release) struct buf out;
	struct bytes copy;

	buf_init(&out, 3 * text->len + 1);
	if (attach_percent(&out, *text) < 0)
		return -1;
	copy = arena_copy(arena, buf_view(&out));
	if (copy.len != buf_len(&out))
		return -1;
	*text = copy;
	return 0;
}

int sigv4_query(struct arena *arena, struct bytes query, struct buf *out,
		struct err *err)
{
	struct fields pairs;

	if (query_parse(arena, query, &pairs, err) < 0)
		return -1;
	(void)err_set(err, ERR_TOO_LARGE, "sign the query: too large");
	for (size_t i = 0; i < pairs.count; i++)
		if (escape(arena, &pairs.items[i].name) < 0 ||
		    escape(arena, &pairs.items[i].value) < 0)
			return -1;
	if (pairs.count)
		qsort(pairs.items, pairs.count, sizeof(pairs.items[0]),
		      compare_fields);
	for (size_t i = 0; i < pairs.count; i++)
		if ((i && buf_add_byte(out, '&') < 0) ||
		    buf_add(out, pairs.items[i].name) < 0 ||
		    buf_add_byte(out, '=') < 0 ||
		    buf_add(out, pairs.items[i].value) < 0)
			return -1;
	return 0;
}

/* ---- the path ---- */

/* Each segment escaped. S3 escapes what the path means, every other service
 * what stands in it: so an escape twice. */
static int add_path(const struct sigv4_request *request, struct buf *out)
{
	bool is_s3 = bytes_is(request->service, "s3");
	struct bytes path = request->path;

	for (size_t i = 0; i < path.len; i++) {
		uint8_t c = path.data[i];

		if (c == '/') {
			if (buf_add_byte(out, c) < 0)
				return -1;
			continue;
		}
		if (is_s3 && c == '%' &&
		    bytes_from_hex(bytes_slice(path, i + 1, i + 3), &c) == 0)
			i += 2;
		if (attach_percent(out, bytes_from(&c, 1)) < 0)
			return -1;
	}
	return 0;
}

/* ---- the head ---- */

static int compare_names(const void *a, const void *b)
{
	const struct leg_field *one = a;
	const struct leg_field *two = b;

	return compare_bytes(one->name, two->name);
}

static struct bytes lower(struct arena *arena, struct bytes name)
{
	uint8_t *copy = arena_alloc(arena, name.len);

	for (size_t i = 0; copy && i < name.len; i++)
		copy[i] = name.data[i] >= 'A' && name.data[i] <= 'Z'
				  ? (uint8_t)(name.data[i] | 0x20)
				  : name.data[i];
	return bytes_from(copy, copy ? name.len : 0);
}

/* Trimmed, with one blank for several. */
static int add_value(struct buf *out, struct bytes value)
{
	bool was_blank = false;

	value = bytes_trim(value);
	for (size_t i = 0; i < value.len; i++) {
		bool is_blank = value.data[i] == ' ' || value.data[i] == '\t';

		if (is_blank && was_blank)
			continue;
		was_blank = is_blank;
		if (buf_add_byte(out, is_blank ? ' ' : value.data[i]) < 0)
			return -1;
	}
	return 0;
}

/* Fields of one name, in their order, make one line. */
static int add_fields(const struct leg_field *fields, size_t count,
		      struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		bool goes_on =
			i && bytes_equal(fields[i].name, fields[i - 1].name);

		if (goes_on && buf_add_byte(out, ',') < 0)
			return -1;
		if (!goes_on && ((i && buf_add_byte(out, '\n') < 0) ||
				 buf_add(out, fields[i].name) < 0 ||
				 buf_add_byte(out, ':') < 0))
			return -1;
		if (add_value(out, fields[i].value) < 0)
			return -1;
	}
	return buf_add_byte(out, '\n');
}

static int add_names(const struct leg_field *fields, size_t count,
		     struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		if (i && bytes_equal(fields[i].name, fields[i - 1].name))
			continue;
		if ((i && buf_add_byte(out, ';') < 0) ||
		    buf_add(out, fields[i].name) < 0)
			return -1;
	}
	return 0;
}

/* Stable: fields of one name keep their order. */
static void sort_fields(struct leg_field *fields, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct leg_field field = fields[i];
		size_t at = i;

		for (; at > 0 && compare_names(&fields[at - 1], &field) > 0;
		     at--)
			fields[at] = fields[at - 1];
		fields[at] = field;
	}
}

static struct leg_field *sorted_fields(const struct sigv4_request *request,
				       struct arena *arena)
{
	struct leg_field *fields =
		arena_array(arena, request->fields_count + 1, sizeof(*fields));

	for (size_t i = 0; fields && i < request->fields_count; i++) {
		fields[i] = request->fields[i];
		fields[i].name = lower(arena, fields[i].name);
		if (fields[i].name.len == 0)
			return NULL;
	}
	if (fields)
		sort_fields(fields, request->fields_count);
	return fields;
}

/* The canonical request. */
static int add_canonical(const struct sigv4_request *request,
			 const struct leg_field *fields, struct buf *out)
{
	size_t count = request->fields_count;

	if (buf_add(out, request->method) < 0 || buf_add_byte(out, '\n') < 0 ||
	    add_path(request, out) < 0 || buf_add_byte(out, '\n') < 0 ||
	    buf_add(out, request->query) < 0 || buf_add_byte(out, '\n') < 0 ||
	    add_fields(fields, count, out) < 0 || buf_add_byte(out, '\n') < 0 ||
	    add_names(fields, count, out) < 0 || buf_add_byte(out, '\n') < 0)
		return -1;
	return buf_add(out, request->payload);
}

/* ---- the signature ---- */

static int hmac(const uint8_t *key, size_t key_len, struct bytes text,
		uint8_t out[DIGEST_LEN])
{
	unsigned len = DIGEST_LEN;

	return HMAC(EVP_sha256(), key, (int)key_len, text.data, text.len, out,
		    &len)
		       ? 0
		       : -1;
}

/* Day, region, service and what is signed, one after the other. */
static int sign(const struct sigv4_request *request,
		const struct sigv4_key *key, struct bytes text,
		uint8_t mac[DIGEST_LEN])
{
	const struct bytes steps[] = {
		bytes_from(request->time, DAY_LEN),
		request->region,
		request->service,
		bytes_str("aws4_request"),
		text,
	};
	uint8_t first[4 + SIGV4_KEY_LEN_MAX];
	uint8_t next[DIGEST_LEN];
	int result;

	memcpy(first, "AWS4", 4);
	memcpy(first + 4, key->secret.data, key->secret.len);
	result = hmac(first, 4 + key->secret.len, steps[0], mac);
	for (size_t i = 1; result == 0 && i < ARRAY_SIZE(steps); i++) {
		result = hmac(mac, DIGEST_LEN, steps[i], next);
		memcpy(mac, next, DIGEST_LEN);
	}
	secret_wipe(first, sizeof(first));
	secret_wipe(next, sizeof(next));
	return result;
}

static int add_scope(const struct sigv4_request *request, struct buf *out)
{
	return buf_add_format(out, "%.*s/%.*s/%.*s/aws4_request", DAY_LEN,
			      request->time, BYTES_ARGS(request->region),
			      BYTES_ARGS(request->service));
}

static int sign_canonical(const struct sigv4_request *request,
			  const struct sigv4_key *key, struct bytes canonical,
			  char hex[HEX_SIZE])
{
	auto_type(buf_release) struct buf text;
	uint8_t digest[DIGEST_LEN];

	buf_init(&text, CANONICAL_MAX);
	digest_sha256(canonical, bytes_from(NULL, 0), digest);
	bytes_to_hex(bytes_from(digest, DIGEST_LEN), hex);
	if (buf_add_format(&text, ALGORITHM "\n%s\n", request->time) < 0 ||
	    add_scope(request, &text) < 0 ||
	    buf_add_format(&text, "\n%s", hex) < 0 ||
	    sign(request, key, buf_view(&text), digest) < 0)
		return -1;
	bytes_to_hex(bytes_from(digest, DIGEST_LEN), hex);
	return 0;
}

int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
	       struct arena *arena, struct buf *out, struct err *err)
{
	const struct leg_field *fields = sorted_fields(request, arena);
	auto_type(buf_release) struct buf canonical;
	char hex[HEX_SIZE];
	int result = -1;

	buf_init(&canonical, CANONICAL_MAX);
	if (fields && add_canonical(request, fields, &canonical) == 0)
		result =
			sign_canonical(request, key, buf_view(&canonical), hex);
	if (canonical.data)
		secret_wipe(canonical.data, canonical.size);
	if (result < 0 ||
	    buf_add_format(out, ALGORITHM " Credential=%.*s/",
			   BYTES_ARGS(key->id)) < 0 ||
	    add_scope(request, out) < 0 ||
	    buf_add_str(out, ", SignedHeaders=") < 0 ||
	    add_names(fields, request->fields_count, out) < 0 ||
	    buf_add_format(out, ", Signature=%s", hex) < 0)
		return err_set(err, ERR_TOO_LARGE, "sign: too large");
	return 0;
}
