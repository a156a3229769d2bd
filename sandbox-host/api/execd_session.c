/*
 * /session: a bash that keeps its directory, variables, functions, aliases
 * and options from run to run. Each run is a process of its own, so that it
 * can be ended without the session: it begins with the state of the last one
 * as an argument, and says its own at its end over descriptor 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/api/execd_session.h"
#include "sandbox-host/api/share.h"

#define SESSIONS_MAX	     256 /* of all sandboxes */
#define SESSIONS_SANDBOX_MAX 32
#define SESSION_IDLE_MS	     (30ull * 60 * 1000)
#define SESSION_STATE_MAX    (512 * 1024)
#define SESSION_ARGS_MAX     8
#define STATE_ARG_MAX	     (REQUEST_ARG_MAX - 1)
/* It was all there: a run may be killed while it says its state. */
#define STATE_END "#sallyport-end\n"

/* Names of ours begin with __sallyport_. The options of the shell come with
 * the command, so that what they do (set -x, set -u) is done to nothing else. A
 * trap on EXIT that the command sets is not called where the command goes to
 * its end: the shell would go on. */
static const char wrapper[] =
	"exec {__sallyport_out}>&0 </dev/null\n"
	"__sallyport_command=$1 __sallyport_cwd=$2 __sallyport_options=\n"
	"shift 2\n"
	"__sallyport_say() {\n"
	"	local IFS=$' \\t\\n' __sallyport_name\n"
	"	unset -f __sallyport_say __sallyport_leave\n"
	"	printf 'cd -- %q\\n' \"$PWD\"\n"
	"	shopt -p\n"
	"	declare -f\n"
	"	declare -Fx\n"
	"	alias -p\n"
	"	for __sallyport_name in $(compgen -v); do\n"
	"		case $__sallyport_name in\n"
	"		"
	"BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|"
	"IFS|LINENO|OPTIND|PIPESTATUS|PPID|PWD|RANDOM|SECONDS|SHELLOPTS|"
	"SRANDOM|UID|_|__sallyport_*) ;;\n"
	"		*) declare -p \"$__sallyport_name\" ;;\n"
	"		esac\n"
	"	done\n"
	"	printf 'IFS=%q\\n' \"$__sallyport_ifs\"\n"
	"	printf '__sallyport_options=%q\\n' \"$__sallyport_options\"\n"
	"	echo '#sallyport-end'\n"
	"}\n"
	"__sallyport_leave() {\n"
	"	__sallyport_code=$? __sallyport_ifs=$IFS "
	"__sallyport_options=$SHELLOPTS\n"
	"	trap - EXIT\n"
	"	set +eux\n"
	"	IFS=:\n"
	"	printf -v __sallyport_options 'set -o %s\\n' "
	"$__sallyport_options\n"
	"	__sallyport_say >&\"$__sallyport_out\"\n"
	"	exit \"$__sallyport_code\"\n"
	"}\n"
	"IFS= __sallyport_state=\n"
	"__sallyport_state=\"$*\"\n"
	"IFS=$' \\t\\n'\n"
	"set --\n"
	"trap '{ __sallyport_leave; } 2>/dev/null' EXIT\n"
	"if [ -n \"$__sallyport_state\" ]; then\n"
	"	unset $(compgen -e)\n"
	"	eval \"$__sallyport_state\"\n"
	"	__sallyport_options=$'set +Bh\\n'$__sallyport_options\n"
	"fi 2>/dev/null\n"
	"unset __sallyport_state\n"
	"if [ -n \"$__sallyport_cwd\" ]; then\n"
	"	cd -- \"$__sallyport_cwd\" || exit\n"
	"fi\n"
	"eval \"$__sallyport_options\n$__sallyport_command\"\n"
	"{ __sallyport_leave; } 2>/dev/null\n";

struct session {
	struct execd *execd;
	char id[COMMAND_ID_MAX + 1];
	char sandbox[HOST_ID_MAX + 1];
	struct bytes cwd; /* of the first run; allocated */
	struct buf state;
	struct buf report; /* of the run that goes on */
	bool is_too_much;  /* more was reported than a state may be */
	bool is_running;
	bool is_owned;	  /* by an isolated session, which ends it */
	bool is_deleted;  /* freed when its run is over */
	uint64_t used_ms; /* monotonic */
	struct session *next, *prev;
};

/* ---- those that are there ---- */

static void free_session(struct session *session)
{
	DL_DELETE(session->execd->sessions, session);
	session->execd->session_count--;
	free((void *)(uintptr_t)session->cwd.data);
	buf_release(&session->state);
	buf_release(&session->report);
	free(session);
}

