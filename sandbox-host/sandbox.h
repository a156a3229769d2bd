/*
 * A sandbox: one command in namespaces of its own, on a root built from an
 * allow-list, with Landlock, a system call filter and a network that ends
 * at our listeners. Nothing inside is a secret; the only way out is a
 * socket that belongs to the gateway.
 *
 *	sandbox_prepare(watches_reads);        // while nothing is known yet
 *	struct sandbox *sandbox = sandbox_start(&spec, &err);
 *	sandbox_ready(sandbox, &listeners, &err);
 *	... hand the listeners to the gateway ...
 *	sandbox_go(sandbox, &err);             // now the command is exec'ed
 *	sandbox_wait(sandbox, &exit_code, &err);
 *	sandbox_free(sandbox);
 *
 * spec -> plan (plan.h: a printable list of steps) -> steps.c executes it.
 *
 * What enforces: mounts (what is not to be reached is not mounted, hidden
 * things have a mode-0 object over them, protected ones are read-only
 * mounts), Landlock, the filter, nftables. What reports: system calls that
 * intend to write are shown to the caller's process (seccomp user
 * notification), which says why they are about to be denied.
 *
 * What only the reporter stops: names that must not appear (protected ones
 * that do not exist yet), hidden ones that appear after the start, and
 * connects to a host's socket that came after the start, or that the host does
 * not know by its path.
 * That check reads the path from the caller's memory, which another thread
 * may change before the kernel reads it again: a determined program can win
 * this race. It can not win against what a mount hides or protects.
 *
 * A handle belongs to one thread, of a process without others. If that dies,
 * everything inside dies.
 */
#ifndef SANDBOX_HOST_SANDBOX_H
#define SANDBOX_HOST_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/bytes.h"
#include "common/err.h"
#include "policies/constraint.h"
#include "policies/policy_rule.h"
#include "sandbox-host/root.h"

#define SANDBOX_ADDRESS4	  "198.18.0.1"
#define SANDBOX_ADDRESS6	  "fd00::1"
#define SANDBOX_HOSTNAME	  "sandbox"
#define SANDBOX_PROXY_PORT	  3128
#define SANDBOX_DNS_PORT	  53
#define SANDBOX_PATHS_MAX	  10000 /* of each list */
#define SANDBOX_ENV_MAX		  4096
#define SANDBOX_EXIT_FAILED	  125 /* the sandbox itself failed */
#define SANDBOX_EXIT_NOT_RUNNABLE 126
#define SANDBOX_EXIT_NOT_FOUND	  127

struct sandbox_variable {
	const char *name, *value;
};

/* "~", "~/x": below home; "x": below the workspace; "/x". */
struct sandbox_paths {
	const char *const *items;
	size_t count;
};

/* Host ids for root's sandboxes. */
struct sandbox_uids {
	uid_t first;
	unsigned count; /* 0: the usual ones */
};

/* SANDBOX_OVERLAY: writes are kept apart, in `changes` (overlay.h). */
enum sandbox_mode { SANDBOX_WRITE, SANDBOX_READ, SANDBOX_OVERLAY };

struct sandbox_limits {
	uint64_t memory_bytes; /* 0: none, as for the others */
	uint64_t processes;
	uint64_t time_ms;
	uint64_t cpu_milli;  /* thousandths of a core */
	uint64_t disk_bytes; /* of one file, and of each private tmpfs */
	uint64_t files;	     /* open ones, of one process */
};

/* What must be so, or sandbox_start() fails (ERR_UNSUPPORTED). */
struct sandbox_require {
	unsigned landlock;	     /* the least ABI; 0: any, or none */
	bool memory, processes, cpu; /* a cgroup holds the limit */
	bool disk;    /* nothing inside can be written without bound */
	bool freezer; /* a group that can be frozen */
};

/* Something that was denied or that the user should know. */
struct sandbox_event {
	/* filesystem, syscall, resource_limit; none for a remark */
	enum constraint constraint;
	const char *text; /* "write to /etc/passwd denied by ..." */
	const char *rule; /* of policies/remedy.h, or ""; a literal */
	bool is_ignored;  /* by `ignore`: to be recorded, not told */
};

typedef void sandbox_on_event(void *owner, const struct sandbox_event *event);

struct plan;

