/*
 * sallyport-gateway: the warden.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cgroup.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/directories.h"
#include "common/io_rest.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/printed.h"
#include "common/secret.h"
#include "gateway/flow/run_config.h"
#include "gateway/warden/config_dump.h"
#include "gateway/warden/configure.h"
#include "gateway/warden/leave.h"
#include "gateway/warden/packchecks.h"

#define SOCKET_BACKLOG 128
#define DRAIN_MS       5000
#define DRAIN_FIRST_MS 200
#define DRAIN_MORE_MS  20
#define DRAIN_VAULT_MS (VAULT_STOP_MS + 500)
#define LOCK_TRY_MS    10
/* What the lock of one holds that `sallyport run` started; else it is empty. */
#define LOCK_FOR_COMMAND "for a command\n"

/* All that one which stops may wait for. */
static_assert(GATEWAY_STOP_MAX_MS >
		      DRAIN_VAULT_MS + 2 * DRAIN_FIRST_MS + DRAIN_MS,
	      "who stops is waited for as long as it may take");

static const char usage_text[] =
	"Usage: sallyport-gateway [-c FILE] [-t | --dump]\n"
	"\n"
	"The way out for sandboxes: starts and watches the processes of the\n"
	"gateway.\n"
	"\n"
	"  -c, --config FILE  configuration (default " CONFIG_DEFAULT ",\n"
	"                     or built-in defaults when there is none)\n"
	"  -t, --test         check the configuration and exit\n"
	"      --dump         print what holds and where each value comes "
	"from, and exit\n"
	"      --state DIR    where vault, ledger and CA live\n"
	"      --run DIR      where control.sock is made\n"
	"      --exit-when-idle\n"
	"                     end two seconds after the last session\n"
	"      --version\n"
	"  -h, --help\n"
	"\n"
	"Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration invalid.\n";

static bool only_test, only_dump;

static int parse_options(int argc, char **argv, struct config_options *options)
{
	static const struct option table[] = {
		{"config", required_argument, NULL, 'c'},
		{"test", no_argument, NULL, 't'},
		{"dump", no_argument, NULL, 'd'},
		{"state", required_argument, NULL, 's'},
		{"run", required_argument, NULL, 'r'},
		{"exit-when-idle", no_argument, NULL, 'i'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:th", table, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->file = optarg;
			break;
		case 't':
			only_test = true;
			break;
		case 'd':
			only_dump = true;
			break;
		case 's':
			options->state = optarg;
			break;
		case 'r':
			options->run = optarg;
			break;
		case 'i':
			options->exit_when_idle = true;
			break;
		case 'V':
			(void)puts("sallyport-gateway " SP_VERSION);
			exit(printed_end("sallyport-gateway"));
		case 'h':
			(void)fputs(usage_text, stdout);
			exit(printed_end("sallyport-gateway"));
		default:
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	(void)fprintf(stderr,
		      "sallyport-gateway: '%s' is one word too many: a "
		      "configuration is named by -c\n",
		      argv[optind]);
	return -1;
}

/* ---- directories and sockets ---- */

/* The directory of the sockets: nobody else's, and open to other users only
 * when the gateway serves them all. */
static int own_run(const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return err_system(err, "open %s", path);
	if (stat.st_uid != geteuid())
		return err_set(err, ERR_INVALID, "%s belongs to user %u", path,
			       stat.st_uid);
	if (fchmod(fd, geteuid() == 0 ? 0755 : 0700) < 0)
		return err_system(err, "change the mode of %s", path);
	return 0;
}

/* A listening Unix socket; whoever may connect is decided by control from
 * the peer's credentials. */
static int listen_unix(const char *dir, const char *name, int type,
		       struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	auto_fd int fd = -1;
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s",
			   dir, name);

	if (len < 0 || (size_t)len >= sizeof(address.sun_path))
		return err_set(err, ERR_TOO_LARGE,
			       "listen on %s/%s: the path is "
			       "longer than a socket's may be",
			       dir, name);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_system(err, "make socket %s", address.sun_path);
	(void)unlink(address.sun_path);
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(fd, SOCKET_BACKLOG) < 0)
		return err_system(err, "listen on %s", address.sun_path);
	return take_fd(&fd);
}

/* Does the gateway that holds the lock still answer? One that stops gives up
 * its sockets first. */
