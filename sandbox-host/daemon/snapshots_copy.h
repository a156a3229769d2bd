/*
 * What a snapshot is made of, and what begins with it: the copies, both ways.
 * Of snapshots.c.
 */
#ifndef SANDBOX_HOST_DAEMON_SNAPSHOTS_COPY_H
#define SANDBOX_HOST_DAEMON_SNAPSHOTS_COPY_H

#include "sandbox-host/daemon/snapshots.h"

/* Copy what there is of its sandbox, which rests; on_end(snapshot) is called
 * later. 0, or -1. */
int snapshot_copy(struct snapshot *snapshot, uint64_t bytes_max,
		  void (*on_end)(const struct job_result *result, void *owner),
		  struct err *err);
void snapshot_remove_parts(const struct snapshot *snapshot);
/* Nobody hears of those who begin with it. */
void snapshot_drop_readers(struct snapshot *snapshot);

/* ---- snapshots.c ---- */

/* Its directory. -1: there is none. */
int snapshot_open_dir(const struct snapshot *snapshot);
/* Become a copy of *shown, here and in the record. 0, or -1. */
int snapshot_store(struct snapshot *snapshot,
		   const struct host_snapshot *shown);

#endif
