/*
 * sallyport sandbox create: policy and directory are looked at here, where
 * their errors can be told; the rest is the service's.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "cli/policy_file.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/environment.h"

#define ENV_MAX	      256
#define TIMEOUT_MAX_S (10ull * 365 * 24 * 3600)
#define ARENA_MAX     (8 * 1024 * 1024)
#define NEW_WORKSPACE "-"
#define COUNT_MAX     100
#define TURN_MS	      100

const char cmd_sandbox_create_help[] =
	"Usage: sallyport sandbox create [--policy FILE] [--repo URL "
	"--branch BRANCH]\n"
	"                                [--workspace DIR|-] [--timeout TIME]\n"
	"                                [--name NAME] [--metadata K=V]... "
	"[-e NAME=VALUE]...\n"
	"                                [--image NAME] [--snapshot ID]\n"
	"                                [--volume SOURCE:TARGET[:ro]]... "
	"[--count N] [--bare]\n"
	"                                [-o json|yaml] [-- COMMAND "
	"[ARGUMENT]...]\n"
	"\n"
	"Make a sandbox of the service (sallyport-host) and print its id, "
	"once it\n"
	"runs. With COMMAND it ends with that, and `sandbox logs` shows what "
	"that\n"
	"wrote; without, it runs until it is ended.\n"
	"\n"
	"  --policy FILE        what may be done in it (default: the host's, "
	"or no\n"
	"                       network)\n"
	"  --workspace DIR      instead of the policy's, or this directory; "
	"-: a new\n"
	"                       one, which ends with the sandbox\n"
	"  --timeout TIME       it ends by itself then: seconds, or like 10m, "
	"2h\n"
	"                       (default: never)\n"
	"  --name NAME          shown by `list`\n"
	"  --metadata K=V       kept with it\n"
	"  -e NAME=VALUE        set a variable inside\n"
	"  --image NAME         the root inside is this image of host.yaml, "
	"not the host's\n"
	"  --snapshot ID        begin with the files of a snapshot\n"
	"  --volume SOURCE:TARGET[:ro]\n"
	"                       a directory of the host's inside, below a "
	"root that\n"
	"                       host.yaml allows\n"
	"  --count N            so many at once (1 to 100), an id or an error "
	"for each;\n"
	"                       of -o json and yaml one list of those that "
	"were "
	"made\n"
	"  --bare               nothing of ours passes: no home, no "
	"variables; one of a\n"
	"                       pool is taken when all else is as in "
	"host.yaml\n"
	"\n"
	"Examples:\n"
	"  sallyport sandbox create --policy agent.yaml --timeout 1h\n"
	"  sallyport sandbox create --workspace - -- python3 -m http.server "
	"8000\n";

struct wanted {
	const char *policy;
	const char *workspace;
	struct sandbox_request request;
	struct text_item env[ENV_MAX];
	struct text_pair metadata[REQUEST_METADATA_MAX];
	struct volume_request volumes[REQUEST_VOLUMES_MAX];
	unsigned count; /* of sandboxes; 0: one, and no list of one */
	bool is_bare;	/* nothing of ours passes */
	struct arena arena;
	struct buf policy_text;
	struct policy *compiled;
};

/* ---- options ---- */

static int add_env(struct wanted *wanted, const char *text)
{
	struct sandbox_request *request = &wanted->request;

	if (request->env_count == ENV_MAX || text[0] == '=' ||
	    !strchr(text, '='))
		return -1;
	wanted->env[request->env_count++].text = bytes_str(text);
	return 0;
}

static int add_metadata(struct wanted *wanted, const char *text)
{
	struct sandbox_request *request = &wanted->request;
	struct bytes value = bytes_str(text);
	struct bytes name;

	if (request->metadata_count == REQUEST_METADATA_MAX ||
	    !bytes_split(&value, '=', &name) || name.len == 0)
		return -1;
	wanted->metadata[request->metadata_count++] =
		(struct text_pair){name, value};
	return 0;
}

/* SOURCE:TARGET[:ro] */
static int add_volume(struct wanted *wanted, const char *text)
{
	struct sandbox_request *request = &wanted->request;
	struct volume_request volume = {.target = bytes_str(text)};

	if (request->volumes_count == REQUEST_VOLUMES_MAX ||
	    !bytes_split(&volume.target, ':', &volume.source))
		return -1;
	if (bytes_ends_with(volume.target, bytes_str(":ro"))) {
		volume.is_read_only = true;
		volume.target =
			bytes_slice(volume.target, 0, volume.target.len - 3);
	}
	wanted->volumes[request->volumes_count++] = volume;
	return 0;
}

