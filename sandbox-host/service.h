/*
 * A sandbox that serves many commands, for a caller with a loop of its own:
 * nothing here waits for the inside but service_begin().
 *
 *	spec.is_service = true;
 *	sandbox = sandbox_start(&spec, &err);
 *	sandbox_ready(sandbox, &listeners, &err);
 *	service_begin(sandbox, &err);
 *	... when service_control_fd() is readable: service_hear()
 *	... when service_report_fd() is readable: service_report()
 *	service_exec(sandbox, serial, request, stdio, &err);
 *	sandbox_free(sandbox);                 // ends everything inside
 *
 * Numbers of calls are the caller's (serial, not 0); the words that answer
 * them have the same.
 */
#ifndef SANDBOX_HOST_SERVICE_H
#define SANDBOX_HOST_SERVICE_H

#include "sandbox-host/base.h"
#include "sandbox-host/sandbox.h"

enum service_kind {
	SERVICE_NOTHING, /* there was none */
	SERVICE_STARTED, /* .pid, and of one with a terminal .fd: its master */
	SERVICE_ENDED,	 /* .exit_code, .signal */
	SERVICE_FAILED,	 /* .err; of a command that had STARTED, SERVICE_ENDED
			    follows */
	SERVICE_CONNECTED, /* .fd */
	SERVICE_SIGNALLED, /* what is written to it now comes later */
	SERVICE_GONE	   /* process 1 has ended, and all with it */
};

struct service_word {
	enum service_kind kind;
	uint32_t serial;
	pid_t pid; /* inside */
	int exit_code;
	int signal; /* 0: it ended by itself */
	int fd;	    /* the caller's, close-on-exec; -1 */
	struct err err;
};

/* Confine process 1, and report from now on. 0, or -1 with why. */
int service_begin(struct sandbox *sandbox, struct err *err);

int service_control_fd(const struct sandbox *sandbox);
/* -1 once nobody inside can be reported of any more. */
int service_report_fd(const struct sandbox *sandbox);
/* Readable once limits.disk is used up: take why, and end the sandbox. -1:
 * nothing is watched. */
int service_disk_fd(const struct sandbox *sandbox);
void service_take_disk(struct sandbox *sandbox, struct err *words);
/* Take the next word. */
void service_hear(struct sandbox *sandbox, struct service_word *word);
/* Hear what the reporter denied; false when there will be no more. */
bool service_report(struct sandbox *sandbox);

/* Start a command: request is a sealed struct exec_request, stdio its three
 * descriptors (none a directory or a terminal: ERR_INVALID; a pipe becomes
 * the sandbox's user's, so that /dev/stderr can be opened), or NULL where the
 * request has a terminal. All stay the caller's. 0, or -1. */
int service_exec(struct sandbox *sandbox, uint32_t serial, int request,
		 const int stdio[3], struct err *err);
/* Start the spec's agent on a channel. 0, or -1. */
int service_agent(struct sandbox *sandbox, uint32_t serial, int channel,
		  struct err *err);
/* One began (pid: as it was told), or has ended: notify_know(). */
void service_know(struct sandbox *sandbox, pid_t pid, bool is_ours);
/* Connect to a port of the inside's loopback. 0, or -1. */
int service_connect(struct sandbox *sandbox, uint32_t serial, uint16_t port,
		    struct err *err);
struct service_signal {
	pid_t pid; /* as it was told, of a command; one that ended gets none */
	int number;
	bool is_for_group;
	uint32_t serial; /* 0: no word about it is wanted */
};
/* 0, or -1. */
int service_signal(struct sandbox *sandbox, const struct service_signal *wanted,
		   struct err *err);

/* What its root began with. False: it has one of its own. */
bool service_base(const struct sandbox *sandbox, struct base *base);
/* Process 1 as the host sees it. */
pid_t service_pid(const struct sandbox *sandbox);

/* ---- rest (cgroups(7), freezer) ---- */

/* Can it be made to rest? ERR_UNSUPPORTED says what is missing. */
int service_can_rest(const struct sandbox *sandbox, struct err *err);
/* Begin, or go on again. 0, or -1. */
int service_rest(struct sandbox *sandbox, bool rests, struct err *err);
/* Does everything inside rest? */
bool service_rests(const struct sandbox *sandbox);

#endif
