#include "gateway/sqlite/open.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "common/cleanup.h"

/* Make the file with the right owner before SQLite sees it: its log takes
 * the owner and mode of the file. */
static int make_file(int directory, const char *name, uid_t uid,
		     struct err *err)
{
	auto_fd int fd =
		openat(directory, name,
		       O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_system(err, "open %s", name);
	if (!S_ISREG(status.st_mode) || (status.st_mode & 0077))
		return err_set(err, ERR_INVALID,
			       "open %s: must be a file of mode 0600", name);
	if (uid != (uid_t)-1 && status.st_uid != uid &&
	    fchown(fd, uid, (gid_t)uid) < 0)
		return err_system(err, "give %s to its owner", name);
	return 0;
}

/* Of the small pieces that a connection keeps ready; the library's own choice
 * takes 85 KiB. */
#define LOOKASIDE_BYTES 128
#define LOOKASIDE_COUNT 128

/* One thread, and nobody asks how much memory SQLite has: no locks, and no
 * accounts of each allocation. A library that is in use keeps what it has. */
static void set_up_library(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	(void)sqlite3_config(SQLITE_CONFIG_LOOKASIDE, LOOKASIDE_BYTES,
			     LOOKASIDE_COUNT);
}

int sqlite_open(int directory, const char *name, uid_t uid, sqlite3 **db,
		struct err *err)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_PRIVATECACHE;
	char path[64];

	*db = NULL;
	set_up_library();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory,
		       name);
	if (make_file(directory, name, uid, err) < 0)
		return -1;
	if (sqlite3_open_v2(path, db, flags, NULL) == SQLITE_OK)
		return sqlite3_busy_timeout(*db, SQLITE_OPEN_WAIT_MS) ==
				       SQLITE_OK
			       ? 0
			       : -1;
	return *db ? -1 : err_set(err, ERR_LIBRARY, "open %s: no memory", name);
}

int sqlite_harden(sqlite3 *db)
{
	static const int off[] = {
		SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
		SQLITE_DBCONFIG_ENABLE_VIEW,	SQLITE_DBCONFIG_DQS_DML,
		SQLITE_DBCONFIG_DQS_DDL,
	};
	int keep_log = 1;

	for (size_t i = 0; i < ARRAY_SIZE(off); i++)
		if (sqlite3_db_config(db, off[i], 0, NULL) != SQLITE_OK)
			return -1;
	if (sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) !=
	    SQLITE_OK)
		return -1;
	/* The log is emptied at the end, not removed: no unlink then. */
	(void)sqlite3_file_control(db, "main", SQLITE_FCNTL_PERSIST_WAL,
				   &keep_log);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
	return 0;
}

int sqlite_open_all_now(sqlite3 *db, int version)
{
	char sql[64];
	uint8_t byte;

	(void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	sqlite3_randomness(sizeof(byte), &byte);
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}