static int set_count(struct wanted *wanted, const char *text)
{
	uint64_t count;

	if (bytes_to_u64(bytes_str(text), 3, &count) < 0 || count == 0 ||
	    count > COUNT_MAX)
		return -1;
	wanted->count = (unsigned)count;
	return 0;
}

static int set_timeout(struct wanted *wanted)
{
	uint64_t seconds;

	if (arguments_seconds("--timeout",
			      (struct time_range){1, TIMEOUT_MAX_S},
			      &seconds) < 0)
		return -1;
	wanted->request.expires_ms = clock_wall_ms() + seconds * 1000;
	return 0;
}

static int set_option(struct wanted *wanted, int option)
{
	switch (option) {
	case 'p':
		wanted->policy = optarg;
		return 0;
	case 'r':
		wanted->request.repo = bytes_str(optarg);
		return 0;
	case 'b':
		wanted->request.branch = bytes_str(optarg);
		return 0;
	case 'w':
		wanted->workspace = optarg;
		return 0;
	case 'n':
		wanted->request.name = bytes_str(optarg);
		return wanted->request.name.len <= REQUEST_NAME_MAX ? 0 : -1;
	case 't':
		return set_timeout(wanted);
	case 'm':
		return add_metadata(wanted, optarg);
	case 'e':
		return add_env(wanted, optarg);
	case 'i':
		wanted->request.image = bytes_str(optarg);
		return 0;
	case 's':
		wanted->request.snapshot = bytes_str(optarg);
		return 0;
	case 'v':
		return add_volume(wanted, optarg);
	case 'c':
		return set_count(wanted, optarg);
	case 'B':
		wanted->is_bare = true;
		return 0;
	default:
		return -1;
	}
}

static int parse(struct cli *cli, struct wanted *wanted)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"workspace", required_argument, NULL, 'w'},
		{"name", required_argument, NULL, 'n'},
		{"timeout", required_argument, NULL, 't'},
		{"metadata", required_argument, NULL, 'm'},
		{"image", required_argument, NULL, 'i'},
		{"snapshot", required_argument, NULL, 's'},
		{"volume", required_argument, NULL, 'v'},
		{"count", required_argument, NULL, 'c'},
		{"bare", no_argument, NULL, 'B'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "+e:", table,
				     NULL)) != -1)
		if (set_option(wanted, option) < 0)
			return -1;
	return 0;
}

/* ---- what the service is told ---- */

static int load_policy(struct wanted *wanted, struct err *err)
{
	const struct policy_variables variables = {
		.session_id = bytes_str("s-new"),
		.branch = wanted->request.branch,
		.repo = wanted->request.repo,
	};
	char path[PATH_MAX];

	buf_init(&wanted->policy_text, POLICY_TEXT_MAX + 1);
	if (!wanted->policy)
		return 0;
	wanted->compiled = policy_file_read(wanted->policy, &variables,
					    &wanted->policy_text);
	if (!wanted->compiled)
		return err_set(err, ERR_INVALID, "no policy, no sandbox");
	wanted->request.policy = buf_view(&wanted->policy_text);
	if (!wanted->is_bare && realpath(wanted->policy, path))
		wanted->request.policy_path =
			arena_copy(&wanted->arena, bytes_str(path));
	return 0;
}

/* As for `run`; "-": a new one, which ends with the sandbox. */
static int find_workspace(struct wanted *wanted, struct err *err)
{
	const char *given = wanted->workspace;
	char path[PATH_MAX];
	struct stat info;

	if (given && !strcmp(given, NEW_WORKSPACE))
		return 0;
	if (!given && wanted->compiled &&
	    wanted->compiled->filesystem.workspace.len)
		given = arena_str(&wanted->arena,
				  wanted->compiled->filesystem.workspace);
	if (!given)
		given = ".";
	if (!realpath(given, path) || stat(path, &info) < 0 ||
	    !S_ISDIR(info.st_mode))
		return err_set(err, ERR_INVALID,
			       "workspace %s: there is no such directory",
			       given);
	wanted->request.workspace = arena_copy(&wanted->arena, bytes_str(path));
	return 0;
}

static bool is_passed(const struct policy *policy, const char *name)
{
	const struct policy_strings *pass =
		policy ? &policy->environment.pass : NULL;

	for (size_t i = 0; pass && i < pass->count; i++)
		if (bytes_is(pass->items[i], name))
			return true;
	return environment_is_kept(name);
}