/* NULL: answered. */
static struct session *find(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct session *session;

	if (!execd)
		return NULL;
	DL_FOREACH(execd->sessions, session)
	if (!session->is_deleted && !session->is_owned &&
	    bytes_is(exchange->sandbox, session->sandbox) &&
	    bytes_is(exchange->pieces[0], session->id))
		return session;
	exchange_fail(exchange, 404, "CONTEXT_NOT_FOUND",
		      "there is no such session");
	return NULL;
}

void session_sweep(struct execd *execd, uint64_t now_ms)
{
	struct session *session, *next;

	DL_FOREACH_SAFE(execd->sessions, session, next)
	if (!session->is_running && !session->is_owned &&
	    session->used_ms + SESSION_IDLE_MS <= now_ms)
		free_session(session);
}

/* ---- POST /session ---- */

static bool has_room(struct exchange *exchange, const struct execd *execd)
{
	const struct session *session;
	size_t count = 0;

	DL_FOREACH(execd->sessions, session)
	count += bytes_is(exchange->sandbox, session->sandbox);
	if (share_allows(count, SESSIONS_SANDBOX_MAX, execd->session_count,
			 SESSIONS_MAX))
		return true;
	exchange_fail(exchange, 429, "RUNTIME_ERROR",
		      "a sandbox may have %d sessions, and no more "
		      "than are left for all others, of %d",
		      SESSIONS_SANDBOX_MAX, SESSIONS_MAX);
	return false;
}

static struct session *add(struct execd *execd, struct bytes sandbox,
			   struct bytes cwd)
{
	struct session *session = calloc(1, sizeof(*session));
	char random[27];

	if (!session)
		return NULL;
	random_id(random);
	session->execd = execd;
	session->used_ms = clock_monotonic_ms();
	session->cwd = bytes_str(cwd.len > 0 ? bytes_dup(cwd) : NULL);
	buf_init(&session->state, SESSION_STATE_MAX);
	buf_init(&session->report, SESSION_STATE_MAX);
	(void)snprintf(session->id, sizeof(session->id), "bash-%s", random);
	(void)snprintf(session->sandbox, sizeof(session->sandbox), "%.*s",
		       BYTES_ARGS(sandbox));
	DL_APPEND(execd->sessions, session);
	execd->session_count++;
	return session;
}

static void post_session(struct exchange *exchange)
{
	struct execd *execd = execd_of(exchange);
	struct session *session = NULL;
	struct bytes cwd = {0};
	json_t *body;

	if (!execd || !has_room(exchange, execd) ||
	    !execd_body(exchange, false, &body))
		return;
	if (!body || execd_cwd(exchange, body, &cwd)) {
		session = add(execd, exchange->sandbox, cwd);
		if (!session)
			exchange_fail_memory(exchange);
	}
	json_decref(body);
	if (session)
		exchange_reply_json(
			exchange, 200,
			json_pack("{s:s}", "session_id", session->id));
}

/* ---- POST /session/{id}/run ---- */

static void on_report(struct buf *report, void *owner)
{
	struct session *session = owner;

	if (buf_add(&session->report, buf_view(report)) < 0)
		session->is_too_much = true;
	buf_clear(report);
}

static void on_over(void *owner)
{
	struct session *session = owner;
	struct bytes report = buf_view(&session->report);

	session->is_running = false;
	session->used_ms = clock_monotonic_ms();
	if (session->is_deleted) {
		free_session(session);
		return;
	}
	if (!session->is_too_much &&
	    bytes_ends_with(report, bytes_str(STATE_END))) {
		buf_clear(&session->state);
		(void)buf_add(&session->state, report);
	}
	buf_clear(&session->report);
	session->is_too_much = false;
}

int bash_quote(struct bytes text, struct buf *out)
{
	if (buf_add_byte(out, '\'') < 0)
		return -1;
	for (size_t i = 0; i < text.len; i++)
		if ((text.data[i] == '\''
			     ? buf_add_str(out, "'\\''")
			     : buf_add_byte(out, text.data[i])) < 0)
			return -1;
	return buf_add_byte(out, '\'');
}

/* bash -c WRAPPER bash COMMAND CWD STATE... False: no memory. */
static bool wrap(struct exchange *exchange, const struct session *session,
		 struct run_spec *spec, struct bytes command)
{
	struct bytes state = buf_view(&session->state);
	struct text_item *argv = arena_array(
		exchange->arena, 6 + SESSION_ARGS_MAX, sizeof(*argv));
	size_t count = 0;