static bool is_served(const char *dir)
{
	char path[PATH_MAX];

	(void)snprintf(path, sizeof(path), "%s/control.sock", dir);
	return access(path, F_OK) == 0;
}

/* Is who holds the lock one that `sallyport run` started? It ends by itself
 * when no session is left. */
static bool is_for_command(int lock)
{
	char mark[sizeof(LOCK_FOR_COMMAND) - 1];

	return pread(lock, mark, sizeof(mark), 0) == (ssize_t)sizeof(mark) &&
	       !memcmp(mark, LOCK_FOR_COMMAND, sizeof(mark));
}

/* Who holds the lock says in it what it is. */
static int mark_lock(int lock, bool for_command, struct err *err)
{
	const char *mark = for_command ? LOCK_FOR_COMMAND : "";
	size_t len = strlen(mark);

	if (ftruncate(lock, 0) < 0 ||
	    pwrite(lock, mark, len, 0) != (ssize_t)len)
		return err_system(err, "write the lock");
	return 0;
}

static int refuse_second(const char *dir, bool for_command, struct err *err)
{
	if (for_command)
		return err_set(
			err, ERR_INVALID,
			"a gateway that `sallyport run` started is "
			"running in %s, until its last session has ended",
			dir);
	return err_set(err, ERR_INVALID, "a gateway is running already in %s",
		       dir);
}

/* One gateway a run directory: the lock is held as long as we live. One that
 * stops is waited for; an operator's waits also for one that was started for a
 * command. */
static int lock_run(const struct warden_config *config, struct err *err)
{
	const struct timespec pause = {.tv_nsec = LOCK_TRY_MS * 1000000L};
	uint64_t until_ms = clock_monotonic_ms() + GATEWAY_STOP_MAX_MS;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const char *dir = config->run;
	char path[PATH_MAX];
	bool is_told = false;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_system(err, "open %s", path);
	while (fcntl(fd, F_SETLK, &lock) < 0) {
		bool ends = !config->exit_when_idle && is_for_command(fd);

		if ((is_served(dir) && !ends) ||
		    clock_monotonic_ms() >= until_ms) {
			(void)close(fd);
			return refuse_second(dir, ends, err);
		}
		if (ends && !is_told)
			log_info("waiting for the gateway that `sallyport run` "
				 "started in %s",
				 dir);
		is_told = ends;
		(void)nanosleep(&pause, NULL);
	}
	if (mark_lock(fd, config->exit_when_idle, err) < 0) {
		(void)close(fd);
		return -1;
	}
	return 0;
}

/* Of the ledger and the vault there is one: whoever shares them by mistake is
 * told so at once. Held as long as we live. */
