#include "sandbox-host/seccomp_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/cleanup.h"

#define REFUSE(call, number_of_error)                                          \
	{.name = call, .action = SCMP_ACT_ERRNO(number_of_error)}
/* Refused as well, with a word to the user: by the notification's answer. A
 * call that programs try to see whether it is there is only missing. */
#define SAY(call) {.name = call, .action = SCMP_ACT_NOTIFY}
#define NUMBER(call, number_of_error)                                          \
	{.number = call, .action = SCMP_ACT_ERRNO(number_of_error)}
#define IF(call, what, ...)                                                    \
	{                                                                      \
		.name = call,                                                  \
		.action = what,                                                \
		.test_count = 1,                                               \
		.tests = {{__VA_ARGS__}},                                      \
	}
#define IF_BOTH(call, what, one, two)                                          \
	{                                                                      \
		.name = call,                                                  \
		.action = what,                                                \
		.test_count = 2,                                               \
		.tests = {one, two},                                           \
	}
/* The kernel reads these as int: the upper half of the register is noise. */
#define LOW(index, value)	 {index, SCMP_CMP_MASKED_EQ, 0xffffffffu, value}
#define ABOVE(index, value)	 {index, SCMP_CMP_GT, value, 0}
#define BITS(index, mask, value) {index, SCMP_CMP_MASKED_EQ, mask, value}

#define NAMESPACE(flag)                                                        \
	IF("clone", SCMP_ACT_NOTIFY, 0, SCMP_CMP_MASKED_EQ, flag, flag),       \
		IF("unshare", SCMP_ACT_NOTIFY, 0, SCMP_CMP_MASKED_EQ, flag,    \
		   flag)

#define OPENS(call, index)                                                     \
	IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ, O_ACCMODE,        \
	   O_WRONLY),                                                          \
		IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ,           \
		   O_ACCMODE, O_RDWR),                                         \
		IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ,           \
		   O_ACCMODE, O_ACCMODE),                                      \
		IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ, O_CREAT,  \
		   O_CREAT),                                                   \
		IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ, O_TRUNC,  \
		   O_TRUNC)

#define FAMILY(value)                                                          \
	IF("socket", SCMP_ACT_NOTIFY, 0, SCMP_CMP_MASKED_EQ, 0xffffffffu, value)
/* A socket type (its low bits) of a family. */
#define TYPE(family, type)                                                     \
	IF_BOTH("socket", SCMP_ACT_NOTIFY, LOW(0, family), BITS(1, 0xf, type))
#define PAIR(type)                                                             \
	IF("socketpair", SCMP_ACT_NOTIFY, 1, SCMP_CMP_MASKED_EQ, 0xf, type)
#define IOCTL(request)                                                         \
	IF("ioctl", SCMP_ACT_NOTIFY, 1, SCMP_CMP_MASKED_EQ, 0xffffffffu,       \
	   request)

/* A set-id bit: on the host the file would act for the workspace's owner,
 * root perhaps. Calls that make files are judged by the notification. */
#define SET_ID(call, index)                                                    \
	IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ, S_ISUID,          \
	   S_ISUID),                                                           \
		IF(call, SCMP_ACT_NOTIFY, index, SCMP_CMP_MASKED_EQ, S_ISGID,  \
		   S_ISGID)

enum {
	REQUEST_TIOCSTI = 0x5412,
	REQUEST_TIOCCONS = 0x541d,
	REQUEST_TIOCLINUX = 0x541c,
	REQUEST_TIOCSETD = 0x5423,
	OPTION_TCP_ULP = 31,
	CALL_FCHMODAT2 = 452,
	CALL_STATMOUNT = 457,
	CALL_LISTMOUNT = 458,
	PROTOCOL_UDP = 17
};