	if (!argv)
		return false;
	argv[count++].text = bytes_str("bash");
	argv[count++].text = bytes_str("-c");
	argv[count++].text = bytes_str(wrapper);
	argv[count++].text = bytes_str("bash");
	argv[count++].text = command;
	/* The wrapper goes there, after the state's own directory. */
	argv[count++].text = spec->request.cwd;
	spec->request.cwd = (struct bytes){0};
	while (state.len > 0) {
		struct bytes part = bytes_slice(state, 0, STATE_ARG_MAX);
		const char *copy = arena_str(exchange->arena, part);

		if (!copy)
			return false;
		argv[count++].text = bytes_str(copy);
		state = bytes_slice(state, part.len, state.len);
	}
	spec->request.judged = spec->request.argv;
	spec->request.judged_count = spec->request.argv_count;
	spec->request.argv = argv;
	spec->request.argv_count = count;
	return true;
}

/* cd -- DIRECTORY; TEXT: what a run does depends on where it begins. Empty: no
 * memory. */
static struct bytes from_where(struct exchange *exchange,
			       const struct session *session, struct bytes cwd,
			       struct bytes text)
{
	static const struct bytes word = BYTES_LITERAL("cd -- ");
	struct bytes rest = buf_view(&session->state), where;
	auto_type(buf_release) struct buf out;

	buf_init(&out, word.len + 4 * (cwd.len + text.len + rest.len) + 8);
	(void)bytes_split(&rest, '\n', &where);
	if (cwd.len > 0) {
		if (buf_add(&out, word) < 0 || bash_quote(cwd, &out) < 0 ||
		    buf_add_str(&out, "; ") < 0)
			return (struct bytes){0};
	} else if (bytes_starts_with(where, word)) {
		if (buf_add(&out, where) < 0 || buf_add_str(&out, "; ") < 0)
			return (struct bytes){0};
	}
	if (buf_add(&out, text) < 0)
		return (struct bytes){0};
	return bytes_str(arena_str(exchange->arena, buf_view(&out)));
}

void session_run(struct exchange *exchange, struct session *session,
		 struct run_spec *spec, struct bytes command,
		 struct bytes judged)
{
	if (session->is_running) {
		exchange_fail(exchange, 409, "RUNTIME_ERROR",
			      "a command runs in this session already");
		return;
	}
	if (spec->request.cwd.len == 0 && buf_len(&session->state) == 0)
		spec->request.cwd = session->cwd;
	judged = from_where(exchange, session, spec->request.cwd, judged);
	if (judged.len == 0) {
		exchange_fail_memory(exchange);
		return;
	}
	if (!execd_shell(exchange, judged, &spec->request))
		return;
	if (!wrap(exchange, session, spec, command)) {
		exchange_fail_memory(exchange);
		return;
	}
	spec->input = EXEC_REPORT;
	spec->on_report = on_report;
	spec->on_over = on_over;
	spec->owner = session;
	session->is_running = true;
	session->used_ms = clock_monotonic_ms();
	run_begin(exchange, spec);
}

static void post_run(struct exchange *exchange)
{
	struct session *session = find(exchange);
	struct run_spec spec = {0};
	json_t *body;

	if (!session || !execd_body(exchange, true, &body))
		return;
	if (execd_text(exchange, body, "command", true, &spec.text) &&
	    execd_cwd(exchange, body, &spec.request.cwd) &&
	    execd_number(exchange, body, "timeout", EXECD_TIMEOUT_MAX,
			 &spec.request.timeout_ms))
		session_run(exchange, session, &spec, spec.text, spec.text);
	json_decref(body);
}

void session_close(struct session *session)
{
	if (session->is_running)
		session->is_deleted = true;
	else
		free_session(session);
}

static void delete_session(struct exchange *exchange)
{
	struct session *session = find(exchange);

	if (!session)
		return;
	session_close(session);
	exchange_reply_empty(exchange, 200);
}

/* ---- for an isolated session ---- */

struct session *session_open(struct execd *execd, struct bytes sandbox)
{
	struct session *session = add(execd, sandbox, (struct bytes){0});

	if (session)
		session->is_owned = true;
	return session;
}

bool session_is_running(const struct session *session)
{
	return session->is_running;
}

uint64_t session_used_ms(const struct session *session)
{
	return session->used_ms;
}

const struct route execd_session_routes[] = {
	{"POST", "/session", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_session},
	{"POST", "/session/{}/run", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 post_run},
	{"DELETE", "/session/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE, delete_session},
	{0},
};
