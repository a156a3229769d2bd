/*
 * Give up what a process does not need, before it reads its first foreign
 * byte: user ids, new privileges, capabilities, file system (Landlock, by
 * the ABI the kernel has), system calls (seccomp allow-list), resources,
 * core dumps. In sanitized builds (SP_UNCONFINED) only rlimits and
 * undumpable are applied, and that is logged once.
 */
#ifndef COMMON_CONFINE_H
#define COMMON_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"

/* A directory tree that stays reachable. */
struct confine_path {
	int fd; /* an open directory */
	bool writable;
	bool makes_links; /* writable: symbolic links and whiteouts too */
};

struct confine_spec {
	const char *name; /* for errors and the log */
	/* Calls beside the base set that every process of ours has: read write
	 * close fcntl epoll_wait epoll_ctl sendmsg recvmsg sendto recvfrom
	 * mmap munmap mremap madvise brk futex clock_gettime gettimeofday
	 * getrandom getpid rt_sigreturn restart_syscall exit_group lseek; names
	 * as libseccomp knows them, NULL-ended. mmap and mprotect never make
	 * code; ioctl sets the size of a terminal (TIOCSWINSZ), tells how many
	 * bytes wait to be read (FIONREAD) and does nothing else. */
	const char *const *syscalls;
	/* Trees that stay reachable; empty: no file can be opened at all. */
	const struct confine_path *paths;
	size_t path_count;
	size_t files_max;  /* RLIMIT_NOFILE; 0: leave */
	size_t memory_max; /* RLIMIT_AS in bytes; 0: leave */
	bool may_connect;  /* Landlock: keep TCP connect (dialer only) */
	uid_t uid;	   /* when root: become this; 0: stay */
	gid_t gid;
};

/* What a process must list when it holds a struct secret, or seals or maps
 * a wire memfd: .syscalls = (..., CONFINE_CALLS_SECRET, NULL). */
#define CONFINE_CALLS_SECRET "mlock"
#define CONFINE_CALLS_MEMFD  "memfd_create", "fstat", "newfstatat"

/* Apply it all. Irreversible. 0, or -1 (the process must then exit). */
int confine(const struct confine_spec *spec, struct err *err);

/* Refuse these calls (NULL-ended, as libseccomp knows them; unknown ones are
 * left out) with EPERM to this process and all it starts, and leave the
 * others: for programs that are not ours. no_new_privs is set already. 0, or
 * -1. */
int confine_deny_calls(const char *const *names, struct err *err);

/* The Landlock ABI of this kernel; 0 when there is none. */
int confine_landlock_abi(void);

#endif
