/* What runs in an isolated session: its bash reads the text. */
#include <ctype.h>
#include <string.h>

#include "common/cleanup.h"
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

static int add_variable(struct buf *out, const char *name, const char *text)
{
	return buf_add_str(out, name) < 0 || buf_add_byte(out, '=') < 0
		       ? -1
		       : bash_quote(bytes_str(text), out);
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
		      struct bytes code, struct bytes *judged)
{
	if (buf_add(before, code) < 0)
		return isolated_refuse(exchange, "code and envs are too long");
	*judged = bytes_str(arena_str(exchange->arena, buf_view(before)));
	if (judged->len == 0)
		exchange_fail_memory(exchange);
	return judged->len > 0;
}

/* A=1 B=2 eval CODE: they are there for this run alone. */
static bool with_variables(struct exchange *exchange, const json_t *body,
			   struct bytes code, struct bytes *command,
			   struct bytes *judged)
{
	json_t *values = json_object_get(body, "envs");
	auto_type(buf_release) struct buf out, before;

	buf_init(&out, REQUEST_ARG_MAX - 1);
	buf_init(&before, REQUEST_ARG_MAX - 1);
	*command = *judged = code;
	if (!values || json_is_null(values) || json_object_size(values) == 0)
		return !values || json_is_null(values) ||
		       json_is_object(values) ||
		       isolated_refuse(exchange, "envs must be an object");
	if (!add_variables(exchange, values, &out, &before))
		return false;
	if (buf_add_str(&out, "eval ") < 0 || bash_quote(code, &out) < 0)
		return isolated_refuse(exchange, "code and envs are too long");
	if (!judge_too(exchange, &before, code, judged))
		return false;
	*command = bytes_str(arena_str(exchange->arena, buf_view(&out)));
	if (command->len == 0)
		exchange_fail_memory(exchange);
	return command->len > 0;
}

void isolated_run(struct exchange *exchange)
{
	struct isolated *isolated = isolated_enter(exchange);
	struct session_call call = {0};
	struct run_spec *spec = &call.run;
	json_t *body;
	bool is_good;

	if (!isolated || !execd_body(exchange, true, &body))
		return;
	is_good = execd_text(exchange, body, "code", true, &spec->text) &&
		  execd_number(exchange, body, "timeout_seconds",
			       EXECD_TIMEOUT_MAX / 1000,
			       &spec->request.timeout_ms) &&
		  with_variables(exchange, body, spec->text, &call.command,
				 &call.judged);
	json_decref(body);
	if (!is_good)
		return;
	spec->request.timeout_ms *= 1000;
	shell_run_own(exchange, &call);
}
