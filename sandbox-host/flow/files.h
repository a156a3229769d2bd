/*
 * What the daemon and a sandbox's supervisor have in common outside of
 * messages: the descriptor that the supervisor is started with (the others
 * come with its sandbox: birth.h), and the files of the sandbox's directory
 * (run/sandboxes/ID, 0700).
 *
 *	record   the daemon's: what was asked for, and the last known state
 *	end      the supervisor's last word: an encoded supervisor_state
 *	socket   the supervisor listens there for a daemon
 *	log      what the entrypoint wrote; its older part becomes a hole
 */
#ifndef SANDBOX_HOST_FLOW_FILES_H
#define SANDBOX_HOST_FLOW_FILES_H

#define SUPERVISOR_CHANNEL 3 /* to the daemon that started it */

#define FILE_RECORD "record"
#define FILE_END    "end"
#define FILE_SOCKET "socket"
#define FILE_LOG    "log"

/* Options of its command line that stand for a list. */
#define SUPERVISOR_ROOTS_MAX 16

/* What is written over an image: beside the workspaces. */
#define LAYERS_SUFFIX ".root"

/* What sallyport-store is born with: where its answer goes, then, for each
 * piece of work, what it reads and the directory that it fills. */
#define STORE_ANSWER	3
#define STORE_FIRST	4
#define STORE_TREES_MAX 6
#define STORE_UID	1999999 /* of root's images: no sandbox has it */

/* Of the log so much is kept. */
#define LOG_KEPT (1024 * 1024)

#endif
