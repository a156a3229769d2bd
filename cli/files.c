#include "cli/files.h"

#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "common/cleanup.h"

#define TURN_MS	       100
#define PAGE_ARENA_MAX (1024 * 1024)

/* ---- the channel ---- */

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct files *files = owner;

	(void)rpc;
	(void)why;
	files->rpc = NULL;
}

static void take_channel(const void *message, int *fd, void *owner)
{
	(void)message;
	*(int *)owner = take_fd(fd);
}

int files_open(struct files *files, struct bytes id)
{
	const struct rpc_config config = {.owner = files,
					  .on_closed = on_closed};
	const struct host_channel wanted = {.id = id,
					    .kind = HOST_CHANNEL_AGENT};
	int channel = -1;
	const struct host_call call = {
		.type = MSG_HOST_CHANNEL,
		.schema = &host_channel_schema,
		.message = &wanted,
		.fd = -1,
		.reply = &wire_empty_schema,
		.take = take_channel,
		.owner = &channel,
	};
	struct err err;
	int code;

	*files = (struct files){0};
	arena_init(&files->arena, PAGE_ARENA_MAX);
	if (host_open(&files->host, &err) < 0)
		return cli_fail_err(&err);
	code = host_ask_running(&files->host, &call, id);
	if (code != EXIT_OK)
		return code;
	files->rpc = rpc_new(files->host.loop, channel, &config, &err);
	return files->rpc ? EXIT_OK : cli_fail_err(&err);
}

void files_close(struct files *files)
{
	if (files->rpc)
		rpc_close(files->rpc);
	files->rpc = NULL;
	host_close(&files->host);
	arena_release(&files->arena);
}

/* ---- asking ---- */

struct question {
	uint16_t type;
	const struct wire_schema *schema;
	const void *message;
	const struct wire_schema *reply;
	/* Copy what is wanted of the answer. NULL, or why it can not be. */
	const char *(*take)(const void *message, void *owner);
	void *owner;

	struct err *err;
	bool is_done;
	int result;
};

static int fail_refusal(const struct rpc_refusal *refusal, struct err *err)
{
	enum err_code code = ERR_SYSTEM;

	if (refusal->code == HOST_REFUSED_MISSING)
		code = ERR_MISSING;
	if (refusal->code == HOST_REFUSED_FORBIDDEN)
		code = ERR_DENIED;
	return err_set(err, code, "%.*s", BYTES_ARGS(refusal->detail));
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	struct question *question = owner;
	const char *fault = NULL;

	question->is_done = true;
	question->result = -1;
	if (outcome->refusal) {
		(void)fail_refusal(outcome->refusal, question->err);
	} else if (outcome->err) {
		*question->err = *outcome->err;
	} else {
		if (question->take)
			fault = question->take(outcome->message,
					       question->owner);
		question->result =
			fault ? err_set(question->err, ERR_INVALID,
					"the sandbox answered with %s", fault)
			      : 0;
	}
}

static int ask(struct files *files, struct question *question, struct err *err)
{
	const struct rpc_call call = {
		.type = question->type,
		.schema = question->schema,
		.message = question->message,
		.fd = -1,
		.reply_schema =
			question->reply ? question->reply : &wire_empty_schema,
		.timeout_ms = HOST_TIMEOUT_MS,
		.on_outcome = on_outcome,
		.owner = question,
	};

	question->err = err;
	if (!files->rpc)
		return err_set(err, ERR_CLOSED, "the sandbox is gone");
	if (rpc_ask(files->rpc, &call, NULL, err) < 0)
		return -1;
	while (!question->is_done)
		if (io_loop_turn(files->host.loop, TURN_MS, err) < 0)
			return -1;
	return question->result;
}

/* ---- look ---- */

static const char *take_shown(const void *message, void *owner)
{
	const struct file_entry *entry = message;
	struct file_shown *shown = owner;

	shown->type = (enum file_type)entry->type;
	shown->size = entry->size;
	shown->mode = entry->mode & 0777;
	return file_entry_check(entry);
}

int files_show(struct files *files, const char *path, struct file_shown *shown,
	       struct err *err)
{
	const struct file_ref ref = {.path = bytes_str(path)};
	struct question question = {
		.type = MSG_FILE_SHOW,
		.schema = &file_ref_schema,
		.message = &ref,
		.reply = &file_entry_schema,
		.take = take_shown,
		.owner = shown,
	};

	return ask(files, &question, err);
}

struct page_taker {
	struct files *files;
	struct file_page *page;
};

static const char *take_page(const void *message, void *owner)
{
	const struct page_taker *taker = owner;
	const struct file_page *from = message;
	struct arena *arena = &taker->files->arena;
	struct file_entry *entries;
	const char *fault = file_page_check(from, &taker->files->walk);

	if (fault)
		return fault;
	arena_reset(arena);
	entries = arena_array(arena, from->entries_count, sizeof(*entries));
	for (size_t i = 0; entries && i < from->entries_count; i++) {
		entries[i] = from->entries[i];
		entries[i].path = arena_copy(arena, entries[i].path);
		entries[i].target = arena_copy(arena, entries[i].target);
		entries[i].owner = bytes_str("");
		entries[i].group = bytes_str("");
	}
	*taker->page = (struct file_page){
		.entries = entries,
		.entries_count = entries ? from->entries_count : 0,
		.more = from->more,
	};
	return NULL;
}

