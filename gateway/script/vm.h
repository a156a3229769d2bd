/*
 * A policy's Lua script: loaded once, asked about each request. It runs in a
 * process that holds nothing and reaches nothing; here it has the language
 * and its strings, tables and numbers, and no file, no clock, no module and
 * no bytecode. Memory is bounded here, time by the process (main.c): a
 * pattern of Lua's own cannot be stopped from within.
 *
 *	function decide(request)
 *	  if request.headers["x-debug"] then
 *	    return "deny", "no debugging from a sandbox"
 *	  end
 *	end
 */
#ifndef GATEWAY_SCRIPT_VM_H
#define GATEWAY_SCRIPT_VM_H

#include "common/err.h"
#include "gateway/flow/messages.h"

#define VM_MEMORY_MAX	  (16 * 1024 * 1024)
#define SCRIPT_REASON_MAX 512

struct vm;

/* Run text, which must define a function `decide`. NULL with *err, which has
 * Lua's own message and line. */
struct vm *vm_new(struct bytes text, struct err *err);
void vm_free(struct vm *vm);

/* decide({method, scheme, host, port, path, query, headers}): headers has
 * lower-case names; values of one name are joined by ", ". It returns nil
 * (the rules decide), "allow" (what the rules ask a person about passes), or
 * "deny" and a reason. 0 with *verdict, whose reason lives until the next
 * call; -1: it failed, or returned something else. */
int vm_decide(struct vm *vm, const struct msg_script_request *request,
	      struct msg_script_verdict *verdict, struct err *err);

#endif
