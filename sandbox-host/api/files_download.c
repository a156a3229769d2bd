/* GET /files/download: all of a file, a range of its bytes, or lines. */
#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/api/files.h"
#include "sandbox-host/api/range.h"

#define NAME_SHOWN_MAX 255
#define LINES_MAX      INT64_MAX

struct download {
	struct files_task task;
	struct bytes path;
	bool has_lines;
	uint64_t skip;	/* lines before the first that is wanted */
	uint64_t lines; /* that are wanted */
	struct file_span span;
	uint64_t left; /* bytes; of lines: no bound */
};

/* RFC 6266 with RFC 8187's ext-value, which holds any name. */
static void add_disposition(struct exchange *exchange, struct bytes path)
{
	static const char hex[] = "0123456789ABCDEF";
	auto_type(buf_release) struct buf out;
	struct bytes name = path;
	struct bytes head;

	while (bytes_split(&name, '/', &head))
		;
	name = head;
	buf_init(&out, 3 * NAME_SHOWN_MAX + 64);
	(void)buf_add_str(&out, "attachment; filename*=UTF-8''");
	for (size_t i = 0; i < name.len && i < NAME_SHOWN_MAX; i++) {
		uint8_t c = name.data[i];
		const uint8_t coded[] = {'%', (uint8_t)hex[c >> 4],
					 (uint8_t)hex[c & 15]};
		bool is_plain = (c >= '0' && c <= '9') ||
				(c >= 'A' && c <= 'Z') ||
				(c >= 'a' && c <= 'z') ||
				(c != '\0' && strchr("-._~", c));

		(void)buf_add(&out, is_plain ? bytes_from(&c, 1)
					     : bytes_from(coded, 3));
	}
	exchange_add_field(exchange, "Content-Disposition", buf_view(&out));
}

/* ---- the bytes ---- */

static void on_piece(struct files_task *task, const void *message);

static void ask_piece(struct download *download)
{
	const struct files_question question = {
		.type = MSG_FILE_READ,
		.schema = &file_span_schema,
		.message = &download->span,
		.reply = &file_piece_schema,
	};

	download->span.len = download->left < FILE_PIECE_MAX
				     ? (uint32_t)download->left
				     : FILE_PIECE_MAX;
	(void)files_ask(&download->task, &question, on_piece);
}

/* What of the piece belongs to the lines that are wanted. */
static struct bytes cut_lines(struct download *download, struct bytes piece)
{
	struct bytes rest;
	ptrdiff_t end;

	while (download->skip > 0) {
		end = bytes_find(piece, '\n', 0);
		if (end < 0)
			return bytes_from(NULL, 0);
		piece = bytes_slice(piece, (size_t)end + 1, piece.len);
		download->skip--;
	}
	rest = piece;
	while (download->lines > 0) {
		end = bytes_find(rest, '\n', 0);
		if (end < 0)
			return piece;
		rest = bytes_slice(rest, (size_t)end + 1, rest.len);
		download->lines--;
	}
	return bytes_slice(piece, 0, piece.len - rest.len);
}

static bool is_done(const struct download *download, size_t len)
{
	if (download->has_lines)
		return download->lines == 0 || len < download->span.len;
	return download->left == 0;
}

static void on_piece(struct files_task *task, const void *message)
{
	struct download *download = (struct download *)task;
	struct bytes piece = ((const struct file_piece *)message)->bytes;
	size_t len = piece.len;
	const char *fault = file_piece_check(message, &download->span);

	/* It became shorter: the client sees that it has not all of it. */
	if (!fault && !download->has_lines && len < download->span.len)
		fault = "fewer bytes than there were";
	if (fault) {
		files_fail_agent(task, fault);
		return;
	}
	download->span.offset += len;
	if (download->has_lines)
		piece = cut_lines(download, piece);
	else
		download->left -= len;
	if (exchange_stream_write(task->exchange, piece) < 0)
		return;
	if (is_done(download, len))
		exchange_stream_end(task->exchange);
	else if (!exchange_stream_is_full(task->exchange))
		ask_piece(download);
}

