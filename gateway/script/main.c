/*
 * sallyport-script: runs the Lua script of one session's policy. It holds
 * nothing, opens nothing and talks to that session's edge alone; a call that
 * takes too long ends the process, and the edge refuses what it asked.
 */
#include <sys/resource.h>
#include <sys/time.h>

#include "common/cleanup.h"
#include "gateway/keeper/keeper.h"
#include "gateway/script/vm.h"

/* Of this process, for one call. */
#define CALL_CPU_MS    200
#define MEMORY_MAX     ((size_t)256 << 20)
#define HEAP_BYTES_MAX ((rlim_t)64 << 20)

struct script {
	struct vm *vm;
	char fault[ERR_TEXT_MAX]; /* why it was not loaded */
};

/* SIGPROF, which nobody handles, when the time is over. */
static void watch(unsigned ms)
{
	const struct itimerval timer = {
		.it_value = {.tv_usec = (suseconds_t)ms * 1000},
	};

	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

static void answer_load(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_script_load *load = message;
	const struct wire_empty empty = {0};
	struct keeper_peer *edge = owner;
	struct script *script = edge->keeper->owner;
	struct err err;

	(void)fd;
	if (script->vm) {
		rpc_refuse(ticket, CONSTRAINT_internal, "one script alone");
		return;
	}
	watch(CALL_CPU_MS);
	script->vm = vm_new(load->text, &err);
	watch(0);
	if (script->vm) {
		rpc_reply(ticket, &wire_empty_schema, &empty, -1);
		return;
	}
	memcpy(script->fault, err.text, sizeof(script->fault));
	rpc_refuse(ticket, CONSTRAINT_script_failed, "%s", err.text);
}

static void answer_decide(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct keeper_peer *edge = owner;
	struct script *script = edge->keeper->owner;
	struct msg_script_verdict verdict;
	struct err err;
	int result;

	(void)fd;
	if (!script->vm) {
		rpc_refuse(ticket, CONSTRAINT_script_failed, "%s",
			   script->fault);
		return;
	}
	watch(CALL_CPU_MS);
	result = vm_decide(script->vm, message, &verdict, &err);
	watch(0);
	if (result < 0)
		rpc_refuse(ticket, CONSTRAINT_script_failed, "%s", err.text);
	else
		rpc_reply(ticket, &msg_script_verdict_schema, &verdict, -1);
}

static int prepare(struct keeper *keeper, struct confine_spec *confine,
		   struct err *err)
{
	const struct rlimit heap = {HEAP_BYTES_MAX, HEAP_BYTES_MAX};

	(void)keeper;
	confine->memory_max = MEMORY_MAX;
#ifndef SP_UNCONFINED
	if (setrlimit(RLIMIT_DATA, &heap) < 0)
		return err_system(err, "limit the heap");
#else
	(void)heap;
	(void)err;
#endif
	return 0;
}

/* Nobody is left to answer to. */
static void on_peer_closed(struct keeper *keeper, struct keeper_peer *peer)
{
	(void)peer;
	io_loop_stop(keeper->loop);
}

int main(void)
{
	static const struct rpc_permit edge_permits[] = {
		{MSG_SCRIPT_LOAD, &msg_script_load_schema, answer_load, false,
		 0},
		{MSG_SCRIPT_DECIDE, &msg_script_request_schema, answer_decide,
		 false, 0},
	};
	static const struct keeper_service services[] = {
		{ROLE_EDGE, edge_permits, ARRAY_SIZE(edge_permits)},
	};
	static const char *const syscalls[] = {"setitimer", NULL};
	static const struct keeper_spec spec = {
		.role = ROLE_SCRIPT,
		.services = services,
		.service_count = ARRAY_SIZE(services),
		.prepare = prepare,
		.syscalls = syscalls,
		.on_peer_closed = on_peer_closed,
	};
	static struct script script;

	return keeper_main(&spec, &script);
}
