#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/wire.h"

/* So that what was mapped cannot change, and cannot fault, under us. */
#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int write_all(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.data, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes = bytes_slice(bytes, (size_t)n, bytes.len);
	}
	return 0;
}

int wire_memfd_seal(const char *name, struct bytes bytes, struct err *err)
{
	auto_fd int fd = -1;

	if (bytes.len > WIRE_MEMFD_MAX)
		return err_set(err, ERR_TOO_LARGE, "seal %s: %zu bytes", name,
			       bytes.len);
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_system(err, "create memfd %s", name);
	if (write_all(fd, bytes) < 0)
		return err_system(err, "write memfd %s", name);
	if (fcntl(fd, F_ADD_SEALS, SEALS_NEEDED | F_SEAL_SEAL) < 0)
		return err_system(err, "seal memfd %s", name);
	return take_fd(&fd);
}

int wire_memfd_map(int fd, size_t max, struct bytes *view, struct err *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	off_t len;
	void *data;

	*view = bytes_from(NULL, 0);
	if (seals < 0)
		return err_system(err, "read the seals of a descriptor");
	if ((seals & SEALS_NEEDED) != SEALS_NEEDED)
		return err_set(err, ERR_INVALID, "map memfd: it is not sealed");
	/* Not fstat(): as a system call it takes paths as well. */
	len = lseek(fd, 0, SEEK_END);
	if (len < 0)
		return err_system(err, "measure memfd");
	if ((uint64_t)len > max)
		return err_set(err, ERR_TOO_LARGE,
			       "map memfd: larger than %zu bytes", max);
	if (len == 0)
		return 0;
	data = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return err_system(err, "map memfd");
	*view = bytes_from(data, (size_t)len);
	return 0;
}

void wire_memfd_unmap(struct bytes view)
{
	union {
		const uint8_t *from;
		void *to;
	} data = {.from = view.data};

	if (view.len > 0)
		(void)munmap(data.to, view.len);
}
