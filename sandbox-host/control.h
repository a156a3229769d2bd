/*
 * The channel between the caller's process and init, and the one to its
 * reporter until that serves: messages of one fixed shape with a few
 * descriptors, over a SOCK_SEQPACKET pair. Both ends are the same program;
 * nothing inside the sandbox ever holds an end after its exec.
 */
#ifndef SANDBOX_HOST_CONTROL_H
#define SANDBOX_HOST_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define CONTROL_FDS_MAX 70 /* of trees, groups, the lock and the orders */

enum control_kind {
	CONTROL_MAPPED, /* to init: ids are mapped */
	/* to init: build; descriptors: trees; version 1's groups, to enter;
	 * where it has them not yet the lock of its user, of root's, and its
	 * orders */
	CONTROL_BUILD,
	CONTROL_READY,	/* from init: listeners, root, terminal; from the
			 * reporter, which waits for CONTROL_NOTIFY then */
	CONTROL_GO,	/* to init: exec the command */
	CONTROL_NOTIFY, /* from the command: the notification descriptor, and
			 * peers_open()'s where there is one */
	CONTROL_SIGNAL, /* to init: .value is a signal for the command */
	CONTROL_EXITED, /* from init: .value is a wait status */
	CONTROL_FAILED, /* from init, the command before its exec, or the
			 * reporter before it is ready */
	/* Of a sandbox that serves many commands; .serial is the asker's. */
	CONTROL_EXEC,	 /* to init: run one; descriptors: see CONTROL_EXEC_* */
	CONTROL_AGENT,	 /* to init: run the agent; descriptor: its channel */
	CONTROL_STARTED, /* from init: .pid; descriptor: the pty's master */
	CONTROL_CONNECT, /* to init: .value is a port of the inside */
	CONTROL_CONNECTED, /* from init; descriptor: the connection */
	CONTROL_SIGNALLED, /* from init: a signal with a serial was sent, to
			    * what there was */
	CONTROL_KIND_MAX
};

/* What comes with CONTROL_EXEC: the sealed request, and the standard
 * descriptors unless it is to have a terminal. */
#define CONTROL_EXEC_TERMINAL 1
#define CONTROL_EXEC_FULL     4

struct control_message {
	enum control_kind kind;
	int value;
	uint32_t serial;
	int pid;	   /* inside */
	bool is_for_group; /* a signal: for the command's process group */
	struct err err;
};

/* A pair of ends, both close-on-exec. 0, or -1. */
int control_pair(int fds[2], struct err *err);
/* 0, or -1. The descriptors stay the caller's. */
int control_send(int fd, const struct control_message *message, const int *fds,
		 size_t fd_count, struct err *err);
/* Wait for a message. Descriptors are the caller's then; *fd_count holds
 * the room and is set. 0; -1 also when the other end is gone (ERR_CLOSED). */
int control_receive(int fd, struct control_message *message, int *fds,
		    size_t *fd_count, struct err *err);
/* Wait for a message of this kind. CONTROL_FAILED gives its own err. */
int control_expect(int fd, enum control_kind kind, int *fds, size_t *fd_count,
		   struct err *err);

#endif
