#include "common/secret.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"

void secret_init(struct secret *secret)
{
	*secret = (struct secret){0};
}

void secret_wipe(void *data, size_t len)
{
	if (len > 0)
		explicit_bzero(data, len);
}

void secret_release(struct secret *secret)
{
	if (secret->data) {
		secret_wipe(secret->data, secret->size);
		(void)munmap(secret->data, secret->size);
	}
	secret_init(secret);
}

/* Pages of its own for len bytes. */
static int secret_map(struct secret *secret, size_t len, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (len + page - 1) / page * page;
	void *data;

	secret_init(secret);
	if (size == 0)
		return 0;
	data = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return err_system(err, "map memory for a secret");
	/* RLIMIT_MEMLOCK may be small: then the pages can be swapped out. */
	(void)mlock(data, size);
	(void)madvise(data, size, MADV_DONTDUMP);
	secret->data = data;
	secret->size = size;
	return 0;
}

static int secret_check_len(size_t len, size_t max, struct err *err)
{
	if (len <= max && len <= SECRET_LEN_MAX)
		return 0;
	return err_set(err, ERR_TOO_LARGE, "hold a secret: it is too long");
}

/* Replace what secret held; fresh is empty then. */
static void secret_move(struct secret *secret, struct secret *fresh, size_t len)
{
	secret_release(secret);
	*secret = *fresh;
	secret->len = len;
	secret_init(fresh);
}

int secret_set(struct secret *secret, struct bytes bytes, struct err *err)
{
	struct secret fresh;

	if (secret_check_len(bytes.len, SECRET_LEN_MAX, err) < 0 ||
	    secret_map(&fresh, bytes.len, err) < 0)
		return -1;
	if (bytes.len > 0)
		memcpy(fresh.data, bytes.data, bytes.len);
	secret_move(secret, &fresh, bytes.len);
	return 0;
}

int secret_random(struct secret *secret, size_t len, struct err *err)
{
	struct secret fresh;

	if (secret_check_len(len, SECRET_LEN_MAX, err) < 0 ||
	    secret_map(&fresh, len, err) < 0)
		return -1;
	random_bytes(fresh.data, len);
	secret_move(secret, &fresh, len);
	return 0;
}

/* Read until the end or until size bytes stand there. */
static ssize_t read_up_to(int fd, uint8_t *to, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, to + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

int secret_read_fd(struct secret *secret, int fd, size_t max, struct err *err)
{
	auto_type(secret_release) struct secret fresh;
	size_t bound = max < SECRET_LEN_MAX ? max : SECRET_LEN_MAX;
	ssize_t len;

	/* Room for the line's end and for one byte that is too many. */
	if (secret_map(&fresh, bound + 2, err) < 0)
		return -1;
	len = read_up_to(fd, fresh.data, bound + 2);
	if (len < 0)
		return err_system(err, "read a secret");
	if (len > 0 && fresh.data[len - 1] == '\n')
		fresh.data[--len] = 0;
	if (secret_check_len((size_t)len, bound, err) < 0)
		return -1;
	secret_move(secret, &fresh, (size_t)len);
	return 0;
}

void secret_protect_process(void)
{
	const struct rlimit none = {0, 0};
	int core = setrlimit(RLIMIT_CORE, &none);
	int dumpable = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);

	assert(core == 0 && dumpable == 0);
}
