/* The process that serves the HTTP API: its sockets, its start, its end. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/log.h"
#include "sandbox-host/daemon/daemon.h"

#define PROGRAM	     "sallyport-api"
#define TOKEN_FILE   "api.key"
#define NOBODY	     65534
#define BACKLOG	     1024
#define RESTART_MS   1000
#define BIND_TRIES   40 /* an API that was left ends with its daemon */
#define BIND_WAIT_NS (100L * 1000 * 1000)
#define BORN_FDS_MAX (2 + API_LISTENERS_MAX)

/* ---- its sockets ---- */

static int listen_on(const struct api_address *item, struct err *err)
{
	const int on = 1;
	auto_fd int fd = socket(item->address.ss_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = item->address.ss_family == AF_INET
				 ? sizeof(struct sockaddr_in)
				 : sizeof(struct sockaddr_in6);
	int result = -1;

	if (fd < 0)
		return err_system(err, "make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* Accepted ones have it from the listener. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (int i = 0; i < BIND_TRIES && result < 0; i++) {
		const struct timespec wait = {.tv_nsec = BIND_WAIT_NS};

		if (i == 1)
			log_warn("another process listens on %.*s: waiting for "
				 "its end",
				 BYTES_ARGS(item->text));
		if (i > 0)
			(void)nanosleep(&wait, NULL);
		result =
			bind(fd, (const struct sockaddr *)&item->address, size);
		if (result == 0)
			result = listen(fd, BACKLOG);
		if (result < 0 && errno != EADDRINUSE)
			break;
	}
	return result < 0 ? err_system(err, "listen on %.*s",
				       BYTES_ARGS(item->text))
			  : take_fd(&fd);
}

/* ---- what it is told ---- */

/* Made once: tokens go on to hold when all of us was started again. */
static int read_token_key(const struct daemon *daemon,
			  uint8_t key[API_TOKEN_BYTES], struct err *err)
{
	auto_fd int fd =
		openat(daemon->run_dir, TOKEN_FILE,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat info;
	ssize_t len;

	if (fd < 0 || fstat(fd, &info) < 0)
		return err_system(err, "open " TOKEN_FILE);
	if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
	    (info.st_mode & 077))
		return err_set(err, ERR_INVALID,
			       TOKEN_FILE " is open to others");
	len = pread(fd, key, API_TOKEN_BYTES, 0);
	if (len == API_TOKEN_BYTES)
		return 0;
	random_bytes(key, API_TOKEN_BYTES);
	if (pwrite(fd, key, API_TOKEN_BYTES, 0) != API_TOKEN_BYTES)
		return err_system(err, "write " TOKEN_FILE);
	return 0;
}

bool serve_api_knows(const struct daemon *daemon, struct bytes policy)
{
	const struct host_api *said = &daemon->config.api;
	bool is_known = policy.len == 0;

	for (size_t i = 0; i < said->policies_count; i++)
		is_known |= bytes_equal(said->policies[i].text, policy);
	return is_known;
}

int serve_api_seal(const struct daemon *daemon,
		   const struct host_config *config, struct err *err)
{
	const struct host_api *said = &config->api;
	struct text_item addresses[API_LISTENERS_MAX];
	struct api_policy policies[API_POLICIES_MAX];
	uint8_t key[API_TOKEN_BYTES] = {0};
	struct api_config sealed = {
		.token_key = bytes_from(key, sizeof(key)),
		.uid = geteuid() == 0 ? NOBODY : 0,
		.has_tls = said->certificate != NULL,
		.addresses = addresses,
		.addresses_count = said->listen_count,
		.keys = said->keys,
		.keys_count = said->keys_count,
		.policies = policies,
		.policies_count = said->policies_count,
	};

	if (read_token_key(daemon, key, err) < 0)
		return -1;
	for (size_t i = 0; i < said->listen_count; i++)
		addresses[i].text = said->listen[i].text;
	for (size_t i = 0; i < said->policies_count; i++)
		policies[i] = (struct api_policy){said->policies[i].name,
						  said->policies[i].text};
	return api_config_seal(&sealed, err);
}

void serve_api_tell(struct daemon *daemon, int sealed)
{
	const struct wire_empty empty = {0};
	struct err err;

	if (!daemon->api.asker ||
	    rpc_tell(daemon->api.asker->rpc, MSG_API_CONFIG, &wire_empty_schema,
		     &empty, sealed, &err) == 0)
		return;
	/* It begins anew with the new one. */
	log_error("the API could not be told: %s", err.text);
	(void)kill(daemon->api.pid, SIGKILL);
}

/* ---- its process ---- */

_Noreturn static void become_api(const int *fds, size_t count)
{
	int high[BORN_FDS_MAX];
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t room;

	if (len <= 0)
		_exit(126);
	program[len] = '\0';
	room = sizeof(program) - (size_t)(strrchr(program, '/') - program);
	(void)snprintf(strrchr(program, '/'), room, "/" PROGRAM);
	for (size_t i = 0; i < count; i++) {
		high[i] = fcntl(fds[i], F_DUPFD, API_FD_CHANNEL + BORN_FDS_MAX);
		if (high[i] < 0)
			_exit(126);
	}
	for (size_t i = 0; i < count; i++)
		if (dup2(high[i], API_FD_CHANNEL + (int)i) < 0)
			_exit(126);
	(void)close_range((unsigned)(API_FD_CHANNEL + count), ~0u, 0);
	(void)execl(program, PROGRAM, (char *)NULL);
	_exit(127);
}

static int start(struct daemon *daemon, struct err *err)
{
	struct serve_api *serve = &daemon->api;
	int fds[BORN_FDS_MAX], ends[2];
	auto_fd int config = serve_api_seal(daemon, &daemon->config, err);
	auto_fd int theirs = -1;
	size_t count = 0;

	if (config < 0 || io_message_pair(ends, err) < 0)
		return -1;
	theirs = ends[0];
	fds[count++] = theirs;
	fds[count++] = config;
	for (size_t i = 0; i < serve->socket_count; i++)
		fds[count++] = serve->sockets[i];
	serve->pid = fork();
	if (serve->pid == 0)
		become_api(fds, count);
	if (serve->pid < 0) {
		(void)close(ends[1]);
		return err_system(err, "start the API");
	}
	serve->asker = askers_add(daemon, ends[1], geteuid(), true, err);
	if (!serve->asker)
		return -1;
	serve_tls_renew(daemon);
	return 0;
}

static void on_restart(void *owner)
{
	struct daemon *daemon = owner;
	struct err err;

	if (start(daemon, &err) == 0)
		return;
	log_error("%s", err.text);
	io_timer_set(daemon->api.restart, RESTART_MS);
}

void serve_api_ended(struct daemon *daemon)
{
	daemon->api.asker = NULL;
	daemon->api.pid = 0;
	if (daemon->is_draining || !daemon->api.restart)
		return;
	log_warn("the API ended; it is started again");
	io_timer_set(daemon->api.restart, RESTART_MS);
}

int serve_api_open(struct daemon *daemon, struct err *err)
{
	const struct host_api *said = &daemon->config.api;
	struct serve_api *serve = &daemon->api;

	if (said->listen_count == 0)
		return 0;
	serve->restart = io_timer_new(daemon->loop, on_restart, daemon);
	if (!serve->restart)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	for (size_t i = 0; i < said->listen_count; i++) {
		int fd = listen_on(&said->listen[i], err);

		if (fd < 0)
			return -1;
		serve->sockets[serve->socket_count++] = fd;
		log_info("the API listens on %.*s",
			 BYTES_ARGS(said->listen[i].text));
	}
	return start(daemon, err);
}

/* Its channel ends with us, and it with its channel. */
void serve_api_close(struct daemon *daemon)
{
	struct serve_api *serve = &daemon->api;

	if (serve->restart)
		io_timer_free(serve->restart);
	serve->restart = NULL;
	for (size_t i = 0; i < serve->socket_count; i++)
		(void)close(serve->sockets[i]);
	serve->socket_count = 0;
}
