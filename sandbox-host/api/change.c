/* What may be changed of a sandbox: its metadata, its end. */
#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"
#include "sandbox-host/api/spec.h"

#define OFFSET_LEN 6 /* "+02:00" */
#define TIME_MAX   64

/* ---- metadata: a merge patch (RFC 7396) ---- */

static void on_patched(struct exchange *exchange, const void *message, int *fd)
{
	(void)fd;
	exchange_reply_json(exchange, 200, shown_sandbox(message, true));
}

static int read_patch(const json_t *root, struct host_patch *patch,
		      struct text_pair *set, struct text_item *unset,
		      struct spec_fault *fault)
{
	const char *key;
	json_t *value;

	if (!json_is_object(root))
		return spec_refuse(fault, 422,
				   "the body must be an object of strings");
	if (json_object_size(root) > REQUEST_METADATA_MAX)
		return spec_refuse(fault, 400, "at most %d entries",
				   REQUEST_METADATA_MAX);
	json_object_foreach((json_t *)(uintptr_t)root, key, value)
	{
		struct bytes text = bytes_from(json_string_value(value),
					       json_string_length(value));

		if (!json_is_null(value) && !json_is_string(value))
			return spec_refuse(fault, 422,
					   "a value must be a string, or null");
		if (spec_label(bytes_str(key), text, fault) < 0)
			return -1;
		if (json_is_null(value))
			unset[patch->unset_count++].text = bytes_str(key);
		else
			set[patch->set_count++] =
				(struct text_pair){bytes_str(key), text};
	}
	patch->set = set;
	patch->unset = unset;
	return 0;
}

void lifecycle_patch(struct exchange *exchange)
{
	struct text_pair set[REQUEST_METADATA_MAX];
	struct text_item unset[REQUEST_METADATA_MAX];
	struct host_patch patch = {.id = exchange->pieces[0]};
	const struct exchange_question question = {
		.type = MSG_HOST_METADATA,
		.schema = &host_patch_schema,
		.message = &patch,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};
	struct spec_fault fault;
	json_t *root;

	if (patch.id.len > HOST_ID_MAX || !wire_is_printable(patch.id)) {
		exchange_fail(exchange, 404, "SANDBOX_NOT_FOUND",
			      "there is no such sandbox");
		return;
	}
	root = exchange_json(exchange);
	if (!root)
		return;
	if (read_patch(root, &patch, set, unset, &fault) < 0)
		exchange_fail(exchange, fault.status,
			      fault.status == 422 ? "INVALID_BODY"
						  : "INVALID_REQUEST",
			      "%s", fault.text);
	else
		exchange_ask(exchange, &question, on_patched);
	json_decref(root);
}

/* ---- the end ---- */

static void on_renewed(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;

	(void)fd;
	exchange_reply_json(exchange, 200,
			    json_pack("{s:o}", "expiresAt",
				      shown_time(sandbox->expires_ms)));
}

static void on_found(struct exchange *exchange, const void *message, int *fd)
{
	const struct host_sandbox *sandbox = message;
	const uint64_t *expires_ms = exchange->task;
	const struct host_renew renew = {.id = exchange->pieces[0],
					 .expires_ms = *expires_ms};
	const struct exchange_question question = {
		.type = MSG_HOST_RENEW,
		.schema = &host_renew_schema,
		.message = &renew,
		.fd = -1,
		.reply_schema = &host_sandbox_schema,
	};

	(void)fd;
	if (sandbox->expires_ms == 0)
		exchange_fail(exchange, 409, "INVALID_STATE",
			      "the sandbox does not expire");
	else
		exchange_ask(exchange, &question, on_renewed);
}

/* RFC 3339 with "Z", or with an offset. */
static int read_time(struct arena *arena, struct bytes text, uint64_t *wall_ms)
{
	size_t at = text.len < OFFSET_LEN ? 0 : text.len - OFFSET_LEN;
	struct bytes offset = bytes_slice(text, at, text.len);
	uint64_t hours, minutes, ms;
	const char *utc;

	if (text.len > TIME_MAX)
		return -1;
	if (offset.len < OFFSET_LEN || offset.data[3] != ':' ||
	    (offset.data[0] != '+' && offset.data[0] != '-'))
		return clock_parse(text, wall_ms);
	utc = arena_format(arena, "%.*sZ", (int)at, (const char *)text.data);
	if (!utc || clock_parse(bytes_str(utc), wall_ms) < 0 ||
	    bytes_to_u64(bytes_slice(offset, 1, 3), 2, &hours) < 0 ||
	    bytes_to_u64(bytes_slice(offset, 4, 6), 2, &minutes) < 0 ||
	    hours > 23 || minutes > 59)
		return -1;
	ms = (hours * 60 + minutes) * 60 * 1000;
	if (offset.data[0] == '-')
		*wall_ms += ms;
	else
		*wall_ms = *wall_ms > ms ? *wall_ms - ms : 0;
	return 0;
}

void lifecycle_renew(struct exchange *exchange)
{
	uint64_t *expires_ms =
		arena_alloc(exchange->arena, sizeof(*expires_ms));
	json_t *root = expires_ms ? exchange_json(exchange) : NULL;
	const json_t *at = json_object_get(root, "expiresAt");
	bool is_time = at && json_is_string(at) &&
		       read_time(exchange->arena,
				 bytes_from(json_string_value(at),
					    json_string_length(at)),
				 expires_ms) == 0;

	if (!expires_ms) {
		exchange_fail_memory(exchange);
		return;
	}
	if (!root)
		return;
	json_decref(root);
	if (!is_time || *expires_ms <= clock_wall_ms()) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "expiresAt must be a time in the future, like "
			      "2030-01-31T12:00:00Z");
		return;
	}
	exchange->task = expires_ms;
	lifecycle_ask_show(exchange, on_found);
}
