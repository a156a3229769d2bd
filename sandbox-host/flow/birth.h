/*
 * What a supervisor that waits is told: the sandbox that it is for. It comes
 * once, from the daemon that started it, as the first word on their channel,
 * which carries MSG_SUPERVISOR_* from then on. Until it comes the supervisor
 * knows what host.yaml says, and holds nothing of any sandbox.
 */
#ifndef SANDBOX_HOST_FLOW_BIRTH_H
#define SANDBOX_HOST_FLOW_BIRTH_H

#include <stdbool.h>

#include "common/arena.h"
#include "common/bytes.h"
#include "common/err.h"

/* In its command line until it has an id: of the same length. */
#define BIRTH_NO_ID "sb-waits---------------------"

#define BIRTH_PATH_MAX 4095

struct birth {
	struct bytes id;
	struct bytes image, image_settings; /* empty: the host's own root */
	bool image_is_read_only;
	bool is_bounded, is_pooled, is_ahead; /* struct supervisor_options */
};

enum birth_fd {
	BIRTH_REQUEST, /* sealed struct sandbox_request */
	BIRTH_SOCKET,  /* bound, to listen on for daemons */
	BIRTH_DIR,     /* of the sandbox's files */
	BIRTH_FDS
};

/* Send it; the descriptors stay the caller's. 0, or -1: nobody takes it. */
int birth_send(int channel, const struct birth *birth, const int fds[BIRTH_FDS],
	       struct err *err);
/* Wait for it, as long as the channel lasts. Strings live in arena, the
 * descriptors are the caller's and close-on-exec. 0, or -1: ERR_CLOSED when
 * the daemon has gone. */
int birth_receive(int channel, struct arena *arena, struct birth *birth,
		  int fds[BIRTH_FDS], struct err *err);

#endif
