/*
 * LFS from both sides: what a client asks is written anew as something that
 * is read as the same; what a server answers opens https URLs only, each for
 * no longer than the cap, and is told again without its URLs.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/http/guard.h"
#include "gateway/lfs/reply.h"

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_batch(struct bytes input, struct arena *arena)
{
	auto_type(buf_release) struct buf out;
	struct lfs_batch batch, again;
	struct lfs_fault fault;

	buf_init(&out, 1 << 20);
	if (lfs_batch_parse(input, arena, &batch, &fault) < 0) {
		assert(fault.constraint != CONSTRAINT_none);
		return;
	}
	assert(batch.count > 0 && batch.count <= LFS_OBJECTS_MAX);
	assert(lfs_batch_write(&batch, &out) == 0);
	assert(lfs_batch_parse(buf_view(&out), arena, &again, &fault) == 0);
	assert(again.operation == batch.operation);
	assert(again.count == batch.count && again.total == batch.total);
	assert(again.ref.len == 0 || bytes_equal(again.ref, batch.ref));
}

static void check_locks(struct bytes input, struct arena *arena)
{
	static const enum lfs_endpoint endpoints[] = {
		LFS_LOCK, LFS_LOCKS_VERIFY, LFS_UNLOCK};

	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++) {
		auto_type(buf_release) struct buf out;
		struct lfs_lock lock;
		struct lfs_fault fault;

		buf_init(&out, 1 << 20);
		if (lfs_lock_parse(endpoints[i], input, arena, &lock, &fault) <
		    0)
			continue;
		assert(lfs_lock_write(endpoints[i], &lock, &out) == 0);
		assert(lfs_lock_parse(endpoints[i], buf_view(&out), arena,
				      &lock, &fault) == 0);
	}
}

static void check_action(struct lfs_action *action)
{
	assert(action->target.scheme == SCHEME_HTTPS);
	assert(action->target.kind != HOST_INVALID);
	assert(action->life_ms > 0 && action->life_ms <= LFS_PERMIT_MS);
	assert(http_is_target(action->path));
	for (size_t i = 0; i < action->fields.count; i++) {
		assert(http_is_token(action->fields.items[i].name));
		assert(http_is_value(action->fields.items[i].value));
	}
	action->href = bytes_str("https://ours.example/1");
}

static void check_reply(struct bytes input, struct arena *arena)
{
	static const struct lfs_object object = {OID, 7};
	auto_type(buf_release) struct buf out;
	struct lfs_batch batch = {.objects = &object, .count = 1};
	struct lfs_reply reply;
	struct err err;

	buf_init(&out, 1 << 20);
	batch.operation = input.len % 2 ? LFS_UPLOAD : LFS_DOWNLOAD;
	if (lfs_reply_parse(input, &batch, 1700000000000, arena, &reply, &err) <
	    0)
		return;
	assert(reply.count == 1);
	assert(!reply.answers[0].error || reply.answers[0].action_count == 0);
	for (size_t i = 0; i < reply.answers[0].action_count; i++)
		check_action(&reply.answers[0].actions[i]);
	assert(lfs_reply_write(&reply, &out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes input = bytes_from(data, len);
	auto_type(buf_release) struct buf out = {0};
	struct arena arena;

	if (len > LFS_REQUEST_BYTES_MAX)
		return 0;
	buf_init(&out, 8 << 20);
	arena_init(&arena, 8 << 20);
	check_batch(input, &arena);
	check_locks(input, &arena);
	check_reply(input, &arena);
	(void)lfs_message_of(input, &arena);
	assert(lfs_message_write(input, bytes_str("r-1"), &out) == 0);
	arena_release(&arena);
	return 0;
}
