/*
 * The filter on the command's system calls. Ordinary calls pass; those that
 * reach around the other layers are refused, as are calls that are newer
 * than this list and other architectures; calls that write to the file
 * system, or that are refused and worth a word, are shown to the caller's
 * process first (notify.h).
 */
#ifndef SANDBOX_HOST_SECCOMP_H
#define SANDBOX_HOST_SECCOMP_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct seccomp_program {
	struct sock_filter *code;
	unsigned short len; /* instructions */
};

/* Compile it; watches_reads: opens to read are shown as well. 0, or -1.
 * seccomp_release_program() it. */
int seccomp_compile(struct seccomp_program *program, bool watches_reads,
		    struct err *err);
void seccomp_release_program(struct seccomp_program *program);
/* Put it on the calling process, for ever. The notification descriptor, or
 * -1. no_new_privs must be set. */
int seccomp_install(const struct seccomp_program *program, struct err *err);

/* The code of a filter of libseccomp's, which stays the caller's. 0, or -1.
 * seccomp_release_program() it. */
int seccomp_export(void *filter, struct seccomp_program *program,
		   struct err *err);
/* Put it on the calling process, for ever, without a notification descriptor.
 * no_new_privs must be set. 0, or -1. */
int seccomp_enter(const struct seccomp_program *program, struct err *err);

/* For init, which only waits and passes signals on: an allow-list of what
 * that takes. Does nothing in sanitized builds. 0, or -1. */
int seccomp_enter_init(struct err *err);

#endif
