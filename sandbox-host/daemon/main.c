/*
 * sallyport-host: the daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cgroup.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/directories.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/printed.h"
#include "sandbox-host/daemon/claim.h"
#include "sandbox-host/daemon/config_dump.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/images.h"
#include "sandbox-host/daemon/isolate.h"
#include "sandbox-host/daemon/jobs.h"
#include "sandbox-host/daemon/missing.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"
#include "sandbox-host/daemon/snapshots.h"
#include "sandbox-host/daemon/spare.h"

#define CONFIG_DEFAULT "/etc/sallyport/host.yaml"
#define OVER_KEPT_MS   (10ull * 60 * 1000) /* shown so long */
#define OVER_KEPT_MAX  1000
#define REPORT_MAX     (64 * 1024)

static const char usage_text[] =
	"Usage: sallyport-host [-c FILE] [-t | --dump]\n"
	"\n"
	"Sandboxes as a service: starts, keeps and ends them. They go on\n"
	"when this ends, and the next one finds them.\n"
	"\n"
	"  -c, --config FILE  configuration (default " CONFIG_DEFAULT ",\n"
	"                     or built-in defaults when there is none)\n"
	"  -t, --test         check the configuration and exit\n"
	"      --dump         print what holds and where each value comes "
	"from,\n"
	"                     and exit\n"
	"      --run DIR      where host.sock is made\n"
	"      --new-key      make a key for the HTTP API: the key, and its\n"
	"                     line for api_keys\n"
	"      --dump-states  print the states of a sandbox for Graphviz\n"
	"      --version\n"
	"  -h, --help\n"
	"\n"
	"Exit codes: 0 ok, 1 failed, 2 usage, 3 configuration invalid.\n";

static bool only_test, only_dump;

static void print_new_key(void)
{
	char key[API_NEW_KEY_SIZE];
	char line[sizeof("sha256:") + 2 * API_HASH_BYTES];

	api_new_key(key, line);
	(void)printf("%s\n%s\n", key, line);
}

