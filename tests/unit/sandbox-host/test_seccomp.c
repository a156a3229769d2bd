#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sandbox-host/seccomp.h"

#define STEPS_MAX	10000
#define REFUSED(number) (SECCOMP_RET_ERRNO | (number))

static struct seccomp_program program;

static uint32_t load(const struct seccomp_data *data, uint32_t at)
{
	uint32_t value;

	assert_true(at + sizeof(value) <= sizeof(*data));
	memcpy(&value, (const char *)data + at, sizeof(value));
	return value;
}

static bool jumps(const struct sock_filter *code, uint32_t a)
{
	switch (BPF_OP(code->code)) {
	case BPF_JEQ:
		return a == code->k;
	case BPF_JGT:
		return a > code->k;
	case BPF_JGE:
		return a >= code->k;
	case BPF_JSET:
		return a & code->k;
	default:
		fail_msg("an unknown jump");
		return false;
	}
}

/* What the kernel would answer: classic BPF, as far as filters use it. */
static uint32_t run(const struct seccomp_data *data)
{
	uint32_t a = 0;
	size_t at = 0;

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		const struct sock_filter *code = &program.code[at++];

		assert_true(at <= program.len);
		switch (BPF_CLASS(code->code)) {
		case BPF_LD:
			a = load(data, code->k);
			break;
		case BPF_ALU:
			assert_int_equal(BPF_OP(code->code), BPF_AND);
			a &= code->k;
			break;
		case BPF_JMP:
			if (BPF_OP(code->code) == BPF_JA)
				at += code->k;
			else
				at += jumps(code, a) ? code->jt : code->jf;
			break;
		case BPF_RET:
			return code->k;
		default:
			fail_msg("an unknown instruction");
		}
	}
	fail_msg("no end");
	return 0;
}

struct row {
	const char *what;
	int call;
	uint64_t args[4];
	uint32_t answer;
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct row *row = &rows[i];
		struct seccomp_data data = {
			.nr = row->call,
			.arch = seccomp_arch_native(),
			.args = {row->args[0], row->args[1], row->args[2],
				 row->args[3]},
		};
		uint32_t answer = run(&data);

