/*
 * Loaded into sandbox_probe before everything else (LD_PRELOAD): the sandbox
 * that it makes has no reporter. Its filter lets pass what it would show; all
 * else of the sandbox is as it is.
 */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

enum { ARGUMENTS = 6 };

static void unwatch(struct sock_fprog *program)
{
	for (unsigned i = 0; i < program->len; i++) {
		struct sock_filter *code = &program->filter[i];

		if (code->code == (BPF_RET | BPF_K) &&
		    code->k == SECCOMP_RET_USER_NOTIF)
			code->k = SECCOMP_RET_ALLOW;
	}
}

long syscall(long number, ...)
{
	long (*next)(long, ...) =
		(long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long value[ARGUMENTS];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < ARGUMENTS; i++)
		value[i] = va_arg(list, long);
	va_end(list);
	/* Without a program libseccomp asks what there is. */
	if (number == SYS_seccomp && value[0] == SECCOMP_SET_MODE_FILTER &&
	    value[2])
		unwatch((struct sock_fprog *)value[2]);
	return next(number, value[0], value[1], value[2], value[3], value[4],
		    value[5]);
}
