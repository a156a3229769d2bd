/*
 * sandbox_calls DIRECTORY COUNT: calls that a sandbox's reporter watches, each
 * COUNT times, on files and sockets of its own in DIRECTORY. Prints
 * "name<TAB>nanoseconds" of each call's median; one that is not watched is
 * measured beside them.
 *
 * sandbox_calls time NAME COMMAND...: the same of a command, from its fork to
 * its end.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONTENT 4096

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static const char *name_of(char kind, size_t i)
{
	static char names[2][32];
	static unsigned turn;
	char *name = names[turn++ % 2];

	(void)snprintf(name, sizeof(names[0]), "%c%zu", kind, i);
	return name;
}

static void check(int rc)
{
	if (rc < 0) {
		perror("sandbox_calls");
		exit(1);
	}
}

static uint64_t open_one(const char *name, int flags)
{
	uint64_t start = now_ns();
	int fd = open(name, flags | O_CLOEXEC, 0600);
	uint64_t taken = now_ns() - start;

	check(fd);
	check(close(fd));
	return taken;
}

static uint64_t open_write(size_t i)
{
	(void)i;
	return open_one("file", O_WRONLY | O_CREAT);
}

static uint64_t open_read(size_t i)
{
	(void)i;
	return open_one("file", O_RDONLY);
}

static uint64_t create(size_t i)
{
	return open_one(name_of('e', i), O_WRONLY | O_CREAT | O_EXCL);
}

/* What is mostly done with a new file: opened, written, closed. */
static uint64_t create_filled(size_t i)
{
	static const char content[CONTENT];
	const char *name = name_of('f', i);
	uint64_t start = now_ns();
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd);
	check(write(fd, content, sizeof(content)) == CONTENT ? 0 : -1);
	check(close(fd));
	return now_ns() - start;
}

static uint64_t open_truncate(size_t i)
{
	return open_one(name_of('f', i), O_WRONLY | O_CREAT | O_TRUNC);
}

static uint64_t rename_one(size_t i)
{
	const char *from = name_of('f', i), *to = name_of('g', i);
	uint64_t start = now_ns();

	check(rename(from, to));
	return now_ns() - start;
}

static uint64_t unlink_one(size_t i)
{
	const char *name = name_of('g', i);
	uint64_t start = now_ns();

	check(unlink(name));
	return now_ns() - start;
}

static uint64_t make_directory(size_t i)
{
	const char *name = name_of('d', i);
	uint64_t start = now_ns();

	check(mkdir(name, 0700));
	return now_ns() - start;
}

static uint64_t remove_directory(size_t i)
{
	const char *name = name_of('d', i);
	uint64_t start = now_ns();

	check(rmdir(name));
	return now_ns() - start;
}

static uint64_t connect_to(int listener, const void *address, socklen_t len)
{
	int client = socket(((const struct sockaddr *)address)->sa_family,
			    SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t start, taken;
	int server;

	check(client);
	start = now_ns();
	check(connect(client, address, len));
	taken = now_ns() - start;
	server = accept(listener, NULL, NULL);
	check(server);
	(void)close(server);
	(void)close(client);
	return taken;
}

static uint64_t connect_path(size_t i)
{
	static int listener = -1;
	struct sockaddr_un address = {AF_UNIX, "socket"};

	(void)i;
	if (listener < 0) {
		listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)unlink("socket");
		check(bind(listener, (const struct sockaddr *)&address,
			   sizeof(address)));
		check(listen(listener, 8));
	}
	return connect_to(listener, &address, sizeof(address));
}

static uint64_t connect_tcp(size_t i)
{
	static int listener = -1;
	static struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	(void)i;
	if (listener < 0) {
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		check(bind(listener, (const struct sockaddr *)&address, len));
		check(listen(listener, 8));
		check(getsockname(listener, (struct sockaddr *)&address, &len));
	}
	return connect_to(listener, &address, sizeof(address));
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static int time_command(const char *name, char **command)
{
	uint64_t start = now_ns();
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)execvp(command[0], command);
		_exit(127);
	}
	check(waitpid(pid, &status, 0));
	if (status != 0)
		return 1;
	printf("%s\t%llu\n", name, (unsigned long long)(now_ns() - start));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t (*run)(size_t i);
	} rows[] = {
		{"open to write", open_write},
		{"create", create},
		{"create, write 4 KiB, close", create_filled},
		{"open to truncate 4 KiB", open_truncate},
		{"rename", rename_one},
		{"unlink", unlink_one},
		{"mkdir", make_directory},
		{"rmdir", remove_directory},
		{"connect to a path", connect_path},
		{"connect over TCP", connect_tcp},
		{"open to read (not watched)", open_read},
	};
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t *taken = calloc(count + 1, sizeof(*taken));

	if (argc > 3 && !strcmp(argv[1], "time"))
		return time_command(argv[2], argv + 3);
	if (count == 0 || !taken || chdir(argv[1]) < 0)
		return 2;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (size_t i = 0; i < count; i++)
			taken[i] = rows[row].run(i);
		qsort(taken, count, sizeof(*taken), compare);
		printf("%s\t%llu\n", rows[row].name,
		       (unsigned long long)taken[count / 2]);
	}
	for (size_t i = 0; i < count; i++)
		check(unlink(name_of('e', i)));
	free(taken);
	return 0;
}