/* Runs inside, confined as a command, with nothing but channel (a
 * SOCK_SEQPACKET socket) and /dev/null open. Ends with _exit(). */
typedef void sandbox_agent(int channel, const struct plan *plan);

/* Borrowed until sandbox_start() returns; on_event's owner and `ignore` until
 * sandbox_free(). */
struct sandbox_spec {
	const char *const *argv;	    /* NULL-ended; not of a service */
	const struct sandbox_variable *env; /* all of it: nothing else passes */
	size_t env_count;
	const char *workspace; /* an existing directory; same path inside */
	enum sandbox_mode workspace_mode;
	/* SANDBOX_OVERLAY: a directory of the caller's, 0700, not in the
	 * workspace; made if it does not exist. */
	const char *changes;
	const char *cwd;  /* inside; NULL: the workspace */
	const char *home; /* NULL: none */
	/* has_read: the system directories and `read`, no more. Otherwise the
	 * host's root read-only, less what nobody should read. */
	bool has_read;
	struct sandbox_paths read, write;
	/* With a root of its own nothing of `has_read`, `read` and `write` is
	 * brought in: the workspace and volumes are all of the host's. */
	struct sandbox_root root;
	const struct sandbox_volume *volumes;
	size_t volume_count;
	struct sandbox_paths hide;	    /* globs (policies/glob.h) */
	struct sandbox_paths ours, secrets; /* hidden as well; no globs */
	struct sandbox_paths protect; /* beside the built-in list; globs */
	/* Names of files in the workspace with more to hide (ignore.h). */
	struct sandbox_paths ignore_files;
	struct sandbox_limits limits;
	struct sandbox_require require;
	struct policy_strings ignore; /* events not to be told (quiet.h) */
	struct sandbox_uids uids;
	const char *hostname; /* NULL: SANDBOX_HOSTNAME */
	bool has_terminal;    /* stdin and stdout are one: give it a pty */
	/* What is trusted beside the host's own bundle; may be empty. */
	struct bytes ca_pem;
	const struct sandbox_file *files; /* what else there is of ours */
	size_t file_count;
	/* It serves many commands (service.h), and can be made to rest. */
	bool is_service;
	/* Of a service: what a channel given inside is served by; or NULL. */
	sandbox_agent *agent;
	sandbox_on_event *on_event; /* NULL: sandbox_event_print */
	void *owner;
};

/* Made in the sandbox's network namespace; the caller's to close. Each
 * keeps that namespace alive: close them at the session's end. */
struct sandbox_listeners {
	int tcp4, tcp6; /* everything redirected; tcp6 -1: no IPv6 at all */
	int udp;	/* DNS */
	int tcp_dns;
};

struct sandbox;

/* Do now what needs no spec and would take sandbox_start() its time.
 * watches_reads: will the spec have `hide` or `ignore_files`? */
void sandbox_prepare(bool watches_reads);
/* Begin to build everything but the command, in a process of its own. NULL
 * with the step's name in err: nothing was left behind then. */
struct sandbox *sandbox_start(const struct sandbox_spec *spec, struct err *err);
/* Wait until it is built. Listeners are set on success. 0, or -1 with the
 * step's name in err. */
int sandbox_ready(struct sandbox *sandbox, struct sandbox_listeners *listeners,
		  struct err *err);
/* Let the command be exec'ed. From here to the end of sandbox_wait() the
 * caller's INT, TERM, HUP, QUIT, USR1, USR2, WINCH and CONT are blocked and
 * belong to the command, unless the caller ignores them. 0, or -1. */
int sandbox_go(struct sandbox *sandbox, struct err *err);
/* Wait for its end: signals that reach this process go to it, denials are
 * reported, the terminal is relayed, the time limit holds. *exit_code: the
 * command's, 128+n for a signal, 127 or 126 when it could not be exec'ed.
 * 0, or -1. */
int sandbox_wait(struct sandbox *sandbox, int *exit_code, struct err *err);
/* Kill what still runs, give back user id and cgroup, free. */
void sandbox_free(struct sandbox *sandbox);

/* Remove what a caller that was killed left of its sandboxes: control
 * groups, once their last process is gone. Waits for that, a second at most. */
void sandbox_sweep(pid_t dead);

/* Print "sandbox: <text>" on stderr, and what to do; owner is unused. */
void sandbox_event_print(void *owner, const struct sandbox_event *event);

#endif
