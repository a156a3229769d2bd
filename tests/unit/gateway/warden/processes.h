/*
 * A warden over the fake io, whose processes are not: fork, kill and waitpid
 * are ours (--wrap), and the test plays the other end of each channel.
 */
#ifndef TESTS_WARDEN_PROCESSES_H
#define TESTS_WARDEN_PROCESSES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/io_fake.h"
#include "gateway/warden/warden.h"

#define RIG_PROCESSES_MAX 64
#define RIG_ID		  "s-aaaaaaaaaaaaaaaaaaaaaaaaaa"

/* One that the warden started. */
struct process {
	pid_t pid;
	struct rpc *rpc;	 /* its end; NULL: closed */
	struct rpc_ticket asked; /* to close the session; rpc NULL: not */
	int killed_by;		 /* 0: not */
	bool is_reaped, has_exited;
};

static struct rig {
	struct warden warden;
	struct process processes[RIG_PROCESSES_MAX];
	size_t count;
	int theirs; /* the last channel's */
} rig;

int __real_io_message_pair(int fds[2], struct err *err);
int __wrap_io_message_pair(int fds[2], struct err *err);
pid_t __wrap_fork(void);
int __wrap_kill(pid_t pid, int number);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

int __wrap_io_message_pair(int fds[2], struct err *err)
{
	int result = __real_io_message_pair(fds, err);

	rig.theirs = fds[1];
	return result;
}

static void on_close_session(struct rpc_ticket ticket, const void *message,
			     int *fd, void *owner)
{
	struct process *process = owner;

	(void)message;
	(void)fd;
	rpc_ticket_hold(ticket);
	process->asked = ticket;
}

static void on_told(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

static void on_process_closed(struct rpc *rpc, const char *why, void *owner)
{
	struct process *process = owner;

	(void)rpc;
	(void)why;
	process->rpc = NULL;
}

pid_t __wrap_fork(void)
{
	static const struct rpc_permit permits[] = {
		{MSG_PEER, &msg_peer_schema, on_told, true, 0},
		{MSG_SESSION_OPEN, &wire_empty_schema, on_told, true, 0},
		{MSG_SESSION_CLOSE, &msg_session_ref_schema, on_close_session,
		 false, 0},
		{MSG_LISTENER, &msg_listener_schema, on_told, true, 0},
	};
	struct process *process = &rig.processes[rig.count];
	const struct rpc_config config = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = process,
		.on_closed = on_process_closed,
	};
	struct err err;

	assert_true(rig.count < RIG_PROCESSES_MAX);
	process->pid = 1000 + (pid_t)rig.count++;
	process->rpc = rpc_new(rig.warden.loop, dup(rig.theirs), &config, &err);
	assert_non_null(process->rpc);
	return process->pid;
}

int __wrap_kill(pid_t pid, int number)
{
	for (size_t i = 0; i < rig.count; i++)
		if (rig.processes[i].pid == pid)
			rig.processes[i].killed_by = number;
	return 0;
}

/* Whoever exited, once. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)pid;
	(void)options;
	for (size_t i = 0; i < rig.count; i++) {
		struct process *process = &rig.processes[i];

		if (!process->has_exited || process->is_reaped)
			continue;
		process->is_reaped = true;
		*status = process->killed_by;
		return process->pid;
	}
	return 0;
}

#endif
