#include "gateway/ledger/rest.h"

#include <stdlib.h>
#include <utlist.h>

/* So often 64 messages are read of one channel before it is another's turn:
 * what the socket of one can hold is less. */
#define ROUNDS_MAX 32

struct rest_peer {
	struct keeper_peer *peer;
	uint64_t since_ms; /* of notes */
	unsigned notes;
	size_t records; /* since rest->read_ms */
	bool is_resting;
	struct rest_peer *next, *prev;
};

/* Rotates the list: reading may take the peer, and itself, off it. */
void rest_collect(struct rest *rest)
{
	struct rest_peer *one;
	size_t count;

	DL_COUNT(rest->resting, one, count);
	for (; count > 0 && rest->resting; count--) {
		struct rpc *rpc;
		int rounds = 0;

		one = rest->resting;
		rpc = one->peer->rpc;
		DL_DELETE(rest->resting, one);
		DL_APPEND(rest->resting, one);
		while (rounds++ < ROUNDS_MAX && rpc_receive(rpc))
			;
	}
}

static void wake(struct rest *rest, struct rest_peer *one)
{
	DL_DELETE(rest->resting, one);
	one->is_resting = false;
	rpc_rest(one->peer->rpc, false);
}

/* Who told little is heard at once again. */
static void judge(struct rest *rest)
{
	struct rest_peer *one, *next;

	DL_FOREACH_SAFE(rest->resting, one, next)
	{
		if (one->notes < REST_NOTES_MIN)
			wake(rest, one);
		one->notes = 0;
	}
	rest->judged_ms = io_loop_now_ms(rest->loop);
	rest->on_collected(rest->owner);
}

/* Until when to read again: before what comes meanwhile fills a socket. */
static unsigned wait_ms(struct rest *rest)
{
	uint64_t now = io_loop_now_ms(rest->loop);
	uint64_t passed = now - rest->read_ms;
	struct rest_peer *one;
	bool are_many = false;

	DL_FOREACH(rest->resting, one)
	{
		are_many |= one->records * REST_READ_MS > passed * REST_FEW;
		one->records = 0;
	}
	rest->read_ms = now;
	return are_many ? REST_READ_MS
			: (unsigned)(REST_MS - (now - rest->judged_ms));
}

static void on_timer(void *owner)
{
	struct rest *rest = owner;

	rest_collect(rest);
	if (io_loop_now_ms(rest->loop) - rest->judged_ms >= REST_MS)
		judge(rest);
	if (rest->resting)
		io_timer_set(rest->timer, wait_ms(rest));
}

int rest_init(struct rest *rest, struct io_loop *loop,
	      void (*on_collected)(void *owner), void *owner)
{
	*rest = (struct rest){
		.loop = loop,
		.timer = io_timer_new(loop, on_timer, rest),
		.on_collected = on_collected,
		.owner = owner,
	};
	return rest->timer ? 0 : -1;
}

void rest_note(struct rest *rest, struct keeper_peer *peer, size_t records)
{
	uint64_t now = io_loop_now_ms(rest->loop);
	struct rest_peer *one = peer->owner;

	if (!one)
		one = peer->owner = calloc(1, sizeof(*one));
	if (!one)
		return;
	one->peer = peer;
	one->records += records;
	if (!one->is_resting && now - one->since_ms >= REST_MS) {
		one->since_ms = now;
		one->notes = 0;
	}
	if (++one->notes < REST_NOTES_MIN || one->is_resting)
		return;
	if (!rest->resting) {
		rest->judged_ms = rest->read_ms = now;
		io_timer_set(rest->timer, REST_READ_MS);
	}
	one->is_resting = true;
	one->notes = 0;
	one->records = 0;
	DL_APPEND(rest->resting, one);
	rpc_rest(peer->rpc, true);
}

void rest_forget(struct rest *rest, struct keeper_peer *peer)
{
	struct rest_peer *one = peer->owner;

	peer->owner = NULL;
	if (one && one->is_resting)
		DL_DELETE(rest->resting, one);
	free(one);
}
