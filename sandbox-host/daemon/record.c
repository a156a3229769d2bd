#include "sandbox-host/daemon/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "sandbox-host/flow/files.h"

#define START_FIELD 22 /* proc(5): starttime in /proc/PID/stat */

static const struct wire_field record_fields[] = {
	WIRE_LIST(struct record, sandbox, 1, &host_sandbox_schema),
	WIRE_U32(struct record, supervisor_pid),
	WIRE_U64(struct record, supervisor_start),
	WIRE_BOOL(struct record, owns_workspace),
	WIRE_BOOL(struct record, is_pooled),
	WIRE_BOOL(struct record, is_bounded),
};
static const struct wire_schema record_schema =
	WIRE_SCHEMA("record", struct record, record_fields);

static int write_all(int fd, struct bytes text)
{
	return write(fd, text.data, text.len) == (ssize_t)text.len ? 0 : -1;
}

/* The digest stands before what it is of. */
int record_write(int dir, const struct record *record, struct err *err)
{
	auto_type(buf_release) struct buf out;
	uint8_t digest[DIGEST_LEN];
	auto_fd int fd = -1;

	buf_init(&out, RECORD_BYTES_MAX);
	if (wire_encode(&record_schema, record, &out, err) < 0)
		return -1;
	digest_sha256(buf_view(&out), bytes_from(NULL, 0), digest);
	fd = openat(dir, FILE_RECORD ".new",
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0 || write_all(fd, bytes_from(digest, sizeof(digest))) < 0 ||
	    write_all(fd, buf_view(&out)) < 0 ||
	    renameat(dir, FILE_RECORD ".new", dir, FILE_RECORD) < 0)
		return err_system(err, "write the record of a sandbox");
	return 0;
}

static int read_file(int dir, const char *name, struct arena *arena,
		     struct bytes *text, struct err *err)
{
	auto_free uint8_t *bytes = malloc(RECORD_BYTES_MAX + 1);
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t len = -1;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_MISSING, "there is no %s", name);
	if (fd >= 0 && bytes)
		len = read(fd, bytes, RECORD_BYTES_MAX + 1);
	if (len < 0 || len > RECORD_BYTES_MAX)
		return err_set(err, ERR_INVALID, "read %s", name);
	*text = arena_copy(arena, bytes_from(bytes, (size_t)len));
	return text->len == (size_t)len
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory");
}

int record_read(int dir, struct arena *arena, struct record *record,
		struct err *err)
{
	uint8_t digest[DIGEST_LEN];
	struct bytes text;

	if (read_file(dir, FILE_RECORD, arena, &text, err) < 0)
		return -1;
	if (text.len < DIGEST_LEN)
		return err_set(err, ERR_INVALID, "the record is cut");
	digest_sha256(bytes_slice(text, DIGEST_LEN, text.len),
		      bytes_from(NULL, 0), digest);
	if (memcmp(digest, text.data, DIGEST_LEN) != 0)
		return err_set(err, ERR_INVALID, "the record was changed");
	if (wire_decode(&record_schema, bytes_slice(text, DIGEST_LEN, text.len),
			arena, record, err) < 0 ||
	    record->sandbox_count != 1)
		return err_set(err, ERR_INVALID,
			       "the record is of another "
			       "kind");
	return 0;
}

int record_read_end(int dir, struct arena *arena,
		    struct supervisor_state *state, struct err *err)
{
	struct bytes text;

	if (read_file(dir, FILE_END, arena, &text, err) < 0)
		return -1;
	return wire_decode(&supervisor_state_schema, text, arena, state, err);
}

uint64_t record_start_of(pid_t pid)
{
	char path[64], text[1024];
	char *at = NULL;
	auto_fd int fd = -1;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* The second field is a name, with any characters in it. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < START_FIELD; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}
