#include "sandbox-host/seccomp.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/seccomp_rules.h"

/* removexattrat: the newest call this list was made with. From here on the
 * numbers are the same on every architecture. */
#define KNOWN_CALL_MAX 466
#define X32_BIT	       0x40000000u
#define PREFIX_LEN     6
#define PROGRAM_MAX    4096

/* Kernel 5.19: once the notification was read, a signal does not interrupt
 * the call (Go's scheduler sends many). */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

static int load_rules(scmp_filter_ctx filter, const struct seccomp_rule *rules,
		      size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct seccomp_rule *rule = &rules[i];
		int call = rule->name ? seccomp_syscall_resolve_name(rule->name)
				      : rule->number;
		int rc;

		/* A call that libseccomp or this machine does not have. */
		if (call == __NR_SCMP_ERROR)
			continue;
		rc = seccomp_rule_add_array(filter, rule->action, call,
					    rule->test_count, rule->tests);
		if (rc < 0)
			return err_set(err, ERR_LIBRARY,
				       "seccomp: add the rule %zu (%s): %d", i,
				       rule->name ? rule->name : "by number",
				       rc);
	}
	return 0;
}

/* Calls newer than the list do not exist here. Other architectures and x32
 * go on to the main part, which kills. */
static void put_prefix(struct sock_filter *code)
{
	const struct sock_filter prefix[PREFIX_LEN] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0,
			 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, KNOWN_CALL_MAX, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	};

	memcpy(code, prefix, sizeof(prefix));
}

/* With room for so many more instructions before it. */
static int export(scmp_filter_ctx filter, size_t room,
		  struct seccomp_program *program, struct err *err)
{
	auto_fd int fd = memfd_create("filter", MFD_CLOEXEC);
	struct stat st;
	size_t size;

	if (fd < 0 || seccomp_export_bpf(filter, fd) < 0 || fstat(fd, &st) < 0)
		return err_system(err, "seccomp: export the filter");
	size = (size_t)st.st_size;
	if (size / sizeof(*program->code) + room > PROGRAM_MAX)
		return err_set(err, ERR_TOO_LARGE, "seccomp: a long filter");
	program->code = malloc(size + room * sizeof(*program->code));
	if (!program->code)
		return err_set(err, ERR_TOO_LARGE, "seccomp: no memory");
	if (pread(fd, program->code + room, size, 0) != (ssize_t)size) {
		seccomp_release_program(program);
		return err_system(err, "seccomp: read the filter");
	}
	program->len = (unsigned short)(size / sizeof(*program->code) + room);
	return 0;
}

int seccomp_export(void *filter, struct seccomp_program *program,
		   struct err *err)
{
	return export(filter, 0, program, err);
}

int seccomp_compile(struct seccomp_program *program, bool watches_reads,
		    struct err *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = -1;

	*program = (struct seccomp_program){0};
	if (!filter)
		return err_set(err, ERR_LIBRARY, "seccomp: make a filter");
	(void)seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
			       SCMP_ACT_KILL_PROCESS);
	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (load_rules(filter, seccomp_rules, seccomp_rule_count, err) == 0 &&
	    (!watches_reads || load_rules(filter, seccomp_read_rules,
					  seccomp_read_rule_count, err) == 0))
		rc = export(filter, PREFIX_LEN, program, err);
	if (rc == 0)
		put_prefix(program->code);
	seccomp_release(filter);
	return rc;
}

void seccomp_release_program(struct seccomp_program *program)
{
	free(program->code);
	*program = (struct seccomp_program){0};
}

int seccomp_install(const struct seccomp_program *program, struct err *err)
{
	const struct sock_fprog code = {program->len, program->code};
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER |
			      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &code);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			     SECCOMP_FILTER_FLAG_NEW_LISTENER, &code);
	if (fd < 0 && errno == EBUSY)
		return err_set(err, ERR_UNSUPPORTED,
			       "seccomp: this process is watched by another "
			       "supervisor already");
	return fd < 0 ? err_system(err, "seccomp: install the filter")
		      : (int)fd;
}

int seccomp_enter(const struct seccomp_program *program, struct err *err)
{
	const struct sock_fprog code = {program->len, program->code};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) < 0)
		return err_system(err, "seccomp: install the filter");
	return 0;
}

#ifdef SP_UNCONFINED
int seccomp_enter_init(struct err *err)
{
	(void)err;
	return 0;
}
#else
int seccomp_enter_init(struct err *err)
{
	static const char *const calls[] = {
		"read",
		"write",
		"poll",
		"ppoll",
		"recvmsg",
		"sendmsg",
		"wait4",
		"waitid",
		"kill",
		"exit",
		"exit_group",
		"rt_sigreturn",
		"restart_syscall",
		"close",
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc = filter ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(calls); i++)
		rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				      seccomp_syscall_resolve_name(calls[i]),
				      0);
	if (rc == 0)
		rc = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	if (rc < 0)
		return err_set(err, ERR_LIBRARY, "seccomp: confine init: %d",
			       rc);
	return 0;
}
#endif