static int ask_page(struct files *files, struct question *question,
		    struct file_page *page, struct err *err)
{
	struct page_taker taker = {files, page};

	question->reply = &file_page_schema;
	question->take = take_page;
	question->owner = &taker;
	return ask(files, question, err);
}

int files_walk(struct files *files, const char *path, struct file_page *page,
	       struct err *err)
{
	struct question question = {
		.type = MSG_FILE_WALK,
		.schema = &file_walk_schema,
		.message = &files->walk,
	};

	files->walk = (struct file_walk){.path = bytes_str(path)};
	return ask_page(files, &question, page, err);
}

int files_walk_on(struct files *files, struct file_page *page, struct err *err)
{
	const struct wire_empty empty = {0};
	struct question question = {
		.type = MSG_FILE_WALK_ON,
		.schema = &wire_empty_schema,
		.message = &empty,
	};

	return ask_page(files, &question, page, err);
}

/* ---- read ---- */

struct piece_taker {
	struct file_span span;
	uint8_t bytes[FILE_PIECE_MAX];
	size_t len;
};

static const char *take_piece(const void *message, void *owner)
{
	const struct file_piece *piece = message;
	struct piece_taker *taker = owner;
	const char *fault = file_piece_check(piece, &taker->span);

	if (fault)
		return fault;
	taker->len = piece->bytes.len;
	if (taker->len > 0)
		memcpy(taker->bytes, piece->bytes.data, taker->len);
	return NULL;
}

static int write_all(int fd, struct bytes bytes, struct err *err)
{
	while (bytes.len > 0) {
		ssize_t put = write(fd, bytes.data, bytes.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_system(err, "write");
		bytes = bytes_slice(bytes, (size_t)put, bytes.len);
	}
	return 0;
}

int files_read(struct files *files, const char *path, int fd, struct err *err)
{
	const struct file_ref ref = {.path = bytes_str(path)};
	struct file_shown shown;
	static struct piece_taker taker;
	struct question open = {
		.type = MSG_FILE_OPEN,
		.schema = &file_ref_schema,
		.message = &ref,
		.reply = &file_entry_schema,
		.take = take_shown,
		.owner = &shown,
	};

	taker.span = (struct file_span){.len = FILE_PIECE_MAX};
	if (ask(files, &open, err) < 0)
		return -1;
	do {
		struct question read = {
			.type = MSG_FILE_READ,
			.schema = &file_span_schema,
			.message = &taker.span,
			.reply = &file_piece_schema,
			.take = take_piece,
			.owner = &taker,
		};

		if (ask(files, &read, err) < 0 ||
		    write_all(fd, bytes_from(taker.bytes, taker.len), err) < 0)
			return -1;
		taker.span.offset += taker.len;
	} while (taker.len == FILE_PIECE_MAX);
	return 0;
}

/* ---- write ---- */

static int ask_empty(struct files *files, uint16_t type,
		     const struct wire_schema *schema, const void *message,
		     struct err *err)
{
	struct question question = {
		.type = type, .schema = schema, .message = message};

	return ask(files, &question, err);
}

int files_write(struct files *files, const char *path, unsigned mode, int fd,
		struct err *err)
{
	static uint8_t bytes[FILE_PIECE_MAX];
	const struct wire_empty empty = {0};
	const struct file_access access = {
		.path = bytes_str(path), .has_mode = true, .mode = mode & 0777};
	ssize_t got;

	if (ask_empty(files, MSG_FILE_CREATE, &file_access_schema, &access,
		      err) < 0)
		return -1;
	while ((got = read(fd, bytes, sizeof(bytes))) > 0) {
		const struct file_piece piece = {
			.bytes = bytes_from(bytes, (size_t)got)};

		if (ask_empty(files, MSG_FILE_WRITE, &file_piece_schema, &piece,
			      err) < 0)
			return -1;
	}
	if (got < 0)
		return err_system(err, "read");
	return ask_empty(files, MSG_FILE_COMMIT, &wire_empty_schema, &empty,
			 err);
}

int files_mkdir(struct files *files, const char *path, unsigned mode,
		struct err *err)
{
	const struct file_access access = {
		.path = bytes_str(path), .has_mode = true, .mode = mode & 0777};

	return ask_empty(files, MSG_FILE_MKDIR, &file_access_schema, &access,
			 err);
}

int files_link(struct files *files, const char *path, const char *target,
	       struct err *err)
{
	const struct file_pair pair = {.from = bytes_str(target),
				       .to = bytes_str(path)};

	return ask_empty(files, MSG_FILE_LINK, &file_pair_schema, &pair, err);
}
