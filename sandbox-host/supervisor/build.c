/* Policy, session, workspace and sandbox, in this order; it takes some
 * milliseconds, in which nobody is served. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/file.h"
#include "gateway/flow/messages.h"
#include "sandbox-host/agent/agent.h"
#include "sandbox-host/caller.h"
#include "sandbox-host/session/changes.h"
#include "sandbox-host/session/spec.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/ahead.h"
#include "sandbox-host/supervisor/output.h"
#include "sandbox-host/supervisor/parts.h"
#include "sandbox-host/tree.h"

#define ERRORS_MAX 4096

static int no_memory(struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "no memory");
}

/* ---- policy ---- */

static int find_policy(struct supervisor *supervisor, struct bytes *out,
		       struct err *err)
{
	const char *path = supervisor->options.default_policy;
	auto_type(buf_release) struct buf text;

	buf_init(&text, POLICY_TEXT_MAX + 1);
	*out = supervisor->request.policy;
	if (out->len > 0)
		return 0;
	if (!path) {
		*out = bytes_str(POLICY_DEFAULT_TEXT);
		return 0;
	}
	if (file_read_path(path, &text, err) < 0)
		return -1;
	*out = arena_copy(&supervisor->arena, buf_view(&text));
	return out->len == buf_len(&text) ? 0 : no_memory(err);
}

#define LACKING_TEXT                                                           \
	"what a session has is said by --repo and --branch, or in a "          \
	"request's "                                                           \
	"extensions by sallyport.repo and sallyport.branch\n"

/* Whoever asked may never have seen the policy, which may be host.yaml's. */
static bool lacks_values(const struct policy_variables *variables,
			 struct bytes report)
{
	return (variables->branch.len == 0 &&
		bytes_find_bytes(report, bytes_str("${session.branch}"), 0) >=
			0) ||
	       (variables->repo.len == 0 &&
		bytes_find_bytes(report, bytes_str("${session.repo}"), 0) >= 0);
}

static int load_policy(struct supervisor *supervisor, struct bytes *text,
		       struct err *err)
{
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = supervisor->request.branch,
		.repo = supervisor->request.repo,
	};
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "policy"};

	buf_init(&report, ERRORS_MAX);
	if (find_policy(supervisor, text, err) < 0)
		return -1;
	supervisor->policy = policy_compile(*text, &variables, &errors);
	if (supervisor->policy &&
	    (bounds_check(supervisor, err) < 0 ||
	     isolate_set_mode(supervisor->policy, &supervisor->request, err) <
		     0))
		return -1;
	if (supervisor->policy)
		return command_gate_open(&supervisor->gate,
					 supervisor->policy) < 0
			       ? no_memory(err)
			       : 0;
	return err_set(
		err, ERR_INVALID, "%.*s%s", BYTES_ARGS(buf_view(&report)),
		lacks_values(&variables, buf_view(&report)) ? LACKING_TEXT
							    : "");
}

/* ---- workspace ---- */

/* It is the sandbox's: it ends with it. */
static int make_workspace(struct supervisor *supervisor, struct err *err)
{
	const char *path = arena_format(&supervisor->arena, "%s/%s",
					supervisor->options.workspaces,
					supervisor->options.id);

	if (!path)
		return no_memory(err);
	/* One that was given files before we began is there already. */
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_system(err, "make the workspace %s", path);
	supervisor->owns_workspace = true;
	supervisor->workspace = path;
	return 0;
}

