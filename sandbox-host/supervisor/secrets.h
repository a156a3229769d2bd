#ifndef SANDBOX_HOST_SUPERVISOR_SECRETS_H
#define SANDBOX_HOST_SUPERVISOR_SECRETS_H

#include "sandbox-host/supervisor/supervisor.h"

/* attachment.on_terms: sessions begin under something else by now. */
void secrets_on_terms(void *owner);
/* Ask which files hold the gateway's secrets now. A sandbox that shows one is
 * ended. */
void secrets_look(struct supervisor *supervisor);

#endif
