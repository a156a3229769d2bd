#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/vault/seal.h"

#define KEY_FILE	"vault.key"
#define KEY_FILE_NEW	"vault.key.new"
#define CREDENTIAL_FILE "sallyport-vault-key"
#define PREVIOUS_FILE	"sallyport-vault-key.previous"

/* systemd gives a credential to its user by an ACL, which shows as a mode
 * that the group may read. */
#define FILE_FORBIDDEN	     (S_IRWXG | S_IRWXO)
#define CREDENTIAL_FORBIDDEN (S_IWGRP | S_IXGRP | S_IRWXO)

static int check_file(int fd, const char *name, mode_t forbidden, uid_t uid,
		      struct err *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return err_system(err, "look at %s", name);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INVALID, "read %s: it is no file",
			       name);
	if (status.st_mode & forbidden)
		return err_set(err, ERR_INVALID,
			       "read %s: others may read it (mode %04o)", name,
			       (unsigned)(status.st_mode & 07777));
	if (status.st_uid != geteuid() && status.st_uid != 0 &&
	    status.st_uid != uid)
		return err_set(err, ERR_INVALID,
			       "read %s: it belongs to another user", name);
	return 0;
}

static int read_key(int fd, const char *name, struct secret *key,
		    struct err *err)
{
	/* One more than wanted, to see that there is no more. */
	uint8_t bytes[SEAL_KEY_LEN + 1];
	ssize_t len = read(fd, bytes, sizeof(bytes));
	int done = 0;

	if (len < 0)
		done = err_system(err, "read %s", name);
	else if (len != SEAL_KEY_LEN)
		done = err_set(err, ERR_INVALID, "read %s: it has not %d bytes",
			       name, SEAL_KEY_LEN);
	else
		done = secret_set(key, bytes_from(bytes, SEAL_KEY_LEN), err);
	secret_wipe(bytes, sizeof(bytes));
	return done;
}

/* 1: loaded; 0: there is no such file; -1. */
static int load_file(int directory, const char *name, mode_t forbidden,
		     uid_t uid, struct secret *key, struct err *err)
{
	auto_fd int fd =
		openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_system(err, "open %s", name);
	if (check_file(fd, name, forbidden, uid, err) < 0 ||
	    read_key(fd, name, key, err) < 0)
		return -1;
	return 1;
}

static int load_credential(const struct seal_source *source, const char *name,
			   struct secret *key, struct err *err)
{
	auto_fd int directory =
		open(source->credentials, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory < 0)
		return err_system(err, "open %s", source->credentials);
	return load_file(directory, name, CREDENTIAL_FORBIDDEN, source->uid,
			 key, err);
}

bool seal_key_is_credential(const struct seal_source *source)
{
	auto_fd int directory = source->credentials
					? open(source->credentials,
					       O_PATH | O_DIRECTORY | O_CLOEXEC)
					: -1;

	return directory >= 0 &&
	       faccessat(directory, CREDENTIAL_FILE, F_OK, 0) == 0;
}

int seal_key_previous(const struct seal_source *source, struct secret *key,
		      struct err *err)
{
	return seal_key_is_credential(source)
		       ? load_credential(source, PREVIOUS_FILE, key, err)
		       : 0;
}

static int write_key(int fd, const struct seal_source *source,
		     const struct secret *key, struct err *err)
{
	if (source->uid != (uid_t)-1 &&
	    fchown(fd, source->uid, (gid_t)source->uid) < 0)
		return err_system(err, "give %s to its owner", KEY_FILE);
	if (write(fd, key->data, key->len) != (ssize_t)key->len)
		return err_system(err, "write %s", KEY_FILE);
	if (fsync(fd) < 0)
		return err_system(err, "write %s", KEY_FILE);
	return 0;
}

/* The directory entry itself must survive the power going. */
static int sync_directory(int directory, struct err *err)
{
	auto_fd int fd =
		openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_system(err, "write %s", KEY_FILE);
	return 0;
}

/* Whole under another name first: there is never half a key. */
static int make_key(const struct seal_source *source, struct secret *key,
		    struct err *err)
{
	auto_fd int fd = -1;

	if (unlinkat(source->directory, KEY_FILE_NEW, 0) < 0 && errno != ENOENT)
		return err_system(err, "remove %s", KEY_FILE_NEW);
	fd = openat(source->directory, KEY_FILE_NEW,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_system(err, "make %s", KEY_FILE_NEW);
	if (secret_random(key, SEAL_KEY_LEN, err) < 0 ||
	    write_key(fd, source, key, err) < 0)
		return -1;
	if (renameat(source->directory, KEY_FILE_NEW, source->directory,
		     KEY_FILE) < 0)
		return err_system(err, "make %s", KEY_FILE);
	return sync_directory(source->directory, err);
}

int seal_key_load(const struct seal_source *source, struct secret *key,
		  struct err *err)
{
	int loaded = 0;

	secret_release(key);
	if (source->credentials) {
		loaded = load_credential(source, CREDENTIAL_FILE, key, err);
		if (loaded != 0)
			return loaded < 0 ? -1 : 0;
	}
	loaded = load_file(source->directory, KEY_FILE, FILE_FORBIDDEN,
			   source->uid, key, err);
	if (loaded != 0)
		return loaded < 0 ? -1 : 0;
	if (!source->may_make)
		return err_set(err, ERR_MISSING,
			       "read %s: it is gone, and there are secrets "
			       "sealed with it",
			       KEY_FILE);
	if (make_key(source, key, err) < 0) {
		secret_release(key);
		return -1;
	}
	return 0;
}
