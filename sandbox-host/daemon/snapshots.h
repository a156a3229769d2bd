/*
 * Snapshots: what a sandbox wrote over its image, in its workspace or in an
 * overlay's layer, copied while it rests, and what new ones begin with. Each
 * is a directory of the store with a record, and is kept over restarts.
 */
#ifndef SANDBOX_HOST_DAEMON_SNAPSHOTS_H
#define SANDBOX_HOST_DAEMON_SNAPSHOTS_H

#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/jobs.h"
#include "sandbox-host/flow/messages_store.h"

struct snapshot_reader;

struct snapshot {
	struct daemon *daemon;
	struct arena arena; /* of shown */
	struct host_snapshot shown;
	char id[HOST_ID_MAX + 1];
	struct rpc_ticket ticket; /* who waits for it */
	bool has_ticket;
	bool is_begun;	/* its sandbox rests, or is copied; else it waits */
	bool is_copied; /* it is settled what becomes of it */
	/* Its sandbox, which is told to go on, is to rest again then. */
	bool rests_again;
	bool is_free; /* it was told to: what is wanted of it is its own again
		       */
	struct snapshot_reader *readers; /* who begins with it */
	/* What became of it, while its sandbox is told to go on. */
	enum snapshot_state end;
	uint64_t bytes;
	char why[JOB_MESSAGE_SIZE];
	struct snapshot *next, *prev;
};

/* Find what the store has; what was not finished Failed. 0, or -1. */
int snapshots_open(struct daemon *daemon, struct err *err);
void snapshots_close(struct daemon *daemon);
struct snapshot *snapshots_find(const struct daemon *daemon, struct bytes id);
/* Begin one of entry; the ticket is answered, now or when it is Ready. */
void snapshots_begin(struct entry *entry,
		     const struct host_snapshot_request *request, uid_t owner,
		     struct rpc_ticket ticket);
/* While one is made of it, entry is to rest, or to go on: it does when that is
 * done. False: none is made, or nothing would be another. */
bool snapshots_wish(const struct entry *entry, bool rests);
/* It goes once nobody begins with it any more. */
void snapshots_remove(struct snapshot *snapshot);

/* Can a sandbox begin with it as request says? 0, or -1. */
int snapshots_check(const struct snapshot *snapshot,
		    const struct sandbox_request *request, struct err *err);
/* Give entry its files, before it starts; on_end(owner) is called later. 0,
 * or -1. */
int snapshots_restore(struct snapshot *snapshot, const char *id,
		      void (*on_end)(const struct job_result *result,
				     void *owner),
		      void *owner, struct err *err);
/* owner wants none of it any more: on_end comes soon. */
void snapshots_break_off(const struct daemon *daemon, const void *owner);

#endif
