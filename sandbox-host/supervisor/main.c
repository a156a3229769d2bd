/*
 * sallyport-supervisor: started by sallyport-host, with the descriptors of
 * sandbox-host/flow/files.h.
 */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "sandbox-host/agent/agent.h"
#include "sandbox-host/capabilities.h"
#include "sandbox-host/early.h"
#include "sandbox-host/flow/birth.h"
#include "sandbox-host/outside.h"
#include "sandbox-host/supervisor/parts.h"

#define ARENA_MAX      (64 * 1024 * 1024)
#define LISTEN_BACKLOG 8
#define MOUNTS_REST_MS 1000
#define LAST_TURNS     10
#define LAST_TURN_MS   20

static int parse_uids(const char *text, struct sandbox_uids *uids)
{
	unsigned first, last;
	char end;

	if (sscanf(text, "%u-%u%c", &first, &last, &end) != 2 || last < first)
		return -1;
	*uids = (struct sandbox_uids){first, last - first + 1};
	return 0;
}

static void add_root(struct supervisor_options *options, bool is_private)
{
	const char **roots = is_private ? options->private : options->volumes;
	size_t *count =
		is_private ? &options->private_count : &options->volume_count;

	if (*count < SUPERVISOR_ROOTS_MAX)
		roots[(*count)++] = optarg;
}

