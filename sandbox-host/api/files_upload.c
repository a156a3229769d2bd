/* POST /files/upload: pairs of a part `metadata` and a part `file`, as they
 * come. While the agent is busy, nothing is taken from the client. */
#include "common/buf.h"
#include "common/cleanup.h"
#include "sandbox-host/api/files.h"
#include "sandbox-host/api/multipart.h"

#define PENDING_MAX (MULTIPART_KEPT_MAX + 64 * 1024)

enum upload_state {
	UPLOAD_OPENING,	  /* there is no agent yet */
	UPLOAD_BETWEEN,	  /* parts */
	UPLOAD_METADATA,  /* its part comes */
	UPLOAD_CREATING,  /* the agent begins a file */
	UPLOAD_FILE,	  /* its part comes */
	UPLOAD_LAST,	  /* its part is over, pieces are being written */
	UPLOAD_COMMITTING /* the agent puts it in its place */
};

struct upload {
	struct files_task task;
	enum upload_state state;
	struct multipart parts;
	struct buf pending;  /* what the parser has not taken */
	struct buf metadata; /* text */
	struct buf piece;    /* of the file, to be sent */
	json_t *access;	     /* of the file that is to come; NULL: none */
	size_t file_count;
	bool is_complete; /* the body has all come */
};

static void pump(struct upload *upload);

static void upload_release(struct files_task *task)
{
	struct upload *upload = (struct upload *)task;

	buf_release(&upload->pending);
	buf_release(&upload->metadata);
	buf_release(&upload->piece);
	json_decref(upload->access);
}

/* -1 for the steps below: see files.h. */
static int fail(struct upload *upload, const char *code, const char *message)
{
	files_fail(&upload->task, 400, code, message);
	return -1;
}

static int fail_memory(struct upload *upload)
{
	exchange_fail_memory(upload->task.exchange);
	return -1;
}

/* ---- the agent ---- */

static void on_created(struct files_task *task, const void *message)
{
	struct upload *upload = (struct upload *)task;

	(void)message;
	upload->state = UPLOAD_FILE;
	pump(upload);
}

static void on_written(struct files_task *task, const void *message)
{
	(void)message;
	pump((struct upload *)task);
}

static void on_committed(struct files_task *task, const void *message)
{
	struct upload *upload = (struct upload *)task;

	(void)message;
	upload->state = UPLOAD_BETWEEN;
	upload->file_count++;
	pump(upload);
}

static int ask_create(struct upload *upload)
{
	const json_t *path = json_object_get(upload->access, "path");
	struct file_access access = {
		.path = bytes_from(json_string_value(path),
				   json_string_length(path))};
	const struct files_question question = {
		.type = MSG_FILE_CREATE,
		.schema = &file_access_schema,
		.message = &access,
	};

	(void)files_access_parse(upload->access, &access);
	upload->state = UPLOAD_CREATING;
	return files_ask(&upload->task, &question, on_created);
}

static int ask_write(struct upload *upload)
{
	const struct file_piece piece = {.bytes = buf_view(&upload->piece)};
	const struct files_question question = {
		.type = MSG_FILE_WRITE,
		.schema = &file_piece_schema,
		.message = &piece,
	};

	if (piece.bytes.len == 0)
		return 0;
	if (files_ask(&upload->task, &question, on_written) < 0)
		return -1;
	buf_clear(&upload->piece);
	return 0;
}

static int ask_commit(struct upload *upload)
{
	const struct wire_empty empty = {0};
	const struct files_question question = {
		.type = MSG_FILE_COMMIT,
		.schema = &wire_empty_schema,
		.message = &empty,
	};

	upload->state = UPLOAD_COMMITTING;
	return files_ask(&upload->task, &question, on_committed);
}

/* ---- parts ---- */

static int begin_part(struct upload *upload, struct bytes name)
{
	if (bytes_is(name, "metadata") && !upload->access) {
		buf_clear(&upload->metadata);
		upload->state = UPLOAD_METADATA;
		return 0;
	}
	if (!bytes_is(name, "file") || !upload->access)
		return fail(upload, "INVALID_FILE_METADATA",
			    "a part `metadata` and then a part `file` are "
			    "wanted, once for each file");
	return ask_create(upload);
}

static int take_data(struct upload *upload, struct bytes data)
{
	if (upload->state == UPLOAD_METADATA)
		return buf_add(&upload->metadata, data) == 0
			       ? 0
			       : fail(upload, "INVALID_FILE_METADATA",
				      "the metadata is too long");
	while (data.len > 0) {
		size_t room = buf_room(&upload->piece);
		struct bytes part = bytes_slice(data, 0, room);

		if (buf_add(&upload->piece, part) < 0)
			return fail_memory(upload);
		data = bytes_slice(data, part.len, data.len);
		if (buf_room(&upload->piece) == 0 && ask_write(upload) < 0)
			return -1;
	}
	return 0;
}