static int lock_state(const struct warden *warden, struct err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(warden->state_dir, "lock",
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_system(err, "open the lock of %s",
				  warden->config.state);
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	(void)close(fd);
	return err_set(err, ERR_INVALID,
		       "a gateway with another run directory uses the state "
		       "directory %s: stop it, or give this one its own "
		       "(--state)",
		       warden->config.state);
}

static int open_all(struct warden *warden, struct err *err)
{
	const struct warden_config *config = &warden->config;

	if (directories_make(config->state, 0700, err) < 0 ||
	    directories_make(config->run, 0755, err) < 0 ||
	    own_run(config->run, err) < 0 || lock_run(config, err) < 0)
		return -1;
	warden->state_dir =
		open(config->state, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Keepers of other users pass through it to their own directory by a
	 * descriptor, never by its path: 0700 suits them all. */
	if (warden->state_dir < 0 || fchmod(warden->state_dir, 0700) < 0)
		return err_system(err, "open %s", config->state);
	if (lock_state(warden, err) < 0)
		return -1;
	if (executables_open(warden, err) < 0)
		return -1;
	warden->config_fd = warden_config_seal(config, err);
	if (warden->config_fd < 0)
		return -1;
	warden->control_fd =
		listen_unix(config->run, "control.sock", SOCK_STREAM, err);
	if (warden->control_fd < 0)
		return -1;
	warden->attach_fd =
		listen_unix(config->run, "attach.sock", SOCK_SEQPACKET, err);
	if (warden->attach_fd < 0 || warden_listen_proxy(warden, err) < 0)
		return -1;
	return leave_config(&warden->options, config, err);
}

/* ---- life ---- */

static int check_clock(struct err *err)
{
	uint64_t now_ms = clock_wall_ms();
	char text[CLOCK_TEXT_SIZE];

	if (!clock_is_before_build(now_ms))
		return 0;
	clock_format(now_ms, text);
	return err_set(err, ERR_INVALID,
		       "the clock of this host says %s, which is before this "
		       "program was built: set it, and start again",
		       text);
}

/* A thousand sessions are thousands of channels: the soft limit is made for
 * programs that use select(2). */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void drain(struct warden *warden, bool (*is_meant)(enum role role))
{
	const struct wire_empty empty = {0};
	struct child *child;
	struct err err;

	DL_FOREACH(warden->children, child)
	if (child->rpc && is_meant(child->role))
		(void)rpc_tell(child->rpc, MSG_DRAIN, &wire_empty_schema,
			       &empty, -1, &err);
}

/* By who holds the lock of the directory. */
static void remove_sockets(const struct warden *warden)
{
	static const char *const names[] = {"control.sock", "attach.sock"};
	int dir = open(warden->config.run, O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; dir >= 0 && i < ARRAY_SIZE(names); i++)
		(void)unlinkat(dir, names[i], 0);
	if (dir >= 0)
		(void)close(dir);
}

/* By whom the vault has tokens revoked, as its last work. */
static bool revokes(enum role role)
{
	return role == ROLE_EXCHANGE || role == ROLE_DIALER;
}

/* The ledger goes last: the others still have something to say. */
static bool goes_first(enum role role)
{
	return role != ROLE_LEDGER && !revokes(role);
}

static void on_stop(void *owner)
{
	struct warden *warden = owner;

	if (warden->is_draining) {
		io_loop_stop(warden->loop);
		return;
	}
	warden->is_draining = true;
	/* Who comes now is the next gateway's. */
	remove_sockets(warden);
	drain(warden, goes_first);
	if (child_of(warden, ROLE_EXCHANGE))
		warden->revoke_until_ms =
			io_loop_now_ms(warden->loop) + DRAIN_VAULT_MS;
	else
		drain(warden, revokes);
	io_timer_set(warden->idle_timer, DRAIN_FIRST_MS);
}

static void on_idle(void *owner)
{
	struct warden *warden = owner;
	uint64_t until_ms = warden->revoke_until_ms;

	if (!warden->is_draining) {
		on_stop(warden);
	} else if (until_ms == 0) {
		io_loop_stop(warden->loop);
	} else if (child_of(warden, ROLE_VAULT) &&
		   io_loop_now_ms(warden->loop) < until_ms) {
		io_timer_set(warden->idle_timer, DRAIN_MORE_MS);
	} else {
		warden->revoke_until_ms = 0;
		drain(warden, revokes);
		io_timer_set(warden->idle_timer, DRAIN_FIRST_MS);
	}
}

/* Is anyone left who was told to end? Each has some time for it; the next
 * gateway waits meanwhile. */
static bool is_left(const struct warden *warden)
{
	bool is_first = warden->revoke_until_ms != 0;
	const struct child *child;

	DL_FOREACH(warden->children, child)
	if (child->pid &&
	    (goes_first(child->role) || (!is_first && revokes(child->role))))
		return true;
	return false;
}

static void on_sigchld(void *owner)
{
	struct warden *warden = owner;

	children_reap(warden);
	if (warden->is_draining && !is_left(warden))
		on_idle(warden);
}

static int start_children(struct warden *warden, struct err *err)
{
	/* The ledger first: nothing happens unrecorded. */
	static const enum role order[] = {
		ROLE_LEDGER, ROLE_VAULT,   ROLE_MINTER,
		ROLE_DIALER, ROLE_COURIER, ROLE_CONTROL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (!child_add(warden, order[i], NULL, err))
			return -1;
	if (warden->proxy_count > 0 && !child_add(warden, ROLE_DOOR, NULL, err))
		return -1;
	if (gateway_config_buys(&warden->config.gateway) &&
	    !child_add(warden, ROLE_EXCHANGE, NULL, err))
		return -1;
	return 0;
}

static void on_reload(void *owner)
{
	struct warden *warden = owner;
	struct configured configured;

	if (warden->is_draining)
		return;
	configure_again(warden, &configured);
	configured_release(&configured);
	io_rest_soon(warden->loop);
}

static int run(struct warden *warden, struct err *err)
{
	warden->loop = io_loop_new(err);
	if (!warden->loop)
		return -1;
	warden->idle_timer = io_timer_new(warden->loop, on_idle, warden);
	if (!warden->idle_timer || packchecks_begin(warden) < 0 ||
	    io_signal(warden->loop, SIGCHLD, on_sigchld, warden) < 0 ||
	    io_signal(warden->loop, SIGHUP, on_reload, warden) < 0 ||
	    io_signal(warden->loop, SIGTERM, on_stop, warden) < 0 ||
	    io_signal(warden->loop, SIGINT, on_stop, warden) < 0)
		return err_system(err, "start loop");
	group_make(&warden->packchecks);
	if (start_children(warden, err) < 0)
		return -1;
	if (spare_begin(warden) < 0)
		return err_system(err, "start the spare edge");
	warden_idle_check(warden);
	io_rest_soon(warden->loop); /* what read the configuration */
	log_info("gateway ready: run %s state %s", warden->config.run,
		 warden->config.state);
	return io_loop_run(warden->loop, err);
}

/* Ask the ledger to finish, and give it the time it needs. */
static void end_children(struct warden *warden)
{
	const struct wire_empty empty = {0};
	struct child *ledger = child_of(warden, ROLE_LEDGER);
	uint64_t until = io_loop_now_ms(warden->loop) + DRAIN_MS;
	struct err err;

	warden->is_draining = true;
	if (ledger && ledger->rpc)
		(void)rpc_tell(ledger->rpc, MSG_DRAIN, &wire_empty_schema,
			       &empty, -1, &err);
	while (child_of(warden, ROLE_LEDGER) &&
	       io_loop_now_ms(warden->loop) < until) {
		if (io_loop_turn(warden->loop, 100, &err) < 0)
			break;
		children_reap(warden);
	}
}

/* 0, or -1: why was told. */
static int load(struct warden *warden)
{
	auto_type(buf_release) struct buf report;
	struct err err = {0};

	buf_init(&report, RELOAD_ERRORS_MAX);
	if (configure_load(&warden->options, &warden->config, &report, &err) ==
	    0)
		return 0;
	(void)fprintf(stderr, "%.*ssallyport-gateway: %s\n",
		      BYTES_ARGS(buf_view(&report)), err.text);
	return -1;
}

static void tell_missing(const char *text)
{
	(void)fprintf(stderr, "sallyport-gateway: warning: %s\n", text);
}

static void log_missing(const char *text)
{
	log_warn("%s", text);
}

/* -t and --dump. The exit code. */
static int show(const struct warden_config *config)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, CONFIG_DUMP_MAX);
	if (!only_dump) {
		configure_missing(config, tell_missing);
		(void)puts("sallyport-gateway: the configuration is valid");
	} else if (config_dump(config, &text) < 0) {
		return 1;
	}
	(void)fputs(buf_str(&text), stdout);
	return printed_end("sallyport-gateway");
}

int main(int argc, char **argv)
{
	static struct warden warden = {.options.fallback = CONFIG_DEFAULT};
	struct err err = {0};

	if (parse_options(argc, argv, &warden.options) < 0) {
		nearest_tell_option(argv, usage_text);
		(void)fputs(usage_text, stderr);
		return 2;
	}
	(void)umask(077);
	log_open("warden", NULL);
	if (load(&warden) < 0)
		return 3;
	if (only_test || only_dump)
		return show(&warden.config);
	(void)signal(SIGPIPE, SIG_IGN);
	configure_missing(&warden.config, log_missing);
	secret_protect_process();
	raise_descriptor_limit();
	cgroup_settle(&cgroup_host);
	if (!warden.config.gateway.uid_base)
		log_info("not root: every process runs as uid %d",
			 (int)getuid());
	if (check_clock(&err) < 0 || open_all(&warden, &err) < 0 ||
	    run(&warden, &err) < 0) {
		log_error("%s", err.text);
		warden.has_failed = true;
	}
	if (warden.loop)
		end_children(&warden);
	if (warden.queue)
		packchecks_end(&warden);
	group_remove(&warden.packchecks);
	if (warden.attach_fd > 0)
		remove_sockets(&warden);
	return warden.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
