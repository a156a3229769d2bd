/*
 * Drives sandbox-host's library for the end-to-end tests and benches:
 *
 *	sandbox_probe [OPTION...] -- COMMAND...
 *
 * --plan prints the plan and starts nothing. --accept FILE answers each TCP
 * connection that reaches a listener with "<family> <original address>
 * <port>\n", and DNS datagrams with themselves, and appends the same line to
 * FILE. --ca FILE is the CA to trust inside. Lists: --read --write --hide
 * --protect, --require, each as often as wanted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/netfilter_ipv4.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/network.h"
#include "sandbox-host/plan.h"
#include "sandbox-host/sandbox.h"

#define LIST_MAX    64
#define FILE_MAX    65536
#define ADDRESS_MAX 64

enum option_name {
	OPTION_PLAN = 256,
	OPTION_ACCEPT,
	OPTION_CA,
	OPTION_READ,
	OPTION_NO_READ,
	OPTION_WRITE,
	OPTION_HIDE,
	OPTION_PROTECT,
	OPTION_IGNORE,
	OPTION_WORKSPACE,
	OPTION_WORKSPACE_READ,
	OPTION_CHANGES,
	OPTION_HOME,
	OPTION_TIME,
	OPTION_MEMORY,
	OPTION_PROCESSES,
	OPTION_CPU,
	OPTION_DISK,
	OPTION_FILES,
	OPTION_REQUIRE,
	OPTION_TERMINAL,
	OPTION_ENV,
	OPTION_HOSTNAME
};

static const struct option options[] = {
	{"plan", no_argument, NULL, OPTION_PLAN},
	{"accept", required_argument, NULL, OPTION_ACCEPT},
	{"ca", required_argument, NULL, OPTION_CA},
	{"read", required_argument, NULL, OPTION_READ},
	{"no-read", no_argument, NULL, OPTION_NO_READ},
	{"write", required_argument, NULL, OPTION_WRITE},
	{"hide", required_argument, NULL, OPTION_HIDE},
	{"protect", required_argument, NULL, OPTION_PROTECT},
	{"ignore", required_argument, NULL, OPTION_IGNORE},
	{"workspace", required_argument, NULL, OPTION_WORKSPACE},
	{"workspace-read", no_argument, NULL, OPTION_WORKSPACE_READ},
	{"changes", required_argument, NULL, OPTION_CHANGES},
	{"home", required_argument, NULL, OPTION_HOME},
	{"time", required_argument, NULL, OPTION_TIME},
	{"memory", required_argument, NULL, OPTION_MEMORY},
	{"processes", required_argument, NULL, OPTION_PROCESSES},
	{"cpu", required_argument, NULL, OPTION_CPU},
	{"disk", required_argument, NULL, OPTION_DISK},
	{"files", required_argument, NULL, OPTION_FILES},
	{"require", required_argument, NULL, OPTION_REQUIRE},
	{"terminal", no_argument, NULL, OPTION_TERMINAL},
	{"env", required_argument, NULL, OPTION_ENV},
	{"hostname", required_argument, NULL, OPTION_HOSTNAME},
	{NULL, 0, NULL, 0},
};

struct list {
	const char *items[LIST_MAX];
	size_t count;
};

struct request {
	struct sandbox_spec spec;
	struct list read, write, hide, protect, ignore;
	struct sandbox_variable env[LIST_MAX];
	const char *accept;
	bool wants_plan;
};

static void add(struct list *list, const char *text)
{
	if (list->count < LIST_MAX)
		list->items[list->count++] = text;
}

static void add_env(struct request *request, char *text)
{
	char *value = strchr(text, '=');

	if (!value || request->spec.env_count == LIST_MAX)
		exit(2);
	*value = '\0';
	request->env[request->spec.env_count++] =
		(struct sandbox_variable){text, value + 1};
}

static struct bytes read_file(const char *path)
{
	static uint8_t text[FILE_MAX];
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (len < 0)
		exit(2);
	return bytes_from(text, (size_t)len);
}

static void take_limit(struct request *request, int option, const char *text)
{
	uint64_t value = strtoull(text, NULL, 10);

	if (option == OPTION_TIME)
		request->spec.limits.time_ms = value;
	else if (option == OPTION_MEMORY)
		request->spec.limits.memory_bytes = value;
	else if (option == OPTION_CPU)
		request->spec.limits.cpu_milli = value;
	else if (option == OPTION_DISK)
		request->spec.limits.disk_bytes = value;
	else if (option == OPTION_FILES)
		request->spec.limits.files = value;
	else
		request->spec.limits.processes = value;
}

static void take_required(struct request *request, const char *text)
{
	struct sandbox_require *require = &request->spec.require;

	if (!strncmp(text, "landlock-", 9))
		require->landlock = (unsigned)strtoul(text + 9, NULL, 10);
	require->memory |= !strcmp(text, "limits.memory");
	require->processes |= !strcmp(text, "limits.processes");
	require->cpu |= !strcmp(text, "limits.cpu");
	require->disk |= !strcmp(text, "limits.disk");
	require->freezer |= !strcmp(text, "freezer");
}

static void take_list(struct request *request, int option, const char *text)
{
	if (option == OPTION_READ)
		add(&request->read, text);
	else if (option == OPTION_WRITE)
		add(&request->write, text);
	else if (option == OPTION_HIDE)
		add(&request->hide, text);
	else if (option == OPTION_IGNORE)
		add(&request->ignore, text);
	else
		add(&request->protect, text);
}

static void take_option(struct request *request, int option)
{
	struct sandbox_spec *spec = &request->spec;

	switch (option) {
	case OPTION_PLAN:
		request->wants_plan = true;
		break;
	case OPTION_ACCEPT:
		request->accept = optarg;
		break;
	case OPTION_CA:
		spec->ca_pem = read_file(optarg);
		break;
	case OPTION_READ:
	case OPTION_WRITE:
	case OPTION_HIDE:
	case OPTION_PROTECT:
	case OPTION_IGNORE:
		take_list(request, option, optarg);
		spec->has_read = spec->has_read || option == OPTION_READ;
		break;
	case OPTION_NO_READ:
		spec->has_read = true;
		break;
	case OPTION_WORKSPACE:
		spec->workspace = optarg;
		break;
	case OPTION_WORKSPACE_READ:
		spec->workspace_mode = SANDBOX_READ;
		break;
	case OPTION_CHANGES:
		spec->workspace_mode = SANDBOX_OVERLAY;
		spec->changes = optarg;
		break;
	case OPTION_HOME:
		spec->home = optarg;
		break;
	case OPTION_TIME:
	case OPTION_MEMORY:
	case OPTION_PROCESSES:
	case OPTION_CPU:
	case OPTION_DISK:
	case OPTION_FILES:
		take_limit(request, option, optarg);
		break;
	case OPTION_REQUIRE:
		take_required(request, optarg);
		break;
	case OPTION_TERMINAL:
		spec->has_terminal = true;
		break;
	case OPTION_ENV:
		add_env(request, optarg);
		break;
	case OPTION_HOSTNAME:
		spec->hostname = optarg;
		break;
	default:
		exit(2);
	}
}

static struct sandbox_paths paths_of(const struct list *list)
{
	return (struct sandbox_paths){list->items, list->count};
}

static void describe(int fd, char *out, size_t size)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(address);
	const struct sockaddr_in *v4 = (const void *)&address;
	const struct sockaddr_in6 *v6 = (const void *)&address;
	char text[ADDRESS_MAX] = "?";

	if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, &address, &len) < 0) {
		len = sizeof(address);
		(void)getsockopt(fd, IPPROTO_IPV6, SO_ORIGINAL_DST, &address,
				 &len);
	}
	if (address.ss_family == AF_INET) {
		(void)inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		snprintf(out, size, "tcp4 %s %u\n", text, ntohs(v4->sin_port));
	} else {
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		snprintf(out, size, "tcp6 %s %u\n", text, ntohs(v6->sin6_port));
	}
}

static void answer_stream(int listener, int log)
{
	char line[ADDRESS_MAX + 32];
	auto_fd int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	describe(fd, line, sizeof(line));
	(void)!write(log, line, strlen(line));
	(void)!write(fd, line, strlen(line));
}

static void answer_datagram(int socket, int log)
{
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	char text[512];
	ssize_t len = recvfrom(socket, text, sizeof(text), 0,
			       (struct sockaddr *)&from, &from_len);

	if (len < 0)
		return;
	(void)!write(log, "udp\n", 4);
	(void)sendto(socket, text, (size_t)len, 0, (struct sockaddr *)&from,
		     from_len);
}

/* Stand in for a gateway, in a process of its own. */
static void serve(const struct sandbox_listeners *listeners, const char *path)
{
	struct pollfd fds[] = {
		{.fd = listeners->tcp4, .events = POLLIN},
		{.fd = listeners->tcp6, .events = POLLIN},
		{.fd = listeners->tcp_dns, .events = POLLIN},
		{.fd = listeners->udp, .events = POLLIN},
	};
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (log >= 0) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(fds) - 1; i++)
			if (fds[i].revents)
				answer_stream(fds[i].fd, log);
		if (fds[ARRAY_SIZE(fds) - 1].revents)
			answer_datagram(listeners->udp, log);
	}
	_exit(2);
}