static int find_workspace(struct supervisor *supervisor, struct err *err)
{
	const char *given =
		arena_str(&supervisor->arena, supervisor->request.workspace);
	char path[PATH_MAX];
	struct stat info;

	if (!given)
		return no_memory(err);
	if (!given[0])
		return make_workspace(supervisor, err);
	if (!realpath(given, path) || stat(path, &info) < 0 ||
	    !S_ISDIR(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "workspace %s: there is no such directory",
			       given);
	supervisor->workspace = arena_str(&supervisor->arena, bytes_str(path));
	return supervisor->workspace ? 0 : no_memory(err);
}

static void settle_changes(struct supervisor *supervisor)
{
	char text[HOST_EVENT_MAX];
	size_t found;
	struct err err;

	if (changes_settle(supervisor->changes, &found, &err) < 0)
		(void)snprintf(text, sizeof(text), "its changes: %s", err.text);
	else
		(void)snprintf(text, sizeof(text), "%zu changes are kept",
			       found);
	events_add(supervisor, "filesystem", text);
}

void build_remove_workspace(struct supervisor *supervisor)
{
	if (supervisor->changes[0] && supervisor->request.is_isolated)
		changes_finish(supervisor);
	else if (supervisor->changes[0])
		settle_changes(supervisor);
	if (supervisor->owns_workspace)
		tree_remove(AT_FDCWD, supervisor->workspace);
	store_remove_layers(supervisor);
}

/* ---- session ---- */

/* Over a connection that then holds the session. */
static int create_session(struct supervisor *supervisor, struct client *client,
			  const struct session_request *wanted, struct err *err)
{
	uint64_t until_ms = clock_monotonic_ms() + GATEWAY_BUSY_MS;
	int result;

	do {
		if (client_open(client, err) < 0)
			return -1;
		result = gateway_ask_create(client, wanted, err);
		/* While control is at it. */
		sandbox_prepare(
			supervisor->policy->filesystem.hide.count ||
			supervisor->policy->filesystem.ignore_files.count);
		if (result == 0)
			result = gateway_take_created(
				client, &supervisor->session, err);
		if (result < 0)
			client_close(client);
	} while (result < 0 &&
		 gateway_wait_turn(&supervisor->session, until_ms));
	return result;
}

/* The client holds it, and is to be closed, until the attachment does: that is
 * asked for, and not waited for. */
static int make_session(struct supervisor *supervisor, struct bytes policy,
			struct client *client, struct err *err)
{
	const struct sandbox_request *request = &supervisor->request;
	const char *repo = arena_str(&supervisor->arena, request->repo);
	const char *branch = arena_str(&supervisor->arena, request->branch);
	const struct session_request wanted = {
		.policy = policy,
		.repo = request->repo.len ? repo : NULL,
		.branch = request->branch.len ? branch : NULL,
		.ttl_s = SESSION_TTL_S,
		.holds = true,
	};

	if (!repo || !branch)
		return no_memory(err);
	supervisor->wanted = wanted;
	supervisor->session_end_ms =
		clock_monotonic_ms() + SESSION_TTL_S * 1000ull;
	if (create_session(supervisor, client, &wanted, err) < 0)
		return -1;
	if (attachment_open_on(&supervisor->attachment, supervisor->loop, NULL,
			       NULL, err) == 0 &&
	    attachment_hold(&supervisor->attachment,
			    json_text(supervisor->session.json, "id"),
			    err) == 0)
		return 0;
	client_close(client);
	return -1;
}

/* ---- sandbox ---- */

/* Terminated copies, with room for one more, NULL behind the last. */
static const char **strings_of(struct arena *arena,
			       const struct text_item *items, size_t count)
{
	const char **list = arena_array(arena, count + 2, sizeof(*list));

	for (size_t i = 0; list && i < count; i++) {
		list[i] = arena_str(arena, items[i].text);
		if (!list[i])
			return NULL;
	}
	return list;
}

/* Programs want a home that they can write (npm's cache, git's settings). Over
 * the host's root one that is given none has its own /tmp for it; what an
 * image has is the image's to say. */
static const char *const *caller_of(struct arena *arena,
				    const struct sandbox_request *request)
{
	size_t count = request->caller_count;
	const char **list = strings_of(arena, request->caller, count);

	if (list && !request->home.len && !request->image.len &&
	    !request->snapshot.len)
		list[count] = "HOME=/tmp";
	return list;
}

/* The smaller of two, where 0 is none. */
static uint64_t narrower(uint64_t one, uint64_t other)
{
	if (one == 0 || other == 0)
		return one + other;
	return one < other ? one : other;
}

/* By the sandbox's id: `sandbox diff` finds them once it has ended. */
static int set_changes(struct supervisor *supervisor, struct err *err)
{
	enum policy_workspace_mode mode =
		supervisor->policy->filesystem.workspace_mode;

	if (mode != WORKSPACE_OVERLAY)
		return 0;
	if (supervisor->owns_workspace)
		return err_set(err, ERR_INVALID,
			       "an overlay needs a workspace that stays");
	return changes_path(supervisor->options.id, supervisor->changes, err);
}

static int make_spec(struct supervisor *supervisor, struct sandbox_spec *spec,
		     struct err *err)
{
	const struct sandbox_request *request = &supervisor->request;
	struct arena *arena = &supervisor->arena;
	const char *home = arena_str(arena, request->home);
	const char *policy_path = arena_str(arena, request->policy_path);
	struct session_spec from = {
		.policy = supervisor->policy,
		.policy_path = request->policy_path.len ? policy_path : NULL,
		.session = supervisor->session.json,
		.workspace = supervisor->workspace,
		.changes = supervisor->changes,
		.home = request->home.len ? home : NULL,
		.caller = caller_of(arena, request),
		.given = strings_of(arena, request->env, request->env_count),
		.given_count = request->env_count,
	};

	if (!home || !policy_path || !from.caller || !from.given)
		return no_memory(err);
	if (image_variables(supervisor, &from.image, &from.image_count, err) <
		    0 ||
	    set_changes(supervisor, err) < 0 ||
	    session_spec_make(&from, arena, spec, err) < 0)
		return -1;
	spec->limits.memory_bytes =
		narrower(spec->limits.memory_bytes, request->memory_bytes);
	spec->limits.processes =
		narrower(spec->limits.processes, request->processes);
	spec->limits.cpu_milli =
		narrower(spec->limits.cpu_milli, request->cpu_milli);
	if (store_spec(supervisor, spec, err) < 0 ||
	    image_spec(supervisor, spec, err) < 0)
		return -1;
	spec->is_service = true;
	spec->agent = agent_run;
	spec->uids = supervisor->options.uids;
	spec->on_event = events_on_event;
	spec->owner = supervisor;
	return 0;
}

/* Hand the listeners out, and wait until the gateway has them and holds the
 * session. Who connects to what is closed is refused, at once. */
static int give_listeners(struct supervisor *supervisor,
			  struct sandbox_listeners *listeners, struct err *err)
{
	struct attachment *attachment = &supervisor->attachment;

	if (supervisor->request.is_offline) {
		again_close_listeners(listeners);
		return attachment_wait(attachment, err);
	}
	return again_keep_listeners(supervisor, listeners, err) < 0
		       ? -1
		       : attachment_give(
				 attachment,
				 json_text(supervisor->session.json, "id"),
				 listeners, err);
}

/* What is settled when it ends: a workspace that we made, what was written
 * over an image or kept in an overlay, and where that goes. */
static int confine(const struct supervisor *supervisor, struct err *err)
{
	bool is_isolated = supervisor->request.is_isolated;
	bool owns = supervisor->owns_workspace;
	char dir[sizeof("/proc/self/fd/") + 10];
	const struct outside_place places[] = {
		{dir, OUTSIDE_WRITE},
		{owns || supervisor->changes[0] ? supervisor->workspace : "",
		 owns	       ? OUTSIDE_REMOVE
		 : is_isolated ? OUTSIDE_WRITE
			       : OUTSIDE_READ},
		{supervisor->changes, OUTSIDE_REMOVE},
		{supervisor->layers ? supervisor->layers : "", OUTSIDE_REMOVE},
	};

	(void)snprintf(dir, sizeof(dir), "/proc/self/fd/%d", supervisor->dir);
	return caller_confine(supervisor->sandbox, places, ARRAY_SIZE(places),
			      err);
}

static int make_sandbox(struct supervisor *supervisor, struct err *err)
{
	struct sandbox_listeners listeners;
	struct sandbox_spec spec;

	if (make_spec(supervisor, &spec, err) < 0)
		return -1;
	recorder_open(&supervisor->recorder,
		      json_text(supervisor->session.json, "id"));
	supervisor->sandbox = sandbox_start(&spec, err);
	if (!supervisor->sandbox)
		return -1;
	/* While it is built. */
	if (network_begin(supervisor, false, err) < 0 ||
	    confine(supervisor, err) < 0)
		return -1;
	output_prepare(supervisor);
	if (sandbox_ready(supervisor->sandbox, &listeners, err) < 0 ||
	    give_listeners(supervisor, &listeners, err) < 0)
		return -1;
	return service_begin(supervisor->sandbox, err);
}

int build(struct supervisor *supervisor, struct err *err)
{
	struct client holder;
	struct bytes policy;
	int result;

	if (load_policy(supervisor, &policy, err) < 0 ||
	    ahead_check(supervisor, err) < 0 ||
	    image_read(supervisor, err) < 0 ||
	    find_workspace(supervisor, err) < 0 ||
	    make_session(supervisor, policy, &holder, err) < 0)
		return -1;
	result = make_sandbox(supervisor, err);
	client_close(&holder);
	return result;
}
