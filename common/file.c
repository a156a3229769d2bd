#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"

#define BLOCK_BYTES ((size_t)16 * 1024)

static int too_large(const struct buf *out, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, "it is larger than %zu bytes",
		       out->max);
}

int file_read(int fd, struct buf *out, struct err *err)
{
	for (;;) {
		size_t want = buf_room(out) < BLOCK_BYTES ? buf_room(out)
							  : BLOCK_BYTES;
		uint8_t beyond[1]; /* a full buffer: is it the end? */
		uint8_t *room = want ? buf_reserve(out, want) : beyond;
		ssize_t len;

		if (!room)
			return err_set(err, ERR_TOO_LARGE, "no memory");
		len = read(fd, room, want ? want : sizeof(beyond));
		if (len < 0 && errno != EINTR)
			return err_system(err, "read");
		if (len == 0)
			return 0;
		if (len > 0 && !want)
			return too_large(out, err);
		if (len > 0)
			buf_commit(out, (size_t)len);
	}
}

int file_read_path(const char *path, struct buf *out, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_system(err, "open %s", path);
	if (file_read(fd, out, err) < 0)
		return err_prefix(err, "%s", path);
	return 0;
}
