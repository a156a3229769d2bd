#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/host.h"
#include "cli/mcp/tool.h"
#include "common/cleanup.h"
#include "common/utf8.h"

/* ---- planning ---- */

int call_add(struct call *call, const char *const *words, size_t count,
	     struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (job_add(&call->line, words[i]) < 0)
			return err_set(err, ERR_TOO_LARGE,
				       "there are too many arguments");
	return 0;
}

const char *call_text(const struct call *call, const char *name)
{
	return json_string_value(json_object_get(call->arguments, name));
}

int64_t call_number(const struct call *call, const char *name,
		    int64_t otherwise)
{
	const json_t *value = json_object_get(call->arguments, name);

	return value ? json_integer_value(value) : otherwise;
}

int call_add_env(struct call *call, struct err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(json_object_get(call->arguments, "env"), key, value)
	{
		const char *word = arena_format(&call->arena, "%s=%s", key,
						json_string_value(value));

		if (!word)
			return err_set(err, ERR_TOO_LARGE, "env is too large");
		if (CALL_ADD(call, err, "-e", word) < 0)
			return -1;
	}
	return 0;
}

const char *call_sandbox(const struct call *call, struct err *err)
{
	const struct server *server = call->server;
	const char *id = call_text(call, "sandbox");

	if (!id && server->sandbox_count == 1)
		return server->sandboxes[0];
	for (size_t i = 0; id && i < server->sandbox_count; i++)
		if (!strcmp(server->sandboxes[i], id))
			return server->sandboxes[i];
	if (id)
		(void)err_set(err, ERR_MISSING,
			      "there is no sandbox %.64s here: sandbox_list "
			      "shows those that are",
			      id);
	else if (server->sandbox_count == 0)
		(void)err_set(err, ERR_MISSING,
			      "there is no sandbox: call sandbox_create first");
	else
		(void)err_set(err, ERR_INVALID,
			      "there are several sandboxes: say which one");
	return NULL;
}

static int write_all(int fd, const char *content, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, content, len);

		if (done < 0 && errno != EINTR)
			return -1;
		if (done > 0) {
			content += done;
			len -= (size_t)done;
		}
	}
	return 0;
}

int call_new_file(struct call *call, const char *content, size_t len,
		  struct err *err)
{
	auto_fd int fd = -1;

	(void)snprintf(call->file, sizeof(call->file), "%s/%u",
		       call->server->directory, ++call->server->last_file);
	fd = open(call->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write_all(fd, content, len) < 0)
		return err_system(err, "write %s", call->file);
	return 0;
}

int call_run(struct call *call, job_fn *on_end, struct err *err)
{
	call->line.timeout_ms = TOOL_TIMEOUT_MS;
	if (CALL_ADD(call, err, call->server->config->program) < 0 ||
	    call->tool->plan(call, err) < 0)
		return -1;
	call->job = job_run(call->server->loop, &call->line, on_end, call, err);
	return call->job ? 0 : -1;
}

/* ---- what comes of it ---- */

#define TOO_LARGE                                                              \
	"the file is larger than 1 MiB: read a part of it with command_run"

static json_t *content(json_t *text, json_t *structured, bool is_error)
{
	json_t *result = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type",
				   "text", "text", text, "isError", is_error);

	if (structured)
		(void)json_object_set_new(result, "structuredContent",
					  structured);
	return result;
}

json_t *call_failure(const char *text)
{
	return content(json_string(text), NULL, true);
}

static json_t *command_result(const struct job_end *end)
{
	json_t *value = json_pack(
		"{s:i, s:o, s:o, s:b, s:b}", "exit_code", end->code, "stdout",
		host_text_json(end->out), "stderr", host_text_json(end->err),
		"truncated", end->is_cut, "timed_out", end->has_timed_out);
	auto_free char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;

	return text ? content(json_string(text), value, false) : NULL;
}

/* What the command said went wrong. */
static json_t *failure_of(const struct job_end *end)
{
	if (end->has_timed_out)
		return call_failure("it took too long");
	if (end->code == 128 + SIGXFSZ)
		return call_failure(TOO_LARGE);
	return content(host_text_json(end->err.len > 0 ? end->err : end->out),
		       NULL, true);
}

static json_t *json_result(struct call *call, const struct job_end *end)
{
	json_t *value = json_loadb((const char *)end->out.data, end->out.len,
				   JSON_REJECT_DUPLICATES, NULL);
	auto_free char *text = NULL;

	if (!json_is_object(value)) {
		json_decref(value);
		return failure_of(end);
	}
	if (call->tool->done)
		call->tool->done(call, value);
	text = json_dumps(value, JSON_INDENT(2));
	if (!text) {
		json_decref(value);
		return NULL;
	}
	return content(json_string(text), value, false);
}

static json_t *file_result(const struct call *call)
{
	auto_fd int fd = open(call->file,
			      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	auto_free char *text = malloc(TOOL_CONTENT_MAX + 1);
	ssize_t len = 0, got = 1;
	struct stat st;

	if (fd < 0 || !text || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return call_failure("this is no file");
	while (got > 0 && len <= TOOL_CONTENT_MAX) {
		got = read(fd, text + len,
			   (size_t)(TOOL_CONTENT_MAX + 1 - len));
		len += got > 0 ? got : 0;
	}
	if (got < 0 || len > TOOL_CONTENT_MAX)
		return call_failure(TOO_LARGE);
	if (utf8_valid_len(bytes_from(text, (size_t)len)) != (size_t)len)
		return call_failure("the file is no text");
	return content(json_stringn(text, (size_t)len), NULL, false);
}

json_t *call_result(struct call *call, const struct job_end *end)
{
	/* `policy test` says with 10 that it would be denied. */
	bool is_said = end->code == 0 || end->code == EXIT_WOULD_DENY;

	if (call->tool->output == TOOL_COMMAND)
		return command_result(end);
	if (!is_said || end->has_timed_out)
		return failure_of(end);
	switch (call->tool->output) {
	case TOOL_JSON:
		return json_result(call, end);
	case TOOL_FILE:
		return file_result(call);
	case TOOL_TEXT:
	case TOOL_COMMAND:
	default:
		return content(host_text_json(end->out), NULL, false);
	}
}
