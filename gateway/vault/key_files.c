#include "gateway/vault/key_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define KEY_FILE      "vault.key"
#define KEY_FILE_NEXT "vault.key.next"

static int open_next(const struct seal_source *source, struct err *err)
{
	auto_fd int fd =
		openat(source->directory, KEY_FILE_NEXT,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_system(err, "open %s", KEY_FILE_NEXT);
	if (source->uid != (uid_t)-1 &&
	    fchown(fd, source->uid, (gid_t)source->uid) < 0)
		return err_system(err, "give %s to its owner", KEY_FILE_NEXT);
	if (fchmod(fd, 0600) < 0)
		return err_system(err, "change the mode of %s", KEY_FILE_NEXT);
	return take_fd(&fd);
}

int key_files_open(struct key_files *files, const struct seal_source *source,
		   struct err *err)
{
	*files = (struct key_files){-1, -1};
	if (seal_key_is_credential(source))
		return 0;
	files->key = openat(source->directory, KEY_FILE,
			    O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (files->key < 0)
		return errno == EACCES || errno == EROFS
			       ? 0
			       : err_system(err, "open %s", KEY_FILE);
	files->next = open_next(source, err);
	if (files->next >= 0)
		return 0;
	key_files_close(files);
	return -1;
}

void key_files_close(struct key_files *files)
{
	if (files->key >= 0)
		(void)close(files->key);
	if (files->next >= 0)
		(void)close(files->next);
	*files = (struct key_files){-1, -1};
}

int key_file_read(int fd, struct secret *key, struct err *err)
{
	uint8_t bytes[SEAL_KEY_LEN + 1];
	ssize_t len = pread(fd, bytes, sizeof(bytes), 0);
	int done = 0;

	if (len < 0)
		done = err_system(err, "read the vault's key");
	else if (len != SEAL_KEY_LEN)
		done = err_set(err, ERR_INVALID,
			       "read the vault's key: it has not %d bytes",
			       SEAL_KEY_LEN);
	else
		done = secret_set(key, bytes_from(bytes, SEAL_KEY_LEN), err);
	secret_wipe(bytes, sizeof(bytes));
	return done;
}

int key_file_write(int fd, const struct secret *key, struct err *err)
{
	if (pwrite(fd, key->data, key->len, 0) != (ssize_t)key->len ||
	    fsync(fd) < 0)
		return err_system(err, "write the vault's key");
	return 0;
}

int key_file_clear(int fd, struct err *err)
{
	static const uint8_t zeros[SEAL_KEY_LEN];
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_system(err, "look at a key's file");
	if (status.st_size == 0)
		return 0;
	if (pwrite(fd, zeros, sizeof(zeros), 0) != (ssize_t)sizeof(zeros) ||
	    fsync(fd) < 0 || ftruncate(fd, 0) < 0 || fsync(fd) < 0)
		return err_system(err, "clear a key's file");
	return 0;
}
