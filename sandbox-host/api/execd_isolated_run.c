/* What runs in an isolated session: its bash reads the text. */
#include <ctype.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/execd_isolated.h"

static bool is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

/* 'text', as bash reads it. */
static int add_quoted(struct buf *out, const char *text)
{
	if (buf_add_byte(out, '\'') < 0)
		return -1;
	for (; *text; text++)
		if ((*text == '\'' ? buf_add_str(out, "'\\''")
				   : buf_add_byte(out, (uint8_t)*text)) < 0)
			return -1;
	return buf_add_byte(out, '\'');
}

static bool add_variables(struct exchange *exchange, json_t *values,
			  struct buf *out)
{
	const char *name;
	json_t *value;

	json_object_foreach(values, name, value)
	{
		const char *text = json_string_value(value);

		if (!is_name(name) || !text ||
		    strlen(text) != json_string_length(value))
			return isolated_refuse(exchange,
					       "envs must be an object of "
					       "names and strings");
		if (buf_add_str(out, name) < 0 || buf_add_byte(out, '=') < 0 ||
		    add_quoted(out, text) < 0 || buf_add_byte(out, ' ') < 0)
			return isolated_refuse(exchange,
					       "code and envs are too long");
	}
	return true;
}

/* A=1 B=2 eval CODE: they are there for this run alone. */
static bool with_variables(struct exchange *exchange, const json_t *body,
			   struct bytes code, struct bytes *command)
{
	json_t *values = json_object_get(body, "envs");
	auto_type(buf_release) struct buf out;
	const char *text;

	buf_init(&out, REQUEST_ARG_MAX - 1);
	*command = code;
	if (!values || json_is_null(values) || json_object_size(values) == 0)
		return !values || json_is_null(values) ||
		       json_is_object(values) ||
		       isolated_refuse(exchange, "envs must be an object");
	text = arena_str(exchange->arena, code);
	if (!text || !add_variables(exchange, values, &out))
		return false;
	if (buf_add_str(&out, "eval ") < 0 || add_quoted(&out, text) < 0)
		return isolated_refuse(exchange, "code and envs are too long");
	*command = bytes_str(arena_str(exchange->arena, buf_view(&out)));
	if (command->len == 0)
		exchange_fail_memory(exchange);
	return command->len > 0;
}

void isolated_run(struct exchange *exchange)
{
	struct isolated *isolated = isolated_enter(exchange);
	struct run_spec spec = {0};
	struct bytes command;
	json_t *body;

	if (!isolated || !execd_body(exchange, true, &body))
		return;
	if (execd_text(exchange, body, "code", true, &spec.text) &&
	    execd_number(exchange, body, "timeout_seconds",
			 EXECD_TIMEOUT_MAX / 1000, &spec.request.timeout_ms) &&
	    with_variables(exchange, body, spec.text, &command)) {
		spec.request.timeout_ms *= 1000;
		isolated->last_run_ms = clock_wall_ms();
		session_run(exchange, isolated->bash, &spec, command);
	}
	json_decref(body);
}
