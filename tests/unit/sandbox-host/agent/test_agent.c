/*
 * The agent on a directory of the test's own, asked over a channel. What
 * confinement does for it is tested end to end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/agent.h"
#include "sandbox-host/flow/messages.h"
#include "sandbox-host/plan.h"
#include "tests/unit/sandbox-host/scratch.h"

#define ASK_MS	  20000
#define TURNS_MAX 2000

static struct {
	struct io_loop *loop;
	struct rpc *rpc;
	pid_t pid;

	bool is_done;
	unsigned refusal; /* 0: it was answered */
	char detail[513];
	struct file_entry entry;
	struct file_piece piece;
	uint8_t bytes[FILE_PIECE_MAX];
	uint64_t count;
	char names[4096]; /* of pages: "a,b," */
	bool more;
	const struct wire_schema *schema;
} asked;

static void on_closed(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)why;
	(void)owner;
	asked.rpc = NULL;
}

static int begin(void **state)
{
	const struct plan plan = {.workspace = "/"};
	const struct rpc_config config = {.on_closed = on_closed};
	struct err err;
	int ends[2];

	(void)state;
	scratch_make();
	if (io_message_pair(ends, &err) < 0)
		return -1;
	asked.pid = fork();
	if (asked.pid == 0) {
		(void)close(ends[0]);
		(void)!chdir(scratch);
		agent_run(ends[1], &plan);
		exit(0);
	}
	(void)close(ends[1]);
	asked.loop = io_loop_new(&err);
	asked.rpc = rpc_new(asked.loop, ends[0], &config, &err);
	return asked.rpc ? 0 : -1;
}

