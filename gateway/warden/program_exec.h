/*
 * The last steps of a program of the operator's, between fork(2) and
 * execve(2): nothing of ours stays with it.
 */
#ifndef GATEWAY_WARDEN_PROGRAM_EXEC_H
#define GATEWAY_WARDEN_PROGRAM_EXEC_H

#include <sys/types.h>

/* Become the program, which writes to out, as user and group uid (0: stay);
 * or exit with 126 or 127. */
void program_exec(const char *const *argv, int out, uid_t uid)
	__attribute__((noreturn));

#endif