static int print_plan(const struct sandbox_spec *spec)
{
	struct plan plan;
	struct err err = {0};

	if (sandbox_plan(spec, &plan, &err) < 0) {
		fprintf(stderr, "plan: %s\n", err.text);
		return SANDBOX_EXIT_FAILED;
	}
	sandbox_plan_print(&plan, stdout);
	plan_release(&plan);
	return 0;
}

static int run(const struct request *request)
{
	struct sandbox_listeners listeners;
	struct err err = {0};
	struct sandbox *sandbox = sandbox_start(&request->spec, &err);
	int exit_code = SANDBOX_EXIT_FAILED;
	pid_t server = -1;

	if (!sandbox || sandbox_ready(sandbox, &listeners, &err) < 0) {
		fprintf(stderr, "sandbox_probe: %s\n", err.text);
		sandbox_free(sandbox);
		return SANDBOX_EXIT_FAILED;
	}
	if (request->accept) {
		server = fork();
		if (server == 0)
			serve(&listeners, request->accept);
	}
	network_close(&listeners);
	if (sandbox_go(sandbox, &err) < 0 ||
	    sandbox_wait(sandbox, &exit_code, &err) < 0) {
		fprintf(stderr, "sandbox_probe: %s\n", err.text);
		exit_code = SANDBOX_EXIT_FAILED;
	}
	sandbox_free(sandbox);
	if (server > 0) {
		(void)kill(server, SIGKILL);
		(void)waitpid(server, NULL, 0);
	}
	return exit_code;
}

int main(int argc, char **argv)
{
	static struct request request;
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
		take_option(&request, option);
	request.spec.argv = (const char *const *)(argv + optind);
	request.spec.env = request.env;
	request.spec.read = paths_of(&request.read);
	request.spec.write = paths_of(&request.write);
	request.spec.hide = paths_of(&request.hide);
	request.spec.ignore_files = paths_of(&request.ignore);
	request.spec.protect = paths_of(&request.protect);
	if (request.wants_plan)
		return print_plan(&request.spec);
	return run(&request);
}
