/*
 * Process 1 of the next service, made before anybody knows which sandbox that
 * is: in its namespaces, with its network, for its orders (orders.h). It holds
 * nothing of any sandbox; ids and files are its sandbox's own and come later.
 * It ends with whoever made it, and with the mounts that it was made of: when
 * the host's change, it is of no use.
 */
#ifndef SANDBOX_HOST_EARLY_H
#define SANDBOX_HOST_EARLY_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"
#include "sandbox-host/sandbox.h"

struct early {
	pid_t pid;
	int pidfd;
	int control;
};

/* Make it, where there is none. agent, title: as in struct init. What fails
 * is said when a sandbox is started. */
void early_make(sandbox_agent *agent, char *title);
/* Readable for POLLPRI: it is of no use any more. -1: there is none. */
int early_mounts(void);
/* End it. */
void early_drop(void);
/* The caller's from here on, with its title. False: there is none that could
 * be used. */
bool early_take(struct early *early, char **title);

#endif