/* Of our own variables only those that may get in leave this process. */
static void add_caller(struct wanted *wanted)
{
	struct text_item *items =
		arena_array(&wanted->arena, REQUEST_ENV_MAX, sizeof(*items));
	size_t count = 0;

	for (char **at = environ; items && *at && count < REQUEST_ENV_MAX;
	     at++) {
		char *name = arena_str(&wanted->arena,
				       bytes_from(*at, strcspn(*at, "=")));

		if (name && name[0] && is_passed(wanted->compiled, name))
			items[count++].text = bytes_str(*at);
	}
	wanted->request.caller = items;
	wanted->request.caller_count = count;
}

static void add_entrypoint(struct wanted *wanted, char **words)
{
	struct text_item *items =
		arena_array(&wanted->arena, REQUEST_ARGS_MAX, sizeof(*items));
	size_t count = 0;

	while (items && words[count] && count < REQUEST_ARGS_MAX) {
		items[count].text = bytes_str(words[count]);
		count++;
	}
	wanted->request.entrypoint = items;
	wanted->request.entrypoint_count = count;
}

static int seal(struct wanted *wanted, char **words, struct err *err)
{
	const char *home = getenv("HOME");

	arena_init(&wanted->arena, ARENA_MAX);
	if (load_policy(wanted, err) < 0 || find_workspace(wanted, err) < 0)
		return -1;
	if (!wanted->is_bare && home && home[0] == '/')
		wanted->request.home = bytes_str(home);
	wanted->request.env = wanted->env;
	wanted->request.metadata = wanted->metadata;
	wanted->request.volumes = wanted->volumes;
	if (!wanted->is_bare)
		add_caller(wanted);
	add_entrypoint(wanted, words);
	return sandbox_request_seal(&wanted->request, err);
}

/* ---- one answer for each ---- */

struct batch {
	struct cli *cli;
	json_t *list; /* of those that were made; NULL: each is printed */
	unsigned left;
	int code;
};

static void id_table(const json_t *value)
{
	(void)puts(json_text(value, "id"));
}

static void on_created(struct rpc_outcome *outcome, void *owner)
{
	struct batch *batch = owner;
	json_t *value = NULL;
	int code = EXIT_OK;

	batch->left--;
	if (outcome->refusal || outcome->err) {
		code = host_outcome_code(outcome);
	} else {
		value = host_sandbox_json(outcome->message);
		if (batch->list)
			(void)json_array_append(batch->list, value);
		else
			code = cli_print(batch->cli, value, id_table);
		(void)cli_flush();
	}
	json_decref(value);
	if (batch->code == EXIT_OK)
		batch->code = code;
}

/* Ids as they come; a list once it is whole, also when some were not made. */
static int end_batch(struct batch *batch)
{
	int code = EXIT_OK;

	if (batch->list)
		code = cli_print(batch->cli, batch->list, NULL);
	json_decref(batch->list);
	return batch->code == EXIT_OK ? code : batch->code;
}

static int ask(struct cli *cli, unsigned count, int request)
{
	const struct wire_empty empty = {0};
	struct batch batch = {
		.cli = cli,
		.list = cli->json && count > 0 ? json_array() : NULL,
	};
	const struct rpc_call call = {
		.type = MSG_HOST_CREATE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = request,
		.reply_schema = &host_sandbox_schema,
		.timeout_ms = HOST_TIMEOUT_MS,
		.on_outcome = on_created,
		.owner = &batch,
	};
	struct host host;
	struct err err;
	int result = host_open(&host, &err);

	if (count == 0)
		count = 1;
	while (result == 0 && batch.left < count) {
		result = rpc_ask(host.rpc, &call, NULL, &err);
		batch.left += result == 0;
	}
	while (result == 0 && batch.left > 0)
		result = io_loop_turn(host.loop, TURN_MS, &err);
	if (result < 0)
		batch.code = cli_fail_err(&err);
	host_close(&host);
	return end_batch(&batch);
}

int cmd_sandbox_create(struct cli *cli)
{
	auto_free struct wanted *wanted = calloc(1, sizeof(*wanted));
	auto_fd int request = -1;
	struct err err;
	int code;

	if (!wanted)
		return cli_fail(EXIT_FAILED, "no memory");
	if (parse(cli, wanted) < 0)
		return cli_usage(cli);
	request = seal(wanted, cli->argv + optind, &err);
	code = request < 0 ? cli_fail_err(&err)
			   : ask(cli, wanted->count, request);
	policy_free(wanted->compiled);
	buf_release(&wanted->policy_text);
	arena_release(&wanted->arena);
	return code;
}
