/*
 * A bash that keeps its directory, variables, functions, aliases and options
 * from run to run. Each run is a process of its own, so that it
 * can be ended without the session: it begins with the state of the last one
 * as an argument, and says its own at its end over descriptor 0.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "sandbox-host/api/execd_session.h"

#define SESSION_ARGS_MAX 8
#define STATE_ARG_MAX	 (REQUEST_ARG_MAX - 1)
/* It was all there: a run may be killed while it says its state. */
#define STATE_END "#sallyport-end\n"

/* Names of ours begin with __sallyport_. The options of the shell come with
 * the command, so that what they do (set -x, set -u) is done to nothing else. A
 * trap on EXIT that the command sets is not called where the command goes to
 * its end: the shell would go on. What the state goes to is closed to the
 * programs that the command runs: the shell puts 47, which no other part of it
 * uses, aside meanwhile, at the first free number from 10 on, where it still is
 * after an exit in a function. */
static const char wrapper[] =
	"exec 47>&0 </dev/null\n"
	"__sallyport_out=10\n"
	"while [ -e \"/dev/fd/$__sallyport_out\" ]; do "
	"((__sallyport_out++)); done\n"
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
	"	[ -e /dev/fd/47 ] || exec 47>&\"$__sallyport_out\"\n"
	"	__sallyport_say >&47\n"
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
	"eval \"$__sallyport_options\n$__sallyport_command\" 47>&-\n"
	"{ __sallyport_leave; } 2>/dev/null\n";

struct session {
	struct bytes cwd; /* of the first run; allocated */
	struct buf state;
	struct buf report;	  /* of the run that goes on */
	bool is_too_much;	  /* more was reported than a state may be */
	session_over_fn *on_over; /* of the run */
	void *owner;
};

/* ---- begin and end ---- */

void session_close(struct session *session)
{
	free((void *)(uintptr_t)session->cwd.data);
	buf_release(&session->state);
	buf_release(&session->report);
	free(session);
}

struct session *session_open(void)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	buf_init(&session->state, SESSION_STATE_MAX);
	buf_init(&session->report, SESSION_STATE_MAX);
	return session;
}

int session_set(struct session *session, struct bytes cwd, struct bytes state)
{
	session->cwd = bytes_str(cwd.len > 0 ? bytes_dup(cwd) : NULL);
	return (cwd.len > 0 && !session->cwd.data) ||
			       buf_add(&session->state, state) < 0
		       ? -1
		       : 0;
}

/* ---- a run ---- */

static void on_report(struct buf *report, void *owner)
{
	struct session *session = owner;

	if (buf_add(&session->report, buf_view(report)) < 0)
		session->is_too_much = true;
	buf_clear(report);
}

/* What was reported whole is the state from now on. */
static bool take_state(struct session *session)
{
	struct bytes report = buf_view(&session->report);
	bool is_whole = !session->is_too_much &&
			bytes_ends_with(report, bytes_str(STATE_END));

	if (is_whole) {
		buf_clear(&session->state);
		is_whole = buf_add(&session->state, report) == 0;
	}
	buf_clear(&session->report);
	session->is_too_much = false;
	return is_whole;
}

static void on_over(void *owner)
{
	struct session *session = owner;
	bool is_new = take_state(session);

	session->on_over(is_new ? buf_view(&session->state) : (struct bytes){0},
			 session->owner);
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
		 const struct session_call *call)
{
	struct run_spec spec = call->run;
	struct bytes judged;

	if (spec.request.cwd.len == 0 && buf_len(&session->state) == 0)
		spec.request.cwd = session->cwd;
	judged = from_where(exchange, session, spec.request.cwd, call->judged);
	if (judged.len == 0) {
		exchange_fail_memory(exchange);
		return;
	}
	if (!execd_shell(exchange, judged, &spec.request))
		return;
	if (!wrap(exchange, session, &spec, call->command)) {
		exchange_fail_memory(exchange);
		return;
	}
	session->on_over = call->on_over;
	session->owner = call->owner;
	spec.input = EXEC_REPORT;
	spec.on_report = on_report;
	spec.on_over = on_over;
	spec.owner = session;
	/* From here on it is the run's, which says when it is over. */
	exchange->task = NULL;
	exchange->on_end = NULL;
	run_begin(exchange, &spec);
}
