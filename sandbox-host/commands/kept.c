#include "sandbox-host/commands/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/clock.h"
#include "common/digest.h"
#include "sandbox-host/commands/lines.h"

#define ID_PREFIX     "cmd-"
#define RING_SIZE_MIN 4096

/* ---- begin and end ---- */

static void drop_output(struct kept *kept)
{
	kept->list->memory -= kept->size;
	free(kept->ring);
	kept->ring = NULL;
	kept->size = 0;
	kept->base = kept->end;
}

void kept_drop(struct kept *kept)
{
	struct kept_list *list = kept->list;

	drop_output(kept);
	DL_DELETE(list->all, kept);
	*(kept->is_running ? &list->running : &list->ended) -= 1;
	free(kept->text);
	free(kept);
}

void kept_drop_all(struct kept_list *list)
{
	while (list->all)
		kept_drop(list->all);
}

static void forget_old(struct kept_list *list)
{
	uint64_t now = clock_monotonic_ms();
	struct kept *kept, *next;

	DL_FOREACH_SAFE(list->all, kept, next)
	if (!kept->is_running && kept->forget_ms <= now)
		kept_drop(kept);
}

static void forget_oldest(struct kept_list *list)
{
	struct kept *kept;

	DL_FOREACH(list->all, kept)
	if (!kept->is_running) {
		kept_drop(kept);
		return;
	}
}

struct kept *kept_add(struct kept_list *list, struct bytes text,
		      struct err *err)
{
	char random[27];
	struct kept *kept;

	forget_old(list);
	if (list->running >= KEPT_RUNNING_MAX) {
		(void)err_set(err, ERR_TOO_LARGE,
			      "%d commands run in the background already",
			      KEPT_RUNNING_MAX);
		return NULL;
	}
	text.len = lines_shown_len(text, BACKGROUND_TEXT_MAX);
	kept = calloc(1, sizeof(*kept));
	if (kept)
		kept->text = strndup((const char *)text.data, text.len);
	if (!kept || !kept->text) {
		free(kept);
		(void)err_set(err, ERR_TOO_LARGE, "no memory");
		return NULL;
	}
	kept->list = list;
	kept->is_running = true;
	kept->started_ms = clock_wall_ms();
	random_id(random);
	(void)snprintf(kept->id, sizeof(kept->id), ID_PREFIX "%s", random);
	DL_APPEND(list->all, kept);
	list->running++;
	return kept;
}

struct kept *kept_find(struct kept_list *list, struct bytes id)
{
	struct kept *kept;

	forget_old(list);
	DL_FOREACH(list->all, kept)
	if (bytes_is(id, kept->id))
		return kept;
	return NULL;
}

void kept_finish(struct kept *kept, int exit_code, int number,
		 const char *reason)
{
	assert(kept->is_running);
	if (kept->list->ended >= KEPT_ENDED_MAX)
		forget_oldest(kept->list);
	kept->is_running = false;
	kept->list->running--;
	kept->list->ended++;
	kept->exit_code = exit_code;
	kept->signal = number;
	(void)snprintf(kept->reason, sizeof(kept->reason), "%s", reason);
	kept->finished_ms = clock_wall_ms();
	kept->forget_ms = clock_monotonic_ms() + KEPT_MS;
}

/* ---- output ---- */

/* The oldest output of all goes first; that of commands that ended before
 * that of those that run. */
static void bound_outputs(const struct kept *writer)
{
	struct kept_list *list = writer->list;

	for (int running = 0; running < 2; running++) {
		struct kept *kept;

		DL_FOREACH(list->all, kept)
		{
			if (list->memory <= KEPT_OUTPUTS_MAX)
				return;
			if (kept != writer &&
			    kept->is_running == (running == 1))
				drop_output(kept);
		}
	}
}

/* Room for len bytes behind those that are there, so far as that goes. Before
 * it is as large as it gets nothing in it was overwritten. False: there is no
 * memory. */
static bool grow(struct kept *kept, size_t len)
{
	size_t size = kept->size ? kept->size : RING_SIZE_MIN;
	size_t want = (size_t)(kept->end - kept->base) + len;
	uint8_t *ring;

	if (kept->size == KEPT_OUTPUT_MAX)
		return true;
	while (size < want && size < KEPT_OUTPUT_MAX)
		size *= 2;
	if (size == kept->size)
		return true;
	ring = realloc(kept->ring, size);
	if (!ring)
		return false;
	kept->list->memory += size - kept->size;
	kept->ring = ring;
	kept->size = size;
	bound_outputs(kept);
	return true;
}

static size_t place_of(const struct kept *kept, uint64_t cursor)
{
	return (size_t)((cursor - kept->base) % kept->size);
}

void kept_write(struct kept *kept, struct bytes bytes)
{
	if (bytes.len == 0)
		return;
	if (bytes.len > KEPT_OUTPUT_MAX) {
		kept->end += bytes.len - KEPT_OUTPUT_MAX;
		bytes = bytes_slice(bytes, bytes.len - KEPT_OUTPUT_MAX,
				    bytes.len);
		drop_output(kept);
	}
	/* Without memory it is lost, and its cursor goes on. */
	if (!grow(kept, bytes.len)) {
		kept->end += bytes.len;
		drop_output(kept);
		return;
	}
	while (bytes.len > 0) {
		size_t place = place_of(kept, kept->end);
		struct bytes part = bytes_slice(bytes, 0, kept->size - place);

		memcpy(kept->ring + place, part.data, part.len);
		kept->end += part.len;
		bytes = bytes_slice(bytes, part.len, bytes.len);
	}
}

int kept_read(const struct kept *kept, uint64_t *cursor, struct buf *out)
{
	uint64_t start = kept->end - kept->base > kept->size
				 ? kept->end - kept->size
				 : kept->base;
	uint64_t at;

	if (*cursor < start)
		*cursor = start;
	if (*cursor > kept->end)
		*cursor = kept->end;
	for (at = *cursor; at < kept->end;) {
		size_t place = place_of(kept, at);
		size_t len = kept->size - place;

		if (len > kept->end - at)
			len = (size_t)(kept->end - at);
		if (buf_add(out, bytes_from(kept->ring + place, len)) < 0)
			return -1;
		at += len;
	}
	return 0;
}
