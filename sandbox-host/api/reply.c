#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "gateway/http/write.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/parts.h"

#define TYPE_JSON "application/json"
/* Rates are counted by the second, and what is full has room once something
 * ends. */
#define RETRY_AFTER_S "1"

/* ---- the head ---- */

void exchange_add_field(struct exchange *exchange, const char *name,
			struct bytes value)
{
	struct bytes copy = arena_copy(exchange->arena, value);
	struct bytes label = arena_copy(exchange->arena, bytes_str(name));

	if (copy.len != value.len || !http_is_value(value) ||
	    !http_is_token(label))
		return;
	if (!exchange->added.items) {
		exchange->added.items =
			arena_array(exchange->arena, EXCHANGE_FIELDS_MAX,
				    sizeof(struct field));
		if (!exchange->added.items)
			return;
		exchange->added.room = EXCHANGE_FIELDS_MAX;
	}
	(void)fields_add(&exchange->added, label, copy);
}

void reply_fields(struct fields *fields, const struct exchange *exchange,
		  const char *content_type)
{
	if (content_type)
		(void)fields_add(fields, bytes_str("Content-Type"),
				 bytes_str(content_type));
	if (exchange->request_id[0])
		(void)fields_add(fields, bytes_str("X-Request-ID"),
				 bytes_str(exchange->request_id));
	for (size_t i = 0; i < exchange->added.count; i++)
		(void)fields_add(fields, exchange->added.items[i].name,
				 exchange->added.items[i].value);
}

/* ---- whole answers ---- */

static void reply(struct exchange *exchange, unsigned status,
		  const char *content_type, struct bytes body)
{
	struct field items[REPLY_FIELDS_MAX];
	struct fields fields = {items, 0, ARRAY_SIZE(items)};

	reply_fields(&fields, exchange, content_type);
	http_conn_reply(http_of(exchange), status, &fields, body);
}

void exchange_reply_bytes(struct exchange *exchange, unsigned status,
			  const char *content_type, struct bytes bytes)
{
	reply(exchange, status, content_type, bytes);
}

void exchange_reply_empty(struct exchange *exchange, unsigned status)
{
	reply(exchange, status, NULL, bytes_from(NULL, 0));
}

void exchange_reply_json(struct exchange *exchange, unsigned status,
			 json_t *value)
{
	auto_free char *text =
		value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY)
		      : NULL;

	json_decref(value);
	if (!text)
		exchange_fail_memory(exchange);
	else if (strlen(text) > EXCHANGE_ANSWER_MAX)
		exchange_fail(exchange, 500, "INTERNAL",
			      "the answer is too large");
	else
		reply(exchange, status, TYPE_JSON, bytes_str(text));
}

void exchange_fail(struct exchange *exchange, unsigned status, const char *code,
		   const char *format, ...)
{
	char text[EXCHANGE_FAIL_MAX];
	auto_free char *body = NULL;
	json_t *value;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* Never empty: the SDK takes an error without a body for a success. */
	value = json_pack("{s:s, s:s%}", "code", code, "message", text,
			  utf8_valid_len(bytes_str(text)));
	body = value ? json_dumps(value, JSON_COMPACT) : NULL;
	json_decref(value);
	if (status == 429)
		exchange_add_field(exchange, "Retry-After",
				   bytes_str(RETRY_AFTER_S));
	reply(exchange, status, TYPE_JSON,
	      bytes_str(body ? body
			     : "{\"code\":\"INTERNAL\",\"message\":\"no "
			       "memory\"}"));
}

void exchange_fail_memory(struct exchange *exchange)
{
	reply(exchange, 500, TYPE_JSON,
	      bytes_str("{\"code\":\"INTERNAL\",\"message\":\"no memory\"}"));
}