static int finish(void **state)
{
	struct err err;
	int status;

	(void)state;
	if (asked.rpc)
		rpc_close(asked.rpc);
	(void)io_loop_turn(asked.loop, 0, &err);
	io_loop_free(asked.loop);
	(void)waitpid(asked.pid, &status, 0);
	scratch_remove();
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static void take_page(const struct file_page *page)
{
	for (size_t i = 0; i < page->entries_count; i++) {
		size_t end = strlen(asked.names);

		(void)snprintf(asked.names + end, sizeof(asked.names) - end,
			       "%.*s,", BYTES_ARGS(page->entries[i].path));
	}
	asked.more = page->more;
}

static void on_outcome(struct rpc_outcome *outcome, void *owner)
{
	(void)owner;
	asked.is_done = true;
	if (outcome->refusal) {
		asked.refusal = outcome->refusal->code;
		(void)snprintf(asked.detail, sizeof(asked.detail), "%.*s",
			       BYTES_ARGS(outcome->refusal->detail));
		return;
	}
	assert_null(outcome->err);
	if (asked.schema == &file_entry_schema)
		asked.entry = *(const struct file_entry *)outcome->message;
	if (asked.schema == &file_page_schema)
		take_page(outcome->message);
	if (asked.schema == &file_count_schema)
		asked.count =
			((const struct file_count *)outcome->message)->count;
	if (asked.schema == &file_piece_schema) {
		asked.piece = *(const struct file_piece *)outcome->message;
		if (asked.piece.bytes.len)
			memcpy(asked.bytes, asked.piece.bytes.data,
			       asked.piece.bytes.len);
	}
}

/* The refusal's code; 0 when it was answered. */
static unsigned ask(uint16_t type, const struct wire_schema *schema,
		    const void *message, const struct wire_schema *reply,
		    int fd)
{
	const struct rpc_call call = {
		.type = type,
		.schema = schema,
		.message = message,
		.fd = fd,
		.reply_schema = reply,
		.timeout_ms = ASK_MS,
		.on_outcome = on_outcome,
	};
	struct err err;

	asked.is_done = false;
	asked.refusal = 0;
	asked.schema = reply;
	assert_int_equal(rpc_ask(asked.rpc, &call, NULL, &err), 0);
	for (int i = 0; i < TURNS_MAX && !asked.is_done; i++)
		assert_int_equal(io_loop_turn(asked.loop, 50, &err), 0);
	assert_true(asked.is_done);
	return asked.refusal;
}

static unsigned show(const char *path)
{
	const struct file_ref ref = {.path = bytes_str(path)};

	return ask(MSG_FILE_SHOW, &file_ref_schema, &ref, &file_entry_schema,
		   -1);
}

static unsigned create(struct file_access access, const char *path)
{
	access.path = bytes_str(path);
	return ask(MSG_FILE_CREATE, &file_access_schema, &access,
		   &wire_empty_schema, -1);
}

static unsigned write_piece(const char *text)
{
	const struct file_piece piece = {.bytes = bytes_str(text)};

	return ask(MSG_FILE_WRITE, &file_piece_schema, &piece,
		   &wire_empty_schema, -1);
}

static unsigned commit(void)
{
	const struct wire_empty empty = {0};

	return ask(MSG_FILE_COMMIT, &wire_empty_schema, &empty,
		   &wire_empty_schema, -1);
}

static void put(const char *path, const char *text)
{
	assert_int_equal(create((struct file_access){0}, path), 0);
	assert_int_equal(write_piece(text), 0);
	assert_int_equal(commit(), 0);
}

static bool has(const char *path, const char *text)
{
	char content[256] = "";
	auto_fd int fd = open(scratch_path(path), O_RDONLY);

	return fd >= 0 && read(fd, content, sizeof(content) - 1) >= 0 &&
	       !strcmp(content, text);
}

static unsigned walk(const char *path, struct file_walk wanted)
{
	const struct wire_empty empty = {0};
	unsigned refusal;

	wanted.path = bytes_str(path);
	asked.names[0] = '\0';
	refusal = ask(MSG_FILE_WALK, &file_walk_schema, &wanted,
		      &file_page_schema, -1);
	while (!refusal && asked.more)
		refusal = ask(MSG_FILE_WALK_ON, &wire_empty_schema, &empty,
			      &file_page_schema, -1);
	return refusal;
}

static unsigned move(const char *from, const char *to)
{
	const struct file_pair pair = {bytes_str(from), bytes_str(to)};

	return ask(MSG_FILE_MOVE, &file_pair_schema, &pair, &wire_empty_schema,
		   -1);
}

static unsigned remove_path(const char *path, bool is_directory)
{
	const struct file_remove wanted = {bytes_str(path), is_directory};

	return ask(MSG_FILE_REMOVE, &file_remove_schema, &wanted,
		   &wire_empty_schema, -1);
}

static unsigned replace(const char *path, const char *old, const char *new)
{
	const struct file_replace wanted = {bytes_str(path), bytes_str(old),
					    bytes_str(new)};
	const struct wire_empty empty = {0};
	struct err err;
	auto_fd int fd = file_replace_seal(&wanted, &err);

	assert_true(fd >= 0);
	return ask(MSG_FILE_REPLACE, &wire_empty_schema, &empty,
		   &file_count_schema, fd);
}

/* ---- tests ---- */

static void a_file_is_there_once_it_is_whole(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(
		create((struct file_access){.has_mode = true, .mode = 0640},
		       "new/dir/file"),
		0);
	assert_int_equal(write_piece("one"), 0);
	assert_int_equal(walk("new/dir", (struct file_walk){0}), 0);
	assert_string_equal(asked.names, "");
	assert_int_equal(write_piece("two"), 0);
	assert_int_equal(commit(), 0);
	assert_true(has("new/dir/file", "onetwo"));
	assert_int_equal(stat(scratch_path("new/dir/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);

	/* Another one in its place has its mode. */
	put("new/dir/file", "3");
	assert_true(has("new/dir/file", "3"));
	assert_int_equal(stat(scratch_path("new/dir/file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(commit(), HOST_REFUSED_INVALID);
	assert_int_equal(write_piece("x"), HOST_REFUSED_INVALID);
}

static void what_was_not_committed_leaves_nothing(void **state)
{
	struct err err;

	(void)state;
	put("file", "old");
	assert_int_equal(create((struct file_access){0}, "file"), 0);
	assert_int_equal(write_piece("new"), 0);
	rpc_close(asked.rpc);
	asked.rpc = NULL;
	assert_int_equal(io_loop_turn(asked.loop, 0, &err), 0);
	assert_int_equal(waitpid(asked.pid, NULL, 0), asked.pid);
	assert_true(has("file", "old"));
	assert_int_equal(unlink(scratch_path("file")), 0);
	assert_int_equal(rmdir(scratch), 0);
	/* As finish() expects it. */
	assert_int_equal(mkdir(scratch, 0700), 0);
	asked.pid = fork();
	if (asked.pid == 0)
		_exit(0);
}

static void links_are_followed_as_a_command_would(void **state)
{
	(void)state;
	put("real", "1");
	scratch_link("alias", "real");
	scratch_link("dangling", "made/here");
	scratch_link("loop", "loop");
	put("alias", "2");
	assert_true(has("real", "2"));
	put("dangling", "3");
	assert_true(has("made/here", "3"));
	assert_int_equal(create((struct file_access){0}, "loop"),
			 HOST_REFUSED_INVALID);
	assert_int_equal(show("alias"), 0);
	assert_int_equal(asked.entry.type, FILE_SYMLINK);
	assert_int_equal(walk("alias", (struct file_walk){0}),
			 HOST_REFUSED_INVALID);
}

/* How often it has read from a file. */
static unsigned long reads_of_agent(void)
{
	char path[64], line[128];
	unsigned long count = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/io", asked.pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (count == 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "syscr: %lu", &count);
	(void)fclose(file);
	return count;
}

static void a_walk_looks_owners_up_once_for_all_files(void **state)
{
	char name[32];
	unsigned long before;

	(void)state;
	scratch_dir("dir");
	for (int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "dir/%d", i);
		scratch_file(name);
	}
	before = reads_of_agent();
	assert_int_equal(walk("dir", (struct file_walk){0}), 0);
	assert_true(reads_of_agent() - before < 50);
}

static void only_files_are_read_and_written(void **state)
{
	static const char *const paths[] = {"dir", "pipe", "/dev/null"};

	(void)state;
	scratch_dir("dir");
	assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct file_ref ref = {.path = bytes_str(paths[i])};

		assert_int_equal(ask(MSG_FILE_OPEN, &file_ref_schema, &ref,
				     &file_entry_schema, -1),
				 HOST_REFUSED_INVALID);
		assert_int_equal(create((struct file_access){0}, paths[i]),
				 HOST_REFUSED_INVALID);
	}
	assert_int_equal(show("absent"), HOST_REFUSED_MISSING);
	assert_int_equal(show(""), HOST_REFUSED_INVALID);
}

static void spans_of_a_file_are_read(void **state)
{
	const struct file_ref ref = {.path = bytes_str("file")};
	struct file_span span = {.offset = 2, .len = 3};

	(void)state;
	assert_int_equal(ask(MSG_FILE_READ, &file_span_schema, &span,
			     &file_piece_schema, -1),
			 HOST_REFUSED_INVALID);
	put("file", "0123456789");
	assert_int_equal(ask(MSG_FILE_OPEN, &file_ref_schema, &ref,
			     &file_entry_schema, -1),
			 0);
	assert_int_equal(asked.entry.size, 10);
	assert_int_equal(ask(MSG_FILE_READ, &file_span_schema, &span,
			     &file_piece_schema, -1),
			 0);
	assert_true(asked.piece.bytes.len == 3 &&
		    !memcmp(asked.bytes, "234", 3));
	span = (struct file_span){.offset = 8, .len = 100};
	assert_int_equal(ask(MSG_FILE_READ, &file_span_schema, &span,
			     &file_piece_schema, -1),
			 0);
	assert_int_equal(asked.piece.bytes.len, 2);
	span.offset = UINT64_MAX;
	assert_int_equal(ask(MSG_FILE_READ, &file_span_schema, &span,
			     &file_piece_schema, -1),
			 HOST_REFUSED_INVALID);
}

static void a_walk_goes_as_deep_as_it_should_page_by_page(void **state)
{
	char name[32];
	size_t count = 0;

	(void)state;
	put("a/b/c.txt", "");
	put("a/d.c", "");
	scratch_link("a/up", "..");
	assert_int_equal(walk("a", (struct file_walk){.depth = 1}), 0);
	assert_null(strstr(asked.names, "b/c.txt"));
	assert_non_null(strstr(asked.names, "up,"));
	assert_int_equal(walk("a", (struct file_walk){0}), 0);
	assert_non_null(strstr(asked.names, "b/c.txt,"));
	assert_null(strstr(asked.names, "up/"));
	assert_int_equal(walk(".", (struct file_walk){.is_for_files = true,
						      .pattern = bytes_str(
							      "*.{c,txt}")}),
			 0);
	assert_true(!strcmp(asked.names, "a/b/c.txt,a/d.c,") ||
		    !strcmp(asked.names, "a/d.c,a/b/c.txt,"));
	assert_int_equal(
		walk(".", (struct file_walk){.pattern = bytes_str("[a")}),
		HOST_REFUSED_INVALID);
	for (int i = 0; i < 3 * FILE_PAGE_MAX; i++) {
		(void)snprintf(name, sizeof(name), "a/%d.many", i);
		scratch_file(name);
	}
	assert_int_equal(
		walk("a", (struct file_walk){.pattern = bytes_str("*.many")}),
		0);
	for (const char *at = asked.names; (at = strchr(at, ',')); at++)
		count++;
	assert_int_equal(count, 3 * FILE_PAGE_MAX);
}

static void a_move_never_replaces(void **state)
{
	(void)state;
	put("from", "1");
	put("other", "2");
	assert_int_equal(move("from", "other"), HOST_REFUSED_STATE);
	assert_int_equal(move("absent", "new"), HOST_REFUSED_MISSING);
	assert_int_equal(move("from", "made/for/it"), 0);
	assert_true(has("made/for/it", "1") && has("other", "2"));
	assert_int_equal(move("made", "moved"), 0);
	assert_true(has("moved/for/it", "1"));
}

static void a_move_to_another_file_system_copies_a_file(void **state)
{
	char to[64];
	char text[8] = "";
	int fd;

	(void)state;
	(void)snprintf(to, sizeof(to), "/dev/shm/sallyport-unit-%d", getpid());
	put("from", "far");
	assert_int_equal(move("from", to), 0);
	assert_int_equal(show("from"), HOST_REFUSED_MISSING);
	fd = open(to, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 3);
	assert_string_equal(text, "far");
	(void)close(fd);
	assert_int_equal(unlink(to), 0);
}

static void removal_ends_at_links(void **state)
{
	(void)state;
	put("kept/file", "1");
	put("tree/a/b", "2");
	scratch_link("tree/a/out", "../../kept");
	scratch_link("link", "kept");
	assert_int_equal(remove_path("tree", false), HOST_REFUSED_INVALID);
	assert_int_equal(remove_path("link", true), HOST_REFUSED_INVALID);
	assert_int_equal(remove_path("kept/file", true), HOST_REFUSED_INVALID);
	assert_int_equal(remove_path("tree", true), 0);
	assert_int_equal(show("tree"), HOST_REFUSED_MISSING);
	assert_int_equal(remove_path("link", false), 0);
	assert_int_equal(remove_path("absent", true), HOST_REFUSED_MISSING);
	assert_true(has("kept/file", "1"));
}

static void texts_are_replaced_from_left_to_right(void **state)
{
	(void)state;
	put("file", "aaaa-aa");
	assert_int_equal(replace("file", "aa", "a"), 0);
	assert_int_equal(asked.count, 3);
	assert_true(has("file", "aa-a"));
	assert_int_equal(replace("file", "x", "y"), 0);
	assert_int_equal(asked.count, 0);
	assert_int_equal(replace("absent", "x", "y"), HOST_REFUSED_MISSING);
	scratch_dir("dir");
	assert_int_equal(replace("dir", "x", "y"), HOST_REFUSED_INVALID);
}

static void access_is_set_where_it_can_be(void **state)
{
	struct file_access access = {
		.path = bytes_str("dir/below"), .has_mode = true, .mode = 0750};
	struct stat st;
	char own[16];

	(void)state;
	assert_int_equal(ask(MSG_FILE_MKDIR, &file_access_schema, &access,
			     &wire_empty_schema, -1),
			 0);
	assert_int_equal(stat(scratch_path("dir/below"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	access.mode = 0700;
	assert_int_equal(ask(MSG_FILE_SET_ACCESS, &file_access_schema, &access,
			     &wire_empty_schema, -1),
			 0);
	assert_int_equal(stat(scratch_path("dir/below"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	access.owner = bytes_str("nobody-has-this-name");
	assert_int_equal(ask(MSG_FILE_SET_ACCESS, &file_access_schema, &access,
			     &wire_empty_schema, -1),
			 HOST_REFUSED_INVALID);
	assert_non_null(strstr(asked.detail, "has one user"));
	assert_int_equal(show("dir/below"), 0);
	access.path = bytes_str("dir/other");
	assert_int_equal(ask(MSG_FILE_MKDIR, &file_access_schema, &access,
			     &wire_empty_schema, -1),
			 HOST_REFUSED_INVALID);
	assert_int_equal(show("dir/other"), HOST_REFUSED_MISSING);
	(void)snprintf(own, sizeof(own), "%u", (unsigned)geteuid());
	access.owner = bytes_str(own);
	assert_int_equal(ask(MSG_FILE_MKDIR, &file_access_schema, &access,
			     &wire_empty_schema, -1),
			 0);
	assert_int_equal(show("dir/other"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_there_once_it_is_whole),
		TEST(what_was_not_committed_leaves_nothing),
		TEST(links_are_followed_as_a_command_would),
		TEST(only_files_are_read_and_written),
		TEST(spans_of_a_file_are_read),
		TEST(a_walk_goes_as_deep_as_it_should_page_by_page),
		TEST(a_walk_looks_owners_up_once_for_all_files),
		TEST(a_move_never_replaces),
		TEST(a_move_to_another_file_system_copies_a_file),
		TEST(removal_ends_at_links),
		TEST(texts_are_replaced_from_left_to_right),
		TEST(access_is_set_where_it_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