		if (answer != row->answer)
			fail_msg("%s: %08x", row->what, answer);
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void filter_lets_ordinary_calls_pass(void **state)
{
	static const struct row rows[] = {
		{"read", __NR_read, {0}, SECCOMP_RET_ALLOW},
		{"execve", __NR_execve, {0}, SECCOMP_RET_ALLOW},
		{"mmap", __NR_mmap, {0}, SECCOMP_RET_ALLOW},
		{"fork", __NR_clone, {SIGCHLD}, SECCOMP_RET_ALLOW},
		{"seccomp", __NR_seccomp, {0}, SECCOMP_RET_ALLOW},
		{"unshare files",
		 __NR_unshare,
		 {CLONE_FILES},
		 SECCOMP_RET_ALLOW},
		{"read a file",
		 __NR_openat,
		 {0, 0, O_RDONLY | O_CLOEXEC},
		 SECCOMP_RET_ALLOW},
		{"stream",
		 __NR_socket,
		 {AF_INET, SOCK_STREAM, 0},
		 SECCOMP_RET_ALLOW},
		{"datagram",
		 __NR_socket,
		 {AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17},
		 SECCOMP_RET_ALLOW},
		{"unix",
		 __NR_socket,
		 {AF_UNIX, SOCK_STREAM, 0},
		 SECCOMP_RET_ALLOW},
		{"route",
		 __NR_socket,
		 {AF_NETLINK, SOCK_RAW, 0},
		 SECCOMP_RET_ALLOW},
		{"pair",
		 __NR_socketpair,
		 {AF_UNIX, SOCK_STREAM, 0},
		 SECCOMP_RET_ALLOW},
		{"window", __NR_ioctl, {0, 0x5413}, SECCOMP_RET_ALLOW},
		{"personality 0", __NR_personality, {0}, SECCOMP_RET_ALLOW},
		{"name a thread", __NR_prctl, {PR_SET_NAME}, SECCOMP_RET_ALLOW},
		{"send", __NR_sendto, {0, 0, 0, 0x4000}, SECCOMP_RET_ALLOW},
		{"no delay",
		 __NR_setsockopt,
		 {0, IPPROTO_TCP, 1},
		 SECCOMP_RET_ALLOW},
	};

	(void)state;
	CHECK(rows);
}

static void filter_refuses_what_reaches_around(void **state)
{
	static const struct row rows[] = {
		{"clone3", __NR_clone3, {0}, REFUSED(ENOSYS)},
		{"io_uring", __NR_io_uring_setup, {0}, REFUSED(ENOSYS)},
		{"openat2", __NR_openat2, {0}, REFUSED(ENOSYS)},
		{"fchmodat2", 452, {0}, REFUSED(ENOSYS)},
		{"statmount", 457, {0}, REFUSED(ENOSYS)},
	};

	(void)state;
	CHECK(rows);
}

/* Refused by the reporter, with the same errors as ever. */
static void filter_shows_what_reaches_around(void **state)
{
	static const struct row rows[] = {
		{"clone user",
		 __NR_clone,
		 {CLONE_NEWUSER | SIGCHLD},
		 SECCOMP_RET_USER_NOTIF},
		{"clone net",
		 __NR_clone,
		 {CLONE_NEWNET},
		 SECCOMP_RET_USER_NOTIF},
		{"vsock",
		 __NR_socket,
		 {40, SOCK_STREAM},
		 SECCOMP_RET_USER_NOTIF},
		{"packet",
		 __NR_socket,
		 {AF_PACKET, SOCK_RAW},
		 SECCOMP_RET_USER_NOTIF},
		{"alg",
		 __NR_socket,
		 {AF_ALG, SOCK_SEQPACKET},
		 SECCOMP_RET_USER_NOTIF},
		{"ax25", __NR_socket, {3, SOCK_STREAM}, SECCOMP_RET_USER_NOTIF},
		{"high bits",
		 __NR_socket,
		 {0x100000003ull, SOCK_STREAM},
		 SECCOMP_RET_USER_NOTIF},
		{"raw",
		 __NR_socket,
		 {AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1},
		 SECCOMP_RET_USER_NOTIF},
		{"raw 6",
		 __NR_socket,
		 {AF_INET6, SOCK_RAW, 58},
		 SECCOMP_RET_USER_NOTIF},
		{"mptcp",
		 __NR_socket,
		 {AF_INET, SOCK_STREAM, 262},
		 SECCOMP_RET_USER_NOTIF},
		{"netfilter",
		 __NR_socket,
		 {AF_NETLINK, SOCK_RAW, 12},
		 SECCOMP_RET_USER_NOTIF},
		{"unix datagram",
		 __NR_socket,
		 {AF_UNIX, SOCK_DGRAM},
		 SECCOMP_RET_USER_NOTIF},
		{"datagram pair",
		 __NR_socketpair,
		 {AF_UNIX, SOCK_DGRAM},
		 SECCOMP_RET_USER_NOTIF},
		{"TIOCSTI", __NR_ioctl, {0, 0x5412}, SECCOMP_RET_USER_NOTIF},
		{"TIOCSTI, high bits",
		 __NR_ioctl,
		 {0, 0x700005412ull},
		 SECCOMP_RET_USER_NOTIF},
		{"TIOCLINUX", __NR_ioctl, {0, 0x541c}, SECCOMP_RET_USER_NOTIF},
		{"personality",
		 __NR_personality,
		 {0x0040000},
		 SECCOMP_RET_USER_NOTIF},
	};

	(void)state;
	CHECK(rows);
}

static void filter_refuses_what_few_need(void **state)
{
	static const struct row rows[] = {
		{"out of band",
		 __NR_sendto,
		 {0, 0, 0, MSG_OOB | MSG_NOSIGNAL},
		 REFUSED(EOPNOTSUPP)},
		{"message out of band",
		 __NR_sendmsg,
		 {0, 0, MSG_OOB},
		 REFUSED(EOPNOTSUPP)},
		{"messages out of band",
		 __NR_sendmmsg,
		 {0, 0, 0, MSG_OOB},
		 REFUSED(EOPNOTSUPP)},
		{"kernel TLS",
		 __NR_setsockopt,
		 {0, IPPROTO_TCP, 31},
		 REFUSED(ENOPROTOOPT)},
		{"set mm", __NR_prctl, {PR_SET_MM}, REFUSED(EPERM)},
		{"vmsplice", __NR_vmsplice, {0}, REFUSED(ENOSYS)},
		{"a call of tomorrow", 500, {0}, REFUSED(ENOSYS)},
	};

	(void)state;
	CHECK(rows);
}

static void filter_shows_what_is_worth_a_word(void **state)
{
	static const struct row rows[] = {
		{"write",
		 __NR_openat,
		 {0, 0, O_WRONLY},
		 SECCOMP_RET_USER_NOTIF},
		{"create",
		 __NR_openat,
		 {0, 0, O_RDONLY | O_CREAT},
		 SECCOMP_RET_USER_NOTIF},
		{"truncate",
		 __NR_openat,
		 {0, 0, O_TRUNC},
		 SECCOMP_RET_USER_NOTIF},
		{"set-user-id",
		 __NR_fchmodat,
		 {0, 0, 04755},
		 SECCOMP_RET_USER_NOTIF},
		{"set-group-id",
		 __NR_fchmod,
		 {0, 02755},
		 SECCOMP_RET_USER_NOTIF},
		{"unlink", __NR_unlinkat, {0}, SECCOMP_RET_USER_NOTIF},
		{"connect", __NR_connect, {0}, SECCOMP_RET_USER_NOTIF},
		{"bind", __NR_bind, {0}, SECCOMP_RET_USER_NOTIF},
		{"ptrace", __NR_ptrace, {0}, SECCOMP_RET_USER_NOTIF},
		{"bpf", __NR_bpf, {0}, SECCOMP_RET_USER_NOTIF},
		{"mount", __NR_mount, {0}, SECCOMP_RET_USER_NOTIF},
		{"unshare user",
		 __NR_unshare,
		 {CLONE_NEWUSER},
		 SECCOMP_RET_USER_NOTIF},
		{"keyctl", __NR_keyctl, {0}, SECCOMP_RET_USER_NOTIF},
	};

	(void)state;
	CHECK(rows);
}

static void filter_kills_other_architectures(void **state)
{
	struct seccomp_data data = {.nr = __NR_read, .arch = AUDIT_ARCH_I386};

	(void)state;
	assert_int_equal(run(&data), SECCOMP_RET_KILL_PROCESS);
#ifdef __x86_64__
	data.arch = AUDIT_ARCH_X86_64;
	data.nr = 0x40000000 | __NR_read;
	assert_int_equal(run(&data), SECCOMP_RET_KILL_PROCESS);
#endif
}

static int setup(void **state)
{
	struct err err;

	(void)state;
	return seccomp_compile(&program, false, &err);
}

static int teardown(void **state)
{
	(void)state;
	seccomp_release_program(&program);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_lets_ordinary_calls_pass),
		cmocka_unit_test(filter_refuses_what_reaches_around),
		cmocka_unit_test(filter_shows_what_reaches_around),
		cmocka_unit_test(filter_refuses_what_few_need),
		cmocka_unit_test(filter_shows_what_is_worth_a_word),
		cmocka_unit_test(filter_kills_other_architectures),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