static int parse_options(int argc, char **argv, struct host_options *options)
{
	static const struct option table[] = {
		{"config", required_argument, NULL, 'c'},
		{"test", no_argument, NULL, 't'},
		{"run", required_argument, NULL, 'r'},
		{"dump", no_argument, NULL, 'D'},
		{"dump-states", no_argument, NULL, 'd'},
		{"new-key", no_argument, NULL, 'k'},
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
		case 'r':
			options->run = optarg;
			break;
		case 'D':
			only_dump = true;
			break;
		case 'd':
			state_dump(stdout);
			exit(printed_end("sallyport-host"));
		case 'k':
			print_new_key();
			exit(printed_end("sallyport-host"));
		case 'V':
			(void)puts("sallyport-host " SP_VERSION);
			exit(printed_end("sallyport-host"));
		case 'h':
			(void)fputs(usage_text, stdout);
			exit(printed_end("sallyport-host"));
		default:
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	(void)fprintf(stderr,
		      "sallyport-host: '%s' is one word too many: a "
		      "configuration is named by -c\n",
		      argv[optind]);
	return -1;
}

/* ---- configuration ---- */

static int load_config(struct daemon *daemon, struct err *err)
{
	auto_type(buf_release) struct buf report;
	int result;

	buf_init(&report, REPORT_MAX);
	result =
		configure_load(&daemon->options, &daemon->config, &report, err);
	(void)fprintf(stderr, "%.*s", BYTES_ARGS(buf_view(&report)));
	return result;
}

static void tell_missing(const char *text)
{
	(void)fprintf(stderr, "sallyport-host: warning: %s\n", text);
}

static void log_missing(const char *text)
{
	log_warn("%s", text);
}

/* -t and --dump. The exit code. */
static int show(const struct host_config *config)
{
	auto_type(buf_release) struct buf text;

	buf_init(&text, CONFIG_DUMP_MAX);
	if (!only_dump) {
		missing_tell(config, tell_missing);
		(void)puts("sallyport-host: the configuration is valid");
	} else if (config_dump(config, &text) < 0) {
		return 1;
	}
	(void)fputs(buf_str(&text), stdout);
	return printed_end("sallyport-host");
}

/* ---- directories ---- */

/* A directory of ours alone; whoever owns it could change what is in it. */
static int own_directory(const char *path, mode_t mode, struct err *err)
{
	auto_fd int fd = -1;
	struct stat info;

	if (directories_make(path, mode, err) < 0)
		return -1;
	fd = open(path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_system(err, "open %s", path);
	if (info.st_uid != geteuid())
		return err_set(err, ERR_INVALID, "%s belongs to user %u", path,
			       info.st_uid);
	return take_fd(&fd);
}

static int lock_run(struct daemon *daemon, struct err *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(daemon->run_dir, "host.lock",
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_system(err, "open host.lock");
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	(void)close(fd);
	return err_set(err, ERR_INVALID, "a daemon is running already in %s",
		       daemon->config.run);
}

static int open_directories(struct daemon *daemon, struct err *err)
{
	const struct host_config *config = &daemon->config;
	char path[PATH_MAX];
	auto_fd int workspaces = -1;

	/* The gateway's sockets may be there as well, for all users. */
	daemon->run_dir =
		own_directory(config->run, geteuid() == 0 ? 0755 : 0700, err);
	if (daemon->run_dir < 0 || lock_run(daemon, err) < 0)
		return -1;
	if (snprintf(path, sizeof(path), "%s/sandboxes", config->run) >=
	    (int)sizeof(path))
		return err_set(err, ERR_TOO_LARGE, "%s is too long",
			       config->run);
	daemon->sandboxes_dir = own_directory(path, 0700, err);
	workspaces = own_directory(config->workspaces, 0700, err);
	daemon->store_dir = own_directory(config->store.path, 0700, err);
	if (daemon->sandboxes_dir < 0 || workspaces < 0 ||
	    daemon->store_dir < 0)
		return -1;
	if (fchmod(daemon->sandboxes_dir, 0700) < 0)
		return err_system(err, "close %s to others", path);
	return 0;
}

/* ---- life ---- */

static void on_stop(void *owner)
{
	struct daemon *daemon = owner;

	/* What nobody has yet ends with it. */
	log_info("the daemon ends; %zu sandboxes go on",
		 daemon->live_count - ready_count(daemon));
	daemon->is_draining = true;
	pool_close(daemon);
	io_loop_stop(daemon->loop);
}

static void on_hangup(void *owner)
{
	struct configured configured;

	configure_again(owner, &configured);
	configured_release(&configured);
}

/* What has been over for a while is forgotten. */
static void on_sweep(void *owner)
{
	struct daemon *daemon = owner;
	struct entry *entry, *next;
	uint64_t now = clock_monotonic_ms();
	size_t kept = 0;

	for (entry = daemon->entries; entry; entry = next) {
		next = entry->next;
		if (!state_is_over((enum host_state)entry->sandbox.state))
			continue;
		if (entry->over_ms == 0)
			entry->over_ms = now;
		if (++kept > OVER_KEPT_MAX ||
		    entry->over_ms + OVER_KEPT_MS < now)
			entry_forget(entry);
	}
	pool_fill(daemon);
	io_timer_set(daemon->sweep_timer, SWEEP_MS);
}

/* sd_notify(3), without its library. */
static void notify_ready(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	static const char text[] = "READY=1";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	auto_fd int fd = -1;

	if (len == 0 || len >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, len);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    sendto(fd, text, sizeof(text) - 1, MSG_NOSIGNAL,
		   (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) <
		    0)
		log_warn("tell the service manager: %s", strerror(errno));
}

static int run(struct daemon *daemon, struct err *err)
{
	if (open_directories(daemon, err) < 0)
		return -1;
	daemon->loop = io_loop_new(err);
	if (!daemon->loop || follow_open(daemon, err) < 0)
		return -1;
	daemon->sweep_timer = io_timer_new(daemon->loop, on_sweep, daemon);
	if (!daemon->sweep_timer ||
	    io_signal(daemon->loop, SIGHUP, on_hangup, daemon) < 0 ||
	    io_signal(daemon->loop, SIGTERM, on_stop, daemon) < 0 ||
	    io_signal(daemon->loop, SIGINT, on_stop, daemon) < 0)
		return err_system(err, "start the loop");
	io_timer_set(daemon->sweep_timer, SWEEP_MS);
	if (adopt_all(daemon, err) < 0 || images_open(daemon, err) < 0 ||
	    snapshots_open(daemon, err) < 0 || ready_open(daemon, err) < 0 ||
	    spare_open(daemon, err) < 0 || askers_open(daemon, err) < 0 ||
	    serve_api_open(daemon, err) < 0)
		return -1;
	isolate_adopt(daemon);
	log_info("ready: run %s, %zu sandboxes", daemon->config.run,
		 daemon->live_count);
	pool_fill(daemon);
	notify_ready();
	return io_loop_run(daemon->loop, err);
}

static void end(struct daemon *daemon)
{
	struct entry *entry, *next;

	follow_close(daemon);
	serve_api_close(daemon);
	jobs_close();
	askers_close(daemon);
	claim_close_all(daemon);
	ready_close(daemon);
	spare_close(daemon);
	for (entry = daemon->entries; entry; entry = next) {
		next = entry->next;
		/* Who waits for an answer of it looks for it. */
		DL_DELETE(daemon->entries, entry);
		entry_free(entry);
	}
	/* Snapshots wait for answers of those. */
	snapshots_close(daemon);
}

/* A sandbox is a few descriptors here. */
static void raise_descriptor_limit(struct daemon *daemon)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &daemon->files) < 0)
		return;
	limit = daemon->files;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	static struct daemon daemon;
	struct err err = {0};
	int result;

	daemon.options.fallback = CONFIG_DEFAULT;
	if (parse_options(argc, argv, &daemon.options) < 0) {
		nearest_tell_option(argv, usage_text);
		(void)fputs(usage_text, stderr);
		return 2;
	}
	(void)umask(077);
	log_open("host", NULL);
	if (load_config(&daemon, &err) < 0) {
		(void)fprintf(stderr, "sallyport-host: %s\n", err.text);
		return 3;
	}
	if (only_test || only_dump)
		return show(&daemon.config);
	missing_tell(&daemon.config, log_missing);
	/* Nobody waits for a supervisor: its channel says that it ended. */
	(void)signal(SIGCHLD, SIG_IGN);
	raise_descriptor_limit(&daemon);
	cgroup_settle(&cgroup_host);
	result = run(&daemon, &err);
	if (result < 0)
		(void)fprintf(stderr, "sallyport-host: %s\n", err.text);
	end(&daemon);
	return result < 0 ? 1 : 0;
}