static void on_room(struct exchange *exchange)
{
	struct files_task *task = exchange->task;

	if (task->in_flight == 0 && task->has_begun)
		ask_piece(exchange->task);
}

/* ---- the answer's head ---- */

static void begin_stream(struct download *download, unsigned status,
			 uint64_t len)
{
	struct exchange *exchange = download->task.exchange;

	exchange_add_field(exchange, "Accept-Ranges", bytes_str("bytes"));
	add_disposition(exchange, download->path);
	download->task.has_begun = true;
	if (exchange_stream_begin(exchange, status, "application/octet-stream",
				  len) < 0)
		return;
	if (download->left == 0 ||
	    (download->has_lines && download->lines == 0))
		exchange_stream_end(exchange);
	else
		ask_piece(download);
}

static void answer_range(struct download *download, uint64_t size)
{
	struct exchange *exchange = download->task.exchange;
	struct range range;
	char text[96];

	switch (range_parse(exchange_field(exchange, "Range"), size, &range)) {
	case RANGE_ALL:
		download->left = size;
		begin_stream(download, 200, size);
		return;
	case RANGE_PART:
		(void)snprintf(text, sizeof(text), "bytes %llu-%llu/%llu",
			       (unsigned long long)range.from,
			       (unsigned long long)(range.from + range.len - 1),
			       (unsigned long long)size);
		exchange_add_field(exchange, "Content-Range", bytes_str(text));
		download->span.offset = range.from;
		download->left = range.len;
		begin_stream(download, 206, range.len);
		return;
	case RANGE_NONE:
		(void)snprintf(text, sizeof(text), "bytes */%llu",
			       (unsigned long long)size);
		exchange_add_field(exchange, "Content-Range", bytes_str(text));
		exchange_fail(exchange, 416, "INVALID_REQUEST",
			      "the file has no such range");
	}
}

static void on_opened(struct files_task *task, const void *message)
{
	struct download *download = (struct download *)task;
	const struct file_entry *entry = message;
	const char *fault = file_entry_check(entry);

	if (fault) {
		files_fail_agent(task, fault);
	} else if (download->has_lines) {
		download->left = UINT64_MAX;
		begin_stream(download, 200, UINT64_MAX);
	} else {
		answer_range(download, entry->size);
	}
}

static void ask_open(struct files_task *task)
{
	const struct file_ref ref = {.path = ((struct download *)task)->path};
	const struct files_question question = {
		.type = MSG_FILE_OPEN,
		.schema = &file_ref_schema,
		.message = &ref,
		.reply = &file_entry_schema,
	};

	(void)files_ask(task, &question, on_opened);
}

/* ---- the request ---- */

/* False: answered. */
static bool read_lines(struct exchange *exchange, struct download *wanted)
{
	struct bytes text;
	uint64_t offset = 1;

	wanted->lines = LINES_MAX;
	wanted->has_lines = exchange_query(exchange, "offset", &text) ||
			    exchange_query(exchange, "limit", &text);
	if (!exchange_query_number(exchange, "offset", LINES_MAX, &offset) ||
	    !exchange_query_number(exchange, "limit", LINES_MAX,
				   &wanted->lines))
		return false;
	if (offset == 0 ||
	    (wanted->has_lines && exchange_field(exchange, "Range").len > 0)) {
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      offset == 0 ? "lines are counted from 1"
					  : "a range of bytes, or lines");
		return false;
	}
	wanted->skip = offset - 1;
	return true;
}

void files_download(struct exchange *exchange)
{
	struct download wanted = {0};
	struct download *download;
	struct files_task task;

	if (!exchange_query(exchange, "path", &wanted.path)) {
		exchange_fail(exchange, 400, "MISSING_QUERY",
			      "a path is wanted");
		return;
	}
	if (files_check_path(exchange, wanted.path) < 0 ||
	    !read_lines(exchange, &wanted))
		return;
	download = files_task_new(exchange, sizeof(*download), ask_open, NULL);
	if (!download)
		return;
	task = download->task;
	*download = wanted;
	download->task = task;
	exchange->on_room = on_room;
	files_task_start(&download->task);
}
