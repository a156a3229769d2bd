#include "cli/mcp/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_id(const json_t *id)
{
	return json_is_string(id) || json_is_integer(id);
}

static enum message_kind kind_of(const struct message *message)
{
	const char *version =
		json_string_value(json_object_get(message->root, "jsonrpc"));
	bool is_answer = json_object_get(message->root, "result") ||
			 json_object_get(message->root, "error");

	if (!version || strcmp(version, "2.0") != 0)
		return MESSAGE_BROKEN;
	if (json_object_get(message->root, "id") && !message->id)
		return MESSAGE_BROKEN;
	if (!message->method)
		return is_answer && message->id ? MESSAGE_RESPONSE
						: MESSAGE_BROKEN;
	if (json_object_get(message->root, "params") && !message->params)
		return MESSAGE_BROKEN;
	return message->id ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
}

void message_read(struct message *message, struct bytes text)
{
	json_t *id, *params;

	*message = (struct message){
		.kind = MESSAGE_BROKEN,
		.root = json_loadb((const char *)text.data, text.len,
				   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
					   JSON_DECODE_ANY,
				   NULL),
		.error = MESSAGE_PARSE_ERROR,
	};
	if (!message->root)
		return;
	id = json_object_get(message->root, "id");
	params = json_object_get(message->root, "params");
	message->id = is_id(id) ? id : NULL;
	message->params = json_is_object(params) ? params : NULL;
	message->method =
		json_string_value(json_object_get(message->root, "method"));
	message->kind = kind_of(message);
	message->error = MESSAGE_INVALID_REQUEST;
}

void message_release(struct message *message)
{
	json_decref(message->root);
	*message = (struct message){.kind = MESSAGE_BROKEN};
}

json_t *message_result(json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id,
			 "result", result);
}

json_t *message_error(json_t *id, int code, const char *format, ...)
{
	char text[MESSAGE_TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return json_pack("{s:s, s:o, s:{s:i, s:o}}", "jsonrpc", "2.0", "id",
			 id ? json_incref(id) : json_null(), "error", "code",
			 code, "message",
			 json_stringn_nocheck(text, strlen(text)));
}
