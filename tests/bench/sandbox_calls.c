/*
 * sandbox_calls DIRECTORY COUNT: the calls that a sandbox's reporter watches,
 * each COUNT times. Prints "name nanoseconds" of each call's median; one that
 * is not watched is measured beside them.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t write_open(void)
{
	uint64_t start = now_ns();
	int fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t taken = now_ns() - start;

	if (fd < 0)
		exit(1);
	(void)close(fd);
	return taken;
}

static uint64_t read_open(void)
{
	uint64_t start = now_ns();
	int fd = open("file", O_RDONLY | O_CLOEXEC);
	uint64_t taken = now_ns() - start;

	if (fd < 0)
		exit(1);
	(void)close(fd);
	return taken;
}

static uint64_t unlink_one(void)
{
	int fd = open("gone", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	uint64_t start = now_ns();

	if (fd < 0 || close(fd) < 0 || unlink("gone") < 0)
		exit(1);
	return now_ns() - start;
}

/* To a listener of our own, with a path. */
static uint64_t connect_one(void)
{
	static int listener = -1;
	struct sockaddr_un address = {AF_UNIX, "socket"};
	uint64_t start, taken;
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int server;

	if (listener < 0) {
		listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)unlink("socket");
		if (bind(listener, (const struct sockaddr *)&address,
			 sizeof(address)) < 0 ||
		    listen(listener, 8) < 0)
			exit(1);
	}
	start = now_ns();
	if (connect(client, (const struct sockaddr *)&address,
		    sizeof(address)) < 0)
		exit(1);
	taken = now_ns() - start;
	server = accept(listener, NULL, NULL);
	(void)close(server);
	(void)close(client);
	return taken;
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t (*run)(void);
	} rows[] = {
		{"open to write", write_open},
		{"unlink", unlink_one},
		{"connect", connect_one},
		{"open to read (not watched)", read_open},
	};
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	uint64_t *taken = calloc(count + 1, sizeof(*taken));

	if (count == 0 || !taken || chdir(argv[1]) < 0)
		return 2;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		for (size_t i = 0; i < count; i++)
			taken[i] = rows[row].run();
		qsort(taken, count, sizeof(*taken), compare);
		printf("%s\t%llu\n", rows[row].name,
		       (unsigned long long)taken[count / 2]);
	}
	free(taken);
	return 0;
}