static int parse(int argc, char **argv, struct supervisor_options *options,
		 struct early_wish *wish)
{
	static const struct option table[] = {
		{"id", required_argument, NULL, 'i'},
		{"workspaces", required_argument, NULL, 'w'},
		{"default-policy", required_argument, NULL, 'p'},
		{"uids", required_argument, NULL, 'u'},
		{"volumes", required_argument, NULL, 'v'},
		{"private", required_argument, NULL, 'P'},
		{"secret", required_argument, NULL, 's'},
		{"base", required_argument, NULL, 'b'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (option == 'i')
			options->id = optarg;
		else if (option == 'w')
			options->workspaces = optarg;
		else if (option == 'p')
			options->default_policy = optarg;
		else if (option == 's')
			options->secret = optarg;
		else if (option == 'b')
			wish->has_base = base_parse(optarg, &wish->base) == 0;
		else if (option == 'v' || option == 'P')
			add_root(options, option == 'P');
		else if (option != 'u' ||
			 parse_uids(optarg, &options->uids) < 0)
			return -1;
	}
	return options->id && options->workspaces && optind == argc ? 0 : -1;
}

/* What we were born with: nothing else of the daemon's stays. */
static int take_descriptors(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		return -1;
	(void)close(null);
	if (fcntl(SUPERVISOR_CHANNEL, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	return close_range(SUPERVISOR_CHANNEL + 1, ~0u, 0);
}

/* Signals that the daemon ignores would be ignored here. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void on_terminate(void *owner)
{
	life_end(owner, HOST_TERMINATED, "killed",
		 "its supervisor was asked "
		 "to end");
}

/* Who connects is to see that it is us who listen: so we do it. */
static int begin(struct supervisor *supervisor, int socket, struct err *err)
{
	if (listen(socket, LISTEN_BACKLOG) < 0)
		return err_system(err, "listen for daemons");
	if (answers_open(supervisor, socket, SUPERVISOR_CHANNEL, err) < 0 ||
	    io_signal(supervisor->loop, SIGTERM, on_terminate, supervisor) <
		    0 ||
	    io_signal(supervisor->loop, SIGINT, on_terminate, supervisor) < 0)
		return -1;
	return 0;
}

/* The next one that waits may be for one like this. */
static void tell_base(struct supervisor *supervisor)
{
	struct supervisor_base told = {0};
	struct base base;
	struct err err;

	if (!supervisor->daemon)
		return;
	told.is_known = service_base(supervisor->sandbox, &base);
	if (told.is_known) {
		told.uid = base.uid;
		told.gid = base.gid;
		told.has_read = base.has_read;
		told.tmpfs_bytes = base.tmpfs_bytes;
	}
	(void)rpc_tell(supervisor->daemon, MSG_SUPERVISOR_BASE,
		       &supervisor_base_schema, &told, -1, &err);
}

static struct io_watch *aside;

static void on_aside_over(int fd, bool readable, bool writable, void *owner)
{
	(void)fd;
	(void)readable;
	(void)writable;
	(void)owner;
	io_watch_free(aside);
	aside = NULL;
	early_bury_aside();
}

/* Process 1 that was begun for another kind of sandbox: now that nobody waits
 * for ours. */
static void end_aside(struct supervisor *supervisor)
{
	int pidfd = early_end_aside();

	if (pidfd < 0)
		return;
	aside = io_watch_new(supervisor->loop, pidfd, on_aside_over, NULL);
	if (aside)
		io_watch_set(aside, true, false);
	else
		early_bury_aside();
}

static int begin_inside(struct supervisor *supervisor, struct err *err)
{
	if (link_begin(supervisor, err) < 0 ||
	    inside_begin(supervisor, err) < 0 ||
	    life_begin(supervisor, err) < 0)
		return -1;
	image_tell(supervisor);
	if (exec_entrypoint(supervisor, err) < 0)
		return -1;
	tell_base(supervisor);
	return 0;
}

/* One that was killed before we listen would never find us. */
static int check_daemon(struct err *err)
{
	struct pollfd daemon = {.fd = SUPERVISOR_CHANNEL};

	if (poll(&daemon, 1, 0) > 0 && (daemon.revents & POLLHUP))
		return err_set(err, ERR_TIMEOUT,
			       "the daemon ended while it was built");
	return 0;
}

/* Where it failed is said by whoever started us. */
static const char *reason_of(const struct err *err)
{
	if (err->code == ERR_CLOSED)
		return "gateway_unreachable";
	if (err->code == ERR_INVALID)
		return "invalid";
	return err->code == ERR_DENIED ? "not_permitted" : "not_built";
}

static void run(struct supervisor *supervisor, int socket)
{
	struct err err = {0};
	struct err failed = {0};
	int built = build(supervisor, &failed);

	if (built == 0)
		built = check_daemon(&failed);
	if (begin(supervisor, socket, &err) < 0) {
		log_error("%s", err.text);
		life_end(supervisor, HOST_FAILED, "not_built", err.text);
		return;
	}
	if (built == 0)
		built = begin_inside(supervisor, &failed);
	end_aside(supervisor);
	if (built < 0)
		life_end(supervisor, HOST_FAILED, reason_of(&failed),
			 failed.text);
	else if (io_loop_run(supervisor->loop, &err) < 0)
		life_end(supervisor, HOST_FAILED, "broken", err.text);
	/* What is still to be said. */
	for (int i = 0; i < LAST_TURNS && supervisor->daemon &&
			rpc_queued(supervisor->daemon) > 0;
	     i++)
		(void)io_loop_turn(supervisor->loop, LAST_TURN_MS, &err);
	changes_close(supervisor);
	answers_close(supervisor);
}

/* ---- what is for any sandbox, and what is for one ---- */

/* Before anybody waits for it. */
static int prepare(struct supervisor *supervisor, struct err *err)
{
	(void)umask(077);
	reset_signals();
	log_open("supervisor", NULL);
	arena_init(&supervisor->arena, ARENA_MAX);
	sandbox_prepare(false);
	outside_prepare();
	/* What fails is tried again, and said, when it is needed. It starts no
	 * program of the host's, as `run` does with a gateway. */
	if (geteuid() == 0)
		(void)capabilities_drop_bounds(err);
	supervisor->loop = io_loop_new(err);
	return supervisor->loop ? events_open(supervisor, err) : -1;
}

/* In our command line, so that `ps` tells whose we are: where another of its
 * length stood. */
static int take_id(struct supervisor_options *options, struct bytes id,
		   struct err *err)
{
	if (strlen(options->id) != id.len)
		return err_set(err, ERR_INVALID, "an id of another length");
	memcpy(options->id, id.data, id.len);
	log_open("supervisor", options->id);
	return 0;
}

/* Until the daemon has something to say. What was made ahead of it is of the
 * host's mounts: when these have changed and are at rest it is made anew. */
static void wait_for_word(const struct early_wish *wish)
{
	int pause_ms = -1;

	early_make(wish);
	for (;;) {
		struct pollfd fds[] = {
			{.fd = SUPERVISOR_CHANNEL, .events = POLLIN},
			{.fd = early_mounts(), .events = POLLPRI}};
		int count = poll(fds, ARRAY_SIZE(fds), pause_ms);

		/* First: a change is told once. */
		if (count > 0 && fds[1].revents) {
			early_drop();
			pause_ms = MOUNTS_REST_MS;
		}
		if (count > 0 && fds[0].revents)
			return;
		if (count == 0) {
			early_make(wish);
			pause_ms = -1;
		}
	}
}

/* Wait for a sandbox; its socket goes to *socket. */
static int be_born(struct supervisor *supervisor, struct early_wish *wish,
		   int *socket, struct err *err)
{
	struct supervisor_options *options = &supervisor->options;
	struct birth birth;
	int fds[BIRTH_FDS];

	wish->title = options->id;
	wish->uids = options->uids;
	wait_for_word(wish);
	if (birth_receive(SUPERVISOR_CHANNEL, &supervisor->arena, &birth, fds,
			  err) < 0)
		return -1;
	*socket = fds[BIRTH_SOCKET];
	supervisor->dir = fds[BIRTH_DIR];
	if (birth.image.len > 0)
		options->image = arena_str(&supervisor->arena, birth.image);
	if (birth.image_settings.len > 0)
		options->image_settings =
			arena_str(&supervisor->arena, birth.image_settings);
	options->image_is_read_only = birth.image_is_read_only;
	options->is_bounded = birth.is_bounded;
	options->is_pooled = birth.is_pooled;
	options->is_ahead = birth.is_ahead || birth.is_pooled;
	if (take_id(options, birth.id, err) < 0 ||
	    sandbox_request_open(fds[BIRTH_REQUEST], &supervisor->memory,
				 &supervisor->request, err) < 0)
		return -1;
	(void)close(fds[BIRTH_REQUEST]);
	supervisor->expires_ms = supervisor->request.expires_ms;
	return 0;
}

int main(int argc, char **argv)
{
	static struct supervisor supervisor = {
		.dir = -1,
		.listeners = {-1, -1, -1, -1},
		.output = -1,
		.log = -1,
		.recorder.queue = -1,
		.state = HOST_PENDING,
		.workspace = "",
	};
	struct early_wish wish = {.agent = agent_run};
	struct err err = {0};
	int socket = -1;

	if (parse(argc, argv, &supervisor.options, &wish) < 0 ||
	    take_descriptors() < 0) {
		(void)fputs("sallyport-supervisor is started by "
			    "sallyport-host\n",
			    stderr);
		return 2;
	}
	if (prepare(&supervisor, &err) < 0 ||
	    be_born(&supervisor, &wish, &socket, &err) < 0) {
		/* The daemon has gone before there was a sandbox. */
		if (err.code == ERR_CLOSED)
			return 0;
		log_error("%s", err.text);
		return 1;
	}
	run(&supervisor, socket);
	return supervisor.state == HOST_TERMINATED ? 0 : 1;
}