const struct seccomp_rule seccomp_rules[] = {
	/* A new namespace would bring capabilities back. clone3's flags are
	 * behind a pointer; without it the C library uses clone. */
	REFUSE("clone3", ENOSYS),
	NAMESPACE(CLONE_NEWUSER),
	NAMESPACE(CLONE_NEWNS),
	NAMESPACE(CLONE_NEWPID),
	NAMESPACE(CLONE_NEWNET),
	NAMESPACE(CLONE_NEWIPC),
	NAMESPACE(CLONE_NEWUTS),
	NAMESPACE(CLONE_NEWCGROUP),
	IF("unshare", SCMP_ACT_NOTIFY, 0, SCMP_CMP_MASKED_EQ, CLONE_NEWTIME,
	   CLONE_NEWTIME),
	SAY("setns"),
	/* Mounts. */
	SAY("mount"),
	SAY("umount2"),
	SAY("pivot_root"),
	SAY("chroot"),
	SAY("fsopen"),
	SAY("fspick"),
	SAY("move_mount"),
	SAY("open_tree"),
	SAY("mount_setattr"),
	SAY("fsconfig"),
	SAY("fsmount"),
	NUMBER(CALL_STATMOUNT, ENOSYS),
	NUMBER(CALL_LISTMOUNT, ENOSYS),
	/* Does its work behind the filter's back. */
	REFUSE("io_uring_setup", ENOSYS),
	REFUSE("io_uring_enter", ENOSYS),
	REFUSE("io_uring_register", ENOSYS),
	/* Other processes. */
	SAY("ptrace"),
	SAY("process_vm_readv"),
	SAY("process_vm_writev"),
	SAY("pidfd_getfd"),
	SAY("process_madvise"),
	SAY("kcmp"),
	SAY("move_pages"),
	SAY("migrate_pages"),
	SAY("mbind"),
	/* libnuma tries it, and with that each ps. */
	REFUSE("set_mempolicy", ENOSYS),
	SAY("set_mempolicy_home_node"),
	/* Large doors into the kernel. */
	SAY("bpf"),
	SAY("perf_event_open"),
	SAY("userfaultfd"),
	SAY("add_key"),
	SAY("request_key"),
	SAY("keyctl"),
	SAY("kexec_load"),
	SAY("kexec_file_load"),
	SAY("init_module"),
	SAY("finit_module"),
	SAY("delete_module"),
	SAY("open_by_handle_at"),
	REFUSE("name_to_handle_at", EOPNOTSUPP),
	SAY("fanotify_init"),
	SAY("fanotify_mark"),
	REFUSE("memfd_secret", ENOSYS),
	REFUSE("remap_file_pages", ENOSYS),
	REFUSE("vmsplice", ENOSYS),
	IF("prctl", SCMP_ACT_ERRNO(EPERM), 0, SCMP_CMP_MASKED_EQ, 0xffffffffu,
	   PR_SET_MM),
	SAY("lookup_dcookie"),
	SAY("modify_ldt"),
	SAY("iopl"),
	SAY("ioperm"),
	REFUSE("uselib", ENOSYS),
	REFUSE("ustat", ENOSYS),
	REFUSE("sysfs", ENOSYS),
	REFUSE("_sysctl", ENOSYS),
	REFUSE("nfsservctl", ENOSYS),
	/* The host's state. */
	SAY("reboot"),
	SAY("swapon"),
	SAY("swapoff"),
	SAY("acct"),
	SAY("quotactl"),
	SAY("quotactl_fd"),
	SAY("syslog"),
	SAY("vhangup"),
	SAY("sethostname"),
	SAY("setdomainname"),
	SAY("settimeofday"),
	SAY("clock_settime"),
	SAY("clock_adjtime"),
	SAY("adjtimex"),
	IF("personality", SCMP_ACT_NOTIFY, 0, SCMP_CMP_NE, 0, 0),
	SET_ID("chmod", 1),
	SET_ID("fchmod", 1),
	SET_ID("fchmodat", 2),
	/* The C library asks for the older one when this is missing. */
	NUMBER(CALL_FCHMODAT2, ENOSYS),
	/* Putting words into a terminal that is not ours. */
	IOCTL(REQUEST_TIOCSTI),
	IOCTL(REQUEST_TIOCLINUX),
	IOCTL(REQUEST_TIOCSETD),
	IOCTL(REQUEST_TIOCCONS),
	/* Sockets: UNIX 1, INET 2, INET6 10, NETLINK 16 with ROUTE 0. */
	IF("socket", SCMP_ACT_NOTIFY, 0, SCMP_CMP_GT, AF_NETLINK, 0),
	FAMILY(0),
	FAMILY(3),
	FAMILY(4),
	FAMILY(5),
	FAMILY(6),
	FAMILY(7),
	FAMILY(8),
	FAMILY(9),
	FAMILY(11),
	FAMILY(12),
	FAMILY(13),
	FAMILY(14),
	FAMILY(15),
	IF_BOTH("socket", SCMP_ACT_NOTIFY, LOW(0, AF_NETLINK), ABOVE(2, 0)),
	TYPE(AF_INET, SOCK_RAW),
	TYPE(AF_INET, SOCK_RDM),
	TYPE(AF_INET, SOCK_SEQPACKET),
	TYPE(AF_INET, SOCK_DCCP),
	TYPE(AF_INET, SOCK_PACKET),
	TYPE(AF_INET6, SOCK_RAW),
	TYPE(AF_INET6, SOCK_RDM),
	TYPE(AF_INET6, SOCK_SEQPACKET),
	TYPE(AF_INET6, SOCK_DCCP),
	/* MPTCP, SCTP, UDP-Lite and what else comes after UDP. */
	IF_BOTH("socket", SCMP_ACT_NOTIFY, LOW(0, AF_INET),
		ABOVE(2, PROTOCOL_UDP)),
	IF_BOTH("socket", SCMP_ACT_NOTIFY, LOW(0, AF_INET6),
		ABOVE(2, PROTOCOL_UDP)),
	/* A datagram socket reaches a path without a connect. */
	TYPE(AF_UNIX, SOCK_DGRAM),
	TYPE(AF_UNIX, SOCK_RAW),
	PAIR(SOCK_DGRAM),
	PAIR(SOCK_RAW),
	/* Parts of the kernel that few use and many attacked. */
	IF("sendto", SCMP_ACT_ERRNO(EOPNOTSUPP), 3, SCMP_CMP_MASKED_EQ, MSG_OOB,
	   MSG_OOB),
	IF("sendmsg", SCMP_ACT_ERRNO(EOPNOTSUPP), 2, SCMP_CMP_MASKED_EQ,
	   MSG_OOB, MSG_OOB),
	IF("sendmmsg", SCMP_ACT_ERRNO(EOPNOTSUPP), 3, SCMP_CMP_MASKED_EQ,
	   MSG_OOB, MSG_OOB),
	IF_BOTH("setsockopt", SCMP_ACT_ERRNO(ENOPROTOOPT), LOW(1, IPPROTO_TCP),
		LOW(2, OPTION_TCP_ULP)),
	/* Shown to the reporter, which lets them go on. */
	OPENS("open", 1),
	OPENS("openat", 2),
	/* What it opens is behind a pointer, which another thread may change
	 * after we looked; everybody can do without. */
	REFUSE("openat2", ENOSYS),
	SAY("creat"),
	SAY("mkdir"),
	SAY("mkdirat"),
	SAY("mknod"),
	SAY("mknodat"),
	SAY("rename"),
	SAY("renameat"),
	SAY("renameat2"),
	SAY("link"),
	SAY("linkat"),
	SAY("symlink"),
	SAY("symlinkat"),
	SAY("unlink"),
	SAY("unlinkat"),
	SAY("rmdir"),
	SAY("truncate"),
	SAY("connect"),
	SAY("bind"),
};

const size_t seccomp_rule_count = ARRAY_SIZE(seccomp_rules);

const struct seccomp_rule seccomp_read_rules[] = {
	IF("open", SCMP_ACT_NOTIFY, 1, SCMP_CMP_MASKED_EQ, O_ACCMODE, O_RDONLY),
	IF("openat", SCMP_ACT_NOTIFY, 2, SCMP_CMP_MASKED_EQ, O_ACCMODE,
	   O_RDONLY),
};

const size_t seccomp_read_rule_count = ARRAY_SIZE(seccomp_read_rules);
