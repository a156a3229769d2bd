/*
 * Process 1 of the next service, made before anybody knows which sandbox that
 * is: in its namespaces, with its network, for its orders (orders.h). It holds
 * nothing of any sandbox. Where it is told what the next one is likely to begin
 * with (base.h), ids are mapped and that is built; a sandbox that begins
 * otherwise gets another process 1. It ends with whoever made it, and with the
 * mounts that it was made of: when the host's change, it is of no use.
 */
#ifndef SANDBOX_HOST_EARLY_H
#define SANDBOX_HOST_EARLY_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "sandbox-host/identity.h"
#include "sandbox-host/sandbox.h"

/* Of fewer host ids than these none is kept for nobody. */
#define EARLY_UIDS_MIN 256

struct early_wish {
	sandbox_agent *agent;
	char *title;   /* as in struct init */
	bool has_base; /* or nobody knows */
	struct base base;
	struct sandbox_uids uids;
};

struct early {
	pid_t pid;
	int pidfd;
	int control;
	/* With a base: its ids are mapped, and these; users is its user
	 * namespace. Otherwise users and identity.lock are -1. */
	bool has_base;
	struct identity identity;
	int users;
};

/* Make it, where there is none. What fails is said when a sandbox is started.
 */
void early_make(const struct early_wish *wish);
/* Readable for POLLPRI: it is of no use any more. -1: there is none. */
int early_mounts(void);
/* End it. */
void early_drop(void);
/* The caller's from here on, with its title, for that plan. False: there is
 * none that could be used; one that was begun for another kind is put aside. */
bool early_take(const struct plan *plan, uint64_t tmpfs_bytes,
		struct early *early, char **title);
/* Kill what was put aside; until then it holds its user id, and ends with
 * whoever made it. Its pidfd, readable once it is over: to be buried then.
 * -1: there is none. */
int early_end_aside(void);
/* Wait for its end, if there is one, and give back its user id. */
void early_bury_aside(void);

#endif
