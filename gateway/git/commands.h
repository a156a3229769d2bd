/*
 * The command list of a push: untrusted identity bytes in (the edge
 * de-chunks and inflates), struct push out, in git.md's strict subset.
 * What is not understood is refused with a reason; nothing parsed means
 * nothing allowed. And the way back: commands_write() for the courier.
 *
 *	commands_init(&cmd, &arena);
 *	switch (commands_feed(&cmd, chunk, &used)) {
 *	case COMMANDS_MORE:    wait for bytes; at the body's end
 *			       commands_end() (says COMMANDS_PROBE for
 *			       the 4-byte probe)
 *	case COMMANDS_PUSH:    cmd.push is whole; chunk[used..] is the pack
 *	case COMMANDS_REFUSED: cmd.verdict says why; drain the body
 *	}
 */
#ifndef GATEWAY_GIT_COMMANDS_H
#define GATEWAY_GIT_COMMANDS_H

#include "common/arena.h"
#include "common/buf.h"
#include "common/err.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/push.h"

/* What a parse may take from the arena, at most. */
#define COMMANDS_ARENA_MAX (10 * 1024 * 1024)

enum commands_result {
	COMMANDS_MORE,
	COMMANDS_PUSH,
	COMMANDS_PROBE,
	COMMANDS_REFUSED
};

struct commands {
	struct arena *arena;
	enum commands_result result;
	struct push push;	/* whole at COMMANDS_PUSH; on REFUSED what the
				   client can hear is set once its first
				   command was understood */
	struct verdict verdict; /* set at COMMANDS_REFUSED */
	struct buf line;	/* the packet that is not whole yet */
	size_t bytes;		/* taken so far */
	size_t update_room, shallow_room;
	bool has_command; /* the first command was understood */
	bool is_flushed;  /* 0000 was seen */
};

/* Views in push live as long as the arena (which the caller owns). */
void commands_init(struct commands *cmd, struct arena *arena);
void commands_release(struct commands *cmd);

/* Take input. *used: how many of its bytes belong to the command list (all
 * of them unless the result is COMMANDS_PUSH). Do not call again after
 * anything but COMMANDS_MORE. */
enum commands_result commands_feed(struct commands *cmd, struct bytes input,
				   size_t *used);
/* The body ended while feed said MORE: PROBE or REFUSED. */
enum commands_result commands_end(struct commands *cmd);

/* ---- what follows the command list ---- */

#define PACK_HEAD_LEN 12

/* Watches the bytes after the commands: a pack with a sound head when the
 * push has one, nothing at all when it only deletes. */
struct pack_gate {
	bool has_pack;
	uint8_t head[PACK_HEAD_LEN];
	size_t head_len;
	uint64_t bytes; /* of the pack so far */
	uint64_t bytes_max;
	uint32_t objects_max;
	uint32_t object_count;	/* valid when head_len is PACK_HEAD_LEN */
	struct verdict verdict; /* set when feed or end says -1 */
};

void pack_gate_init(struct pack_gate *gate, const struct push *push,
		    uint64_t bytes_max, uint32_t objects_max);
/* 0: these bytes may be spooled; -1: refused. Bytes before the head is whole
 * must be held back until it is (head_len == PACK_HEAD_LEN). */
int pack_gate_feed(struct pack_gate *gate, struct bytes input);
/* The body ended. 0/-1. */
int pack_gate_end(struct pack_gate *gate);

/* ---- the courier's side ---- */

/* Append the command list that upstream gets: exactly what was approved,
 * in our own bytes, ending with its flush; the pack follows. Checks every
 * field again (oids, ref names, doubles). 0, or -1 and nothing useful in
 * out. */
int commands_write(const struct leg_push *push, struct buf *out,
		   struct err *err);
/* The leg message for a push that was allowed; arrays live in arena. The
 * caller sets request_id, rule, repo_path, url_path. 0, or -1. */
int commands_to_leg(const struct push *push, struct arena *arena,
		    struct leg_push *leg);

#endif