static int take_metadata(struct upload *upload)
{
	struct bytes text = buf_view(&upload->metadata);
	const json_t *path;
	struct file_access access = {0};

	upload->state = UPLOAD_BETWEEN;
	upload->access = json_loadb((const char *)text.data, text.len,
				    JSON_REJECT_DUPLICATES, NULL);
	path = json_object_get(upload->access, "path");
	if (!json_is_string(path) ||
	    files_access_parse(upload->access, &access) < 0)
		return fail(upload, "INVALID_FILE_METADATA",
			    "the metadata must be {path, owner, group, mode}");
	return files_check_path(
		upload->task.exchange,
		bytes_from(json_string_value(path), json_string_length(path)));
}

static int end_part(struct upload *upload)
{
	if (upload->state == UPLOAD_METADATA)
		return take_metadata(upload);
	json_decref(upload->access);
	upload->access = NULL;
	upload->state = UPLOAD_LAST;
	return ask_write(upload);
}

/* ---- flow ---- */

/* Must the agent answer before more is taken? */
static bool is_busy(const struct upload *upload)
{
	return upload->state == UPLOAD_OPENING ||
	       upload->state == UPLOAD_CREATING ||
	       upload->state == UPLOAD_LAST ||
	       upload->state == UPLOAD_COMMITTING ||
	       upload->task.in_flight >= FILES_IN_FLIGHT;
}

static int step(struct upload *upload, enum multipart_event event,
		struct bytes data)
{
	switch (event) {
	case MULTIPART_BEGIN:
		return begin_part(upload, data);
	case MULTIPART_DATA:
		return take_data(upload, data);
	case MULTIPART_END:
		return end_part(upload);
	case MULTIPART_INVALID:
		return fail(upload, "INVALID_REQUEST_BODY",
			    upload->parts.reason);
	case MULTIPART_MORE:
	case MULTIPART_OVER:
		return 0;
	}
	return 0;
}

/* All came that will. */
static void finish(struct upload *upload)
{
	if (!multipart_is_over(&upload->parts))
		(void)fail(upload, "INVALID_REQUEST_BODY",
			   "the body ends before its last boundary");
	else if (upload->access || upload->file_count == 0)
		(void)fail(upload, "INVALID_FILE", "there is no part `file`");
	else
		exchange_reply_empty(upload->task.exchange, 200);
}

/* Take what can be taken. Data borrows from what is pending, so each part of
 * it is dealt with before it is dropped. */
static void pump(struct upload *upload)
{
	enum multipart_event event = MULTIPART_DATA;

	if (upload->state == UPLOAD_LAST && upload->task.in_flight == 0 &&
	    ask_commit(upload) < 0)
		return;
	while (event != MULTIPART_MORE && !is_busy(upload)) {
		struct bytes rest = buf_view(&upload->pending);
		size_t before = rest.len;
		struct bytes data;

		event = multipart_next(&upload->parts, &rest, &data);
		if (step(upload, event, data) < 0)
			return;
		buf_consume(&upload->pending, before - rest.len);
		if (upload->state == UPLOAD_LAST &&
		    upload->task.in_flight == 0 && ask_commit(upload) < 0)
			return;
	}
	if (event == MULTIPART_MORE && upload->is_complete)
		finish(upload);
	else
		exchange_body_pause(upload->task.exchange, is_busy(upload));
}

static void on_piece(struct exchange *exchange, struct bytes piece)
{
	struct upload *upload = exchange->task;

	if (buf_add(&upload->pending, piece) < 0)
		(void)fail_memory(upload);
	else
		pump(upload);
}

static void on_complete(struct exchange *exchange)
{
	struct upload *upload = exchange->task;

	upload->is_complete = true;
	pump(upload);
}

static void begin(struct files_task *task)
{
	struct upload *upload = (struct upload *)task;

	upload->state = UPLOAD_BETWEEN;
	pump(upload);
}

void files_upload(struct exchange *exchange)
{
	struct multipart parts;
	struct upload *upload;

	if (multipart_open(&parts, exchange_field(exchange, "Content-Type")) <
	    0) {
		exchange_fail(exchange, 400, "INVALID_REQUEST_BODY", "%s",
			      parts.reason);
		return;
	}
	upload = files_task_new(exchange, sizeof(*upload), begin,
				upload_release);
	if (!upload)
		return;
	upload->parts = parts;
	buf_init(&upload->pending, PENDING_MAX);
	buf_init(&upload->metadata, FILES_METADATA_MAX);
	buf_init(&upload->piece, FILE_PIECE_MAX);
	exchange->on_piece = on_piece;
	exchange->on_complete = on_complete;
	exchange_body_pause(exchange, true);
	files_task_start(&upload->task);
}
