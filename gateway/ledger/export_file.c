#include "gateway/ledger/export_file.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

#define ROWS_ARENA_MAX	(256 * 1024)
#define LINES_MAX	(128 * 1024)
#define LINE_BEGIN	"{\"sequence\":"
#define SEQUENCE_DIGITS 19

_Static_assert(EXPORT_TAIL_MAX > 2 * (ROW_JSON_MAX + 256),
	       "a whole line stands before one that is cut");
_Static_assert(LINES_MAX > STORE_ROWS_BYTES_MAX + STORE_ROWS_MAX,
	       "the rows of a query fit");

bool export_file_is(const struct export_file *file, int fd)
{
	struct stat stat;

	return file->fd >= 0 && fstat(fd, &stat) == 0 &&
	       stat.st_dev == file->device && stat.st_ino == file->inode;
}

void export_file_close(struct export_file *file)
{
	if (file->fd >= 0)
		(void)close(file->fd);
	file->fd = -1;
}

/* ---- where it goes on ---- */

/* What a line of ours begins with, as far as the text goes. */
static bool begins_as_ours(struct bytes text)
{
	struct bytes begin = bytes_str(LINE_BEGIN);

	return bytes_equal(bytes_slice(text, 0, begin.len),
			   bytes_slice(begin, 0, text.len));
}

/* The number in a line (untrusted), or 0. */
static uint64_t sequence_of(struct bytes line)
{
	size_t from = sizeof(LINE_BEGIN) - 1;
	ptrdiff_t comma = bytes_find(line, ',', 0);
	uint64_t sequence;

	if (!begins_as_ours(line) || comma < (ptrdiff_t)from ||
	    bytes_to_u64(bytes_slice(line, from, (size_t)comma),
			 SEQUENCE_DIGITS, &sequence) < 0)
		return 0;
	return sequence;
}

/* Is that line the row of that number? */
static int check_row(struct store *store, uint64_t sequence, struct bytes line,
		     struct err *err)
{
	const struct msg_ledger_query query = {.after = sequence - 1,
					       .limit = 1};
	auto_type(arena_release) struct arena arena = {0};
	struct msg_ledger_rows rows;

	if (sequence > store->head.sequence)
		return err_set(err, ERR_INVALID,
			       "its last row, %" PRIu64
			       ", is not in this record",
			       sequence);
	/* What was removed since cannot be compared. */
	if (sequence <= store->anchor.sequence)
		return 0;
	arena_init(&arena, ROWS_ARENA_MAX);
	if (store_query(store, &query, &arena, &rows, err) < 0)
		return -1;
	if (rows.rows_count == 1 && rows.rows[0].sequence == sequence &&
	    bytes_equal(rows.rows[0].json, line))
		return 0;
	return err_set(err, ERR_INVALID,
		       "its last row, %" PRIu64 ", is another in this record",
		       sequence);
}

/* Where the line feed before the offset end stands, plus one; 0: nowhere. */
static size_t line_begin(struct bytes text, size_t end)
{
	while (end > 0 && text.data[end - 1] != '\n')
		end--;
	return end;
}

/* tail: the end of the file, which begins at the offset from. */
static int find_place(struct export_file *file, struct store *store,
		      struct bytes tail, off_t from, struct err *err)
{
	size_t end = line_begin(tail, tail.len);
	size_t begin = end > 0 ? line_begin(tail, end - 1) : 0;
	struct bytes line = bytes_slice(tail, begin, end > 0 ? end - 1 : 0);
	uint64_t sequence = sequence_of(line);

	if (!begins_as_ours(bytes_slice(tail, end, tail.len)) ||
	    (end > 0 && sequence == 0) || (end == 0 && from > 0))
		return err_set(err, ERR_INVALID,
			       "it does not end with a row of this record");
	if (end > 0 && check_row(store, sequence, line, err) < 0)
		return -1;
	if (end < tail.len && ftruncate(file->fd, from + (off_t)end) < 0)
		return err_system(err, "cut off the beginning of a line");
	if (end > 0)
		file->told = sequence;
	return 0;
}

static int go_on(struct export_file *file, struct store *store, struct err *err)
{
	static uint8_t tail[EXPORT_TAIL_MAX];
	struct stat stat;
	off_t from = 0;
	ssize_t len;

	if (fstat(file->fd, &stat) < 0)
		return err_system(err, "look at it");
	file->device = stat.st_dev;
	file->inode = stat.st_ino;
	if (stat.st_size > EXPORT_TAIL_MAX)
		from = stat.st_size - EXPORT_TAIL_MAX;
	len = pread(file->fd, tail, sizeof(tail), from);
	if (len < 0)
		return err_system(err, "read its end");
	return find_place(file, store, bytes_from(tail, (size_t)len), from,
			  err);
}

int export_file_open(struct export_file *file, struct store *store, int fd,
		     struct err *err)
{
	export_file_close(file);
	file->fd = fd;
	if (go_on(file, store, err) == 0)
		return 0;
	export_file_close(file);
	return -1;
}

/* ---- rows ---- */

static int add_lines(struct buf *lines, const struct msg_ledger_rows *rows,
		     struct err *err)
{
	for (size_t i = 0; i < rows->rows_count; i++)
		if (buf_add(lines, rows->rows[i].json) < 0 ||
		    buf_add_byte(lines, '\n') < 0)
			return err_set(err, ERR_SYSTEM,
				       "write rows: no memory");
	return 0;
}

/* All of it or an error: what stands there of it then is cut off when the
 * file is opened again. */
static int write_all(int fd, struct bytes text, struct err *err)
{
	ssize_t len = write(fd, text.data, text.len);

	if (len < 0)
		return err_system(err, "write");
	if ((size_t)len < text.len)
		return err_set(err, ERR_TOO_LARGE,
			       "write: there is room for a part alone");
	return 0;
}

int export_file_write(struct export_file *file, struct store *store,
		      struct err *err)
{
	const struct msg_ledger_query query = {.after = file->told,
					       .limit = STORE_ROWS_MAX};
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf lines;
	struct msg_ledger_rows rows;

	buf_init(&lines, LINES_MAX);
	arena_init(&arena, ROWS_ARENA_MAX);
	if (file->told >= store->head.sequence)
		return 0;
	if (store_query(store, &query, &arena, &rows, err) < 0 ||
	    add_lines(&lines, &rows, err) < 0)
		return -1;
	if (rows.rows_count == 0)
		return 0;
	if (write_all(file->fd, buf_view(&lines), err) < 0)
		return -1;
	file->told = rows.rows[rows.rows_count - 1].sequence;
	return rows.more;
}
