/*
 * sallyport-sign: signer.h says what it is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/signer/signer.h"

#define GATEWAY_ADDRESS "198.18.0.1"
#define GATEWAY_PORT	3128
#define PATIENCE_S	30
#define KEY_FILE_MAX	4096
#define NO_PROGRAM	127

static int fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "sallyport: not signed: %s%s%s\n", what,
		      why[0] ? ": " : "", why);
	return EXIT_FAILURE;
}

/* All of fd, up to out's bound. 0, or -1. */
static int read_all(int fd, struct buf *out)
{
	for (;;) {
		size_t room = buf_room(out) < 65536 ? buf_room(out) : 65536;
		uint8_t *to = room ? buf_reserve(out, room) : NULL;
		ssize_t got;

		errno = EFBIG;
		if (!to)
			return -1;
		got = read(fd, to, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return (int)got;
		buf_commit(out, (size_t)got);
	}
}

static int write_all(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t sent = write(fd, bytes.data, bytes.len);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		bytes = bytes_slice(bytes, (size_t)sent, bytes.len);
	}
	return 0;
}

static int read_file(const char *path, struct buf *out)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -1 : read_all(fd, out);
}

/* ---- is it the session's key that is to sign? ---- */

static bool is_ours(const char *key)
{
	auto_type(buf_release) struct buf own = {0}, given = {0};
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (len < 0)
		return false;
	path[len] = '\0';
	slash = strrchr(path, '/');
	(void)snprintf(slash, sizeof(path) - (size_t)(slash - path),
		       "/sign.pub");
	if (!strcmp(path, key))
		return true;
	buf_init(&own, KEY_FILE_MAX);
	buf_init(&given, KEY_FILE_MAX);
	return read_file(path, &own) == 0 && read_file(key, &given) == 0 &&
	       signer_is_key(buf_view(&own), buf_view(&given));
}

static int call_ssh_keygen(char **argv)
{
	static char program[] = "ssh-keygen";

	argv[0] = program;
	(void)execvp(program, argv);
	(void)fprintf(stderr, "sallyport: ssh-keygen: %s\n", strerror(errno));
	return NO_PROGRAM;
}

/* ---- the gateway ---- */

static int reach(void)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	const char *proxy = getenv("http_proxy");
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(GATEWAY_PORT),
	};
	auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, GATEWAY_ADDRESS, &address.sin_addr);
	signer_proxy_read(proxy, &address);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return take_fd(&fd);
}

static int ask(struct bytes object, struct buf *answer)
{
	auto_fd int fd = reach();
	char head[256];

	if (fd < 0)
		return -1;
	(void)snprintf(head, sizeof(head),
		       "POST http://sallyport.internal/sign HTTP/1.1\r\n"
		       "Host: sallyport.internal\r\n"
		       "Content-Type: application/octet-stream\r\n"
		       "Content-Length: %zu\r\n"
		       "Connection: close\r\n\r\n",
		       object.len);
	if (write_all(fd, bytes_str(head)) < 0 || write_all(fd, object) < 0)
		return -1;
	return read_all(fd, answer);
}

/* As ssh-keygen does: beside the file. */
static int keep(const char *file, struct bytes signature)
{
	char path[PATH_MAX];
	auto_fd int fd = -1;

	if (snprintf(path, sizeof(path), "%s.sig", file) >= PATH_MAX)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd < 0 ? -1 : write_all(fd, signature);
}

static int sign(const char *file)
{
	auto_type(buf_release) struct buf object, answer, why;
	struct bytes signature;

	/* One more: what is too large is told from what just fits. */
	buf_init(&object, SIGNER_OBJECT_MAX + 1);
	buf_init(&answer, SIGNER_ANSWER_MAX);
	buf_init(&why, SIGNER_WHY_MAX);
	if (read_file(file, &object) < 0)
		return fail(file, strerror(errno));
	if (ask(buf_view(&object), &answer) < 0)
		return fail("the gateway does not answer", strerror(errno));
	if (signer_answer_read(buf_view(&answer), &signature, &why) < 0)
		return fail(buf_str(&why) ? buf_str(&why) : "", "");
	if (keep(file, signature) < 0)
		return fail("write the signature", strerror(errno));
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct signer_call call;

	if (!signer_call_read(argc, argv, &call) || !is_ours(call.key))
		return call_ssh_keygen(argv);
	return sign(call.file);
}
