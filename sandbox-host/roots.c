#include "sandbox-host/roots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/arena.h"
#include "common/cleanup.h"
#include "sandbox-host/truststore.h"

#define FILE_BYTES_MAX (1024 * 1024)

const char *const roots_paths[ROOTS_PATHS] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

static struct {
	struct arena arena;
	struct stat made_of;
	struct roots roots; /* bag_count 0: nothing is ready */
} ready;

static int open_first(const char *const *paths, size_t count)
{
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < count; i++)
		fd = open(paths[i], O_RDONLY | O_CLOEXEC);
	return fd;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
	       one->st_size == other->st_size &&
	       one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
	       one->st_mtim.tv_nsec == other->st_mtim.tv_nsec &&
	       one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* Its text and a line feed, where nobody writes to it meanwhile. */
static int read_text(int fd, struct bytes *text)
{
	struct stat after;
	uint8_t *room;
	size_t len;

	if (fd < 0 || fstat(fd, &ready.made_of) < 0 ||
	    !S_ISREG(ready.made_of.st_mode) || ready.made_of.st_size <= 0 ||
	    ready.made_of.st_size > FILE_BYTES_MAX)
		return -1;
	len = (size_t)ready.made_of.st_size;
	room = arena_alloc(&ready.arena, len + 1);
	if (!room || read(fd, room, len) != (ssize_t)len ||
	    fstat(fd, &after) < 0 || !is_same(&after, &ready.made_of))
		return -1;
	room[len] = '\n';
	*text = bytes_from(room, len + 1);
	return 0;
}

void roots_prepare(const char *const *paths, size_t count)
{
	struct roots *roots = &ready.roots;
	auto_fd int fd = -1;
	unsigned made = 0;

	if (roots->bag_count > 0)
		return;
	fd = open_first(paths, count);
	arena_init(&ready.arena, 4 * FILE_BYTES_MAX);
	if (read_text(fd, &roots->text) == 0 &&
	    truststore_bags(&ready.arena, roots->text, &made, &roots->bags) ==
		    0 &&
	    made > 0)
		roots->bag_count = made;
	else
		arena_release(&ready.arena);
}

bool roots_take(int fd, struct roots *roots)
{
	struct stat now;

	if (ready.roots.bag_count == 0 || fstat(fd, &now) < 0 ||
	    !is_same(&now, &ready.made_of))
		return false;
	*roots = ready.roots;
	return true;
}

void roots_release(void)
{
	if (ready.roots.bag_count > 0)
		arena_release(&ready.arena);
	ready.roots = (struct roots){0};
}
