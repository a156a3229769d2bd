/* What runs in an isolated session: its bash reads the text. */
#include <ctype.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "policies/command/call.h"
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

static int add_variable(struct buf *out, const char *name, const char *text)
{
	return buf_add_str(out, name) < 0 || buf_add_byte(out, '=') < 0
		       ? -1
		       : add_quoted(out, text);
}

/* before: what `commands` of the policy is to know of them. */
static bool add_variables(struct exchange *exchange, json_t *values,
			  struct buf *out, struct buf *before)
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
		if (add_variable(out, name, text) < 0 ||
		    buf_add_byte(out, ' ') < 0 ||
		    (variable_is_dangerous(bytes_str(name)) &&
		     (buf_add_str(before, "export ") < 0 ||
		      add_variable(before, name, text) < 0 ||
		      buf_add_str(before, "; ") < 0)))
			return isolated_refuse(exchange,
					       "code and envs are too long");
	}
	return true;
}

/* export PATH='x'; CODE: the words of ours are not judged, but what changes
 * what programs do is. */
static bool judge_too(struct exchange *exchange, struct buf *before,
		      struct bytes code, struct exec_request *request)
{
	struct exec_request judged = {0};
	const char *text;

	if (buf_len(before) == 0)
		return true;
	if (buf_add(before, code) < 0)
		return isolated_refuse(exchange, "code and envs are too long");
	text = arena_str(exchange->arena, buf_view(before));
	if (!text) {
		exchange_fail_memory(exchange);
		return false;
	}
	if (!execd_shell(exchange, bytes_str(text), &judged))
		return false;
	request->judged = judged.argv;
	request->judged_count = judged.argv_count;
	return true;
}

/* A=1 B=2 eval CODE: they are there for this run alone. */
static bool with_variables(struct exchange *exchange, const json_t *body,
			   struct run_spec *spec, struct bytes *command)
{
	json_t *values = json_object_get(body, "envs");
	auto_type(buf_release) struct buf out, before;
	const char *text;

	buf_init(&out, REQUEST_ARG_MAX - 1);
	buf_init(&before, REQUEST_ARG_MAX - 1);
	*command = spec->text;
	if (!values || json_is_null(values) || json_object_size(values) == 0)
		return !values || json_is_null(values) ||
		       json_is_object(values) ||
		       isolated_refuse(exchange, "envs must be an object");
	text = arena_str(exchange->arena, spec->text);
	if (!text || !add_variables(exchange, values, &out, &before))
		return false;
	if (buf_add_str(&out, "eval ") < 0 || add_quoted(&out, text) < 0)
		return isolated_refuse(exchange, "code and envs are too long");
	if (!judge_too(exchange, &before, spec->text, &spec->request))
		return false;
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
	    with_variables(exchange, body, &spec, &command)) {
		spec.request.timeout_ms *= 1000;
		isolated->last_run_ms = clock_wall_ms();
		session_run(exchange, isolated->bash, &spec, command);
	}
	json_decref(body);
}
