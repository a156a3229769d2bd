/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/lfs/permits.h"

#include <stdlib.h>

#include "common/digest.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

const char *lfs_method_of(enum lfs_action_kind kind)
{
	static const char *const methods[] = {
		[LFS_ACT_DOWNLOAD] = "GET",
		[LFS_ACT_UPLOAD] = "PUT",
		[LFS_ACT_VERIFY] = "POST",
	};

	return methods[kind];
}

static void drop(struct lfs_permits *permits, struct lfs_permit *permit)
{
	permits->bytes -= permit->bytes;
	HASH_DEL(permits->head, permit);
	free(permit);
}

/* The table is in the order in which they came. */
static void make_room(struct lfs_permits *permits, size_t bytes)
{
	while (permits->head && (HASH_COUNT(permits->head) >= PERMITS_MAX ||
				 permits->bytes + bytes > PERMITS_BYTES_MAX))
		drop(permits, permits->head);
}

/* ---- one block of memory for all of it ---- */

static size_t bytes_of(const struct lfs_action *action)
{
	size_t bytes = sizeof(struct lfs_permit) + action->path.len +
		       action->fields.count * sizeof(struct field);

	for (size_t i = 0; i < action->fields.count; i++)
		bytes += action->fields.items[i].name.len +
			 action->fields.items[i].value.len;
	return bytes;
}

static struct bytes put(uint8_t **at, struct bytes text)
{
	struct bytes copy = bytes_from(*at, text.len);

	if (text.len)
		memcpy(*at, text.data, text.len);
	*at += text.len;
	return copy;
}

static void copy(struct lfs_permit *permit, const struct lfs_action *action)
{
	struct field *items = (struct field *)(permit + 1);
	uint8_t *at = (uint8_t *)(items + action->fields.count);

	permit->path = put(&at, action->path);
	permit->fields = (struct fields){items, 0, action->fields.count};
	for (size_t i = 0; i < action->fields.count; i++) {
		const struct field *field = &action->fields.items[i];

		items[permit->fields.count++] = (struct field){
			put(&at, field->name), put(&at, field->value)};
	}
}

const struct lfs_permit *permits_add(struct lfs_permits *permits,
				     const struct lfs_action *action,
				     const struct lfs_object *object,
				     const struct policy_repo *repo,
				     bool with_credential, uint64_t now_ms)
{
	size_t bytes = bytes_of(action);
	struct lfs_permit *permit = calloc(1, bytes);

	if (!permit)
		return NULL;
	make_room(permits, bytes);
	random_id(permit->id);
	permit->kind = action->kind;
	permit->object = *object;
	permit->target = action->target;
	permit->repo = repo;
	permit->with_credential = with_credential;
	permit->ends_ms = now_ms + action->life_ms;
	permit->bytes = bytes;
	copy(permit, action);
	HASH_ADD(hh, permits->head, id, LFS_TRANSFER_ID_LEN, permit);
	if (!permit->hh.tbl) {
		free(permit);
		return NULL;
	}
	permits->bytes += bytes;
	return permit;
}

const struct lfs_permit *permits_find(struct lfs_permits *permits,
				      struct bytes id, uint64_t now_ms)
{
	struct lfs_permit *permit = NULL;

	if (id.len == LFS_TRANSFER_ID_LEN)
		HASH_FIND(hh, permits->head, id.data, id.len, permit);
	if (permit && permit->ends_ms <= now_ms) {
		drop(permits, permit);
		permit = NULL;
	}
	return permit;
}

void permits_release(struct lfs_permits *permits)
{
	while (permits->head)
		drop(permits, permits->head);
}
