/*
 * What may be asked of us about snapshots; channel_owner is a struct asker.
 */
#ifndef SANDBOX_HOST_DAEMON_ANSWERS_STORE_H
#define SANDBOX_HOST_DAEMON_ANSWERS_STORE_H

#include "common/rpc.h"

rpc_answer_fn answer_snapshot, answer_snapshots, answer_snapshot_show,
	answer_snapshot_remove;

#endif
