/*
 * packcheck: lives for one push. Reads the pushed pack and what was fetched
 * for its proof from sealed memory, says whether every update goes forward,
 * and ends when the warden or the edge lets go of it. It holds nothing and
 * blocks while it works: nobody else waits for it.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/keeper/keeper.h"
#include "gateway/packcheck/check.h"

/* Of this process: time, one file it writes, its heap, all it maps. */
#define CPU_SECONDS_MAX 120
#define FILE_BYTES_MAX	((rlim_t)1 << 30)
#define HEAP_BYTES_MAX	((rlim_t)1 << 30)
#define MEMORY_MAX	((size_t)3 << 30)
#define FILES_MAX	256

/* Packs are few: one pushed, and a round of fetching each. */
#define CHECKS_PER_SECOND 100
#define AHEAD_PER_SECOND  2000
#define PIECE_BYTES	  (256 * 1024)

struct packcheck {
	struct pack_check check;
	struct bytes pushed; /* mapped until the process ends */
	uint64_t read;	     /* of it, before that */
	bool has_begun;
};

/* More of the pushed pack is in its memory: index it while the rest comes.
 * It is not sealed yet, so it is read, never mapped. */
static void answer_ahead(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	static uint8_t piece[PIECE_BYTES];
	struct keeper_peer *edge = owner;
	struct packcheck *packcheck = edge->keeper->owner;
	struct pack_check *check = &packcheck->check;
	ssize_t got;

	(void)ticket;
	(void)message;
	while (!packcheck->has_begun) {
		got = pread(*fd, piece, sizeof(piece), (off_t)packcheck->read);
		if (got <= 0)
			break;
		packcheck->read += (uint64_t)got;
		pack_check_ahead(check, bytes_from(piece, (size_t)got));
	}
}

static void answer_check(struct rpc_ticket ticket, const void *message, int *fd,
			 void *owner)
{
	struct keeper_peer *edge = owner;
	struct packcheck *packcheck = edge->keeper->owner;
	struct msg_pack_verdict verdict;
	struct err err;

	if (packcheck->has_begun) {
		rpc_refuse(ticket, CONSTRAINT_internal, "one push at a time");
		return;
	}
	if (wire_memfd_map(*fd, CHECK_PACK_MAX, &packcheck->pushed, &err) < 0) {
		rpc_refuse(ticket, CONSTRAINT_push_pack_invalid, "%s",
			   err.text);
		return;
	}
	packcheck->has_begun = true;
	pack_check_begin(&packcheck->check, message, packcheck->pushed,
			 &verdict);
	rpc_reply(ticket, &msg_pack_verdict_schema, &verdict, -1);
}

static void answer_add(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	struct keeper_peer *edge = owner;
	struct packcheck *packcheck = edge->keeper->owner;
	struct msg_pack_verdict verdict;
	struct bytes pack;
	struct err err;

	(void)message;
	if (!packcheck->has_begun) {
		rpc_refuse(ticket, CONSTRAINT_internal, "no push yet");
		return;
	}
	if (wire_memfd_map(*fd, CHECK_PACK_MAX, &pack, &err) < 0) {
		rpc_refuse(ticket, CONSTRAINT_push_pack_invalid, "%s",
			   err.text);
		return;
	}
	pack_check_more(&packcheck->check, pack, &verdict);
	wire_memfd_unmap(pack);
	rpc_reply(ticket, &msg_pack_verdict_schema, &verdict, -1);
}

static void answer_secrets(struct rpc_ticket ticket, const void *message,
			   int *fd, void *owner)
{
	struct keeper_peer *edge = owner;
	struct packcheck *packcheck = edge->keeper->owner;

	(void)ticket;
	(void)fd;
	if (!packcheck->has_begun)
		pack_check_secrets(&packcheck->check, message);
}

static int limit(__rlimit_resource_t resource, rlim_t max, struct err *err)
{
	const struct rlimit both = {max, max};

	if (setrlimit(resource, &both) < 0)
		return err_system(err, "limit resource %d", (int)resource);
	return 0;
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	static struct confine_path scratch = {.writable = true};

	if (fchdir(keeper->state_fd) < 0)
		return err_system(err, "enter the scratch directory");
	scratch.fd = keeper->state_fd;
	confine->paths = &scratch;
	confine->path_count = 1;
	confine->files_max = FILES_MAX;
	confine->memory_max = MEMORY_MAX;
	if (limit(RLIMIT_CPU, CPU_SECONDS_MAX, err) < 0 ||
	    limit(RLIMIT_FSIZE, FILE_BYTES_MAX, err) < 0)
		return -1;
#ifndef SP_UNCONFINED
	if (limit(RLIMIT_DATA, HEAP_BYTES_MAX, err) < 0)
		return -1;
#endif
	return pack_library_init(err);
}

/* Nobody is left to answer to. */
static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	(void)peer;
	io_loop_stop(keeper->loop);
}

int main(void)
{
	static const struct rpc_permit edge_permits[] = {
		{MSG_PACK_CHECK, &msg_pack_check_schema, answer_check, true,
		 CHECKS_PER_SECOND},
		{MSG_PACK_ADD, &wire_empty_schema, answer_add, true,
		 CHECKS_PER_SECOND},
		{MSG_PACK_SECRETS, &msg_pack_secrets_schema, answer_secrets,
		 false, CHECKS_PER_SECOND},
		{MSG_PACK_AHEAD, &wire_empty_schema, answer_ahead, true,
		 AHEAD_PER_SECOND},
	};
	static const struct keeper_service services[] = {
		{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
	};
	static const struct keeper_spec spec = {
		.role = ROLE_PACKCHECK,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = pack_store_syscalls,
		.on_peer_closed = on_peer_closed,
	};
	static struct packcheck packcheck;

	return keeper_main(&spec, &packcheck);
}
