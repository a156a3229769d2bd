#include "sandbox-host/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define RULE_BENEATH   1
#define VERSION_FLAG   1u
#define ABI_REFER      2
#define ABI_TRUNCATE   3
#define ABI_NET	       4
#define ABI_IOCTL      5
#define ABI_SCOPE      6
#define FS_EXECUTE     (1ull << 0)
#define FS_WRITE_FILE  (1ull << 1)
#define FS_READ_FILE   (1ull << 2)
#define FS_READ_DIR    (1ull << 3)
#define FS_REMOVE_DIR  (1ull << 4)
#define FS_ABI1	       ((1ull << 13) - 1)
#define FS_REFER       (1ull << 13)
#define FS_TRUNCATE    (1ull << 14)
#define FS_IOCTL_DEV   (1ull << 15)
#define NET_CONNECT    (1ull << 1)
#define SCOPE_ABSTRACT (1ull << 0)
#define SCOPE_SIGNAL   (1ull << 1)

/* The kernel's struct landlock_ruleset_attr of ABI 6; older headers know
 * less of it, and older kernels are told less. */
struct ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

struct path_beneath {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
}

static uint64_t handled(long version)
{
	uint64_t access = FS_ABI1;

	if (version >= ABI_REFER)
		access |= FS_REFER;
	if (version >= ABI_TRUNCATE)
		access |= FS_TRUNCATE;
	if (version >= ABI_IOCTL)
		access |= FS_IOCTL_DEV;
	return access;
}

static int begin(uint64_t net, uint64_t scopes, struct err *err)
{
	long version = landlock_abi();
	struct ruleset_attr attr = {.handled_access_fs = handled(version)};
	size_t size = offsetof(struct ruleset_attr, handled_access_net);
	int fd;

	/* Without REFER nothing could be renamed between directories. */
	if (version < ABI_REFER)
		return -2;
	if (net && version >= ABI_NET) {
		attr.handled_access_net = net;
		size = offsetof(struct ruleset_attr, scoped);
	}
	if (version >= ABI_SCOPE) {
		attr.scoped = scopes;
		size = sizeof(attr);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? err_system(err, "landlock: make a ruleset") : fd;
}

int landlock_begin(struct err *err)
{
	return begin(0, SCOPE_ABSTRACT | SCOPE_SIGNAL, err);
}

int landlock_begin_outside(struct err *err)
{
	return begin(NET_CONNECT, SCOPE_ABSTRACT, err);
}

static int add_rule(int ruleset, int fd, uint64_t access, const char *path,
		    struct err *err)
{
	struct path_beneath rule = {.allowed_access =
					    access & handled(landlock_abi()),
				    .parent_fd = fd};

	if (syscall(SYS_landlock_add_rule, ruleset, RULE_BENEATH, &rule, 0) < 0)
		return err_system(err, "landlock: allow %s", path);
	return 0;
}

int landlock_allow(int ruleset, const char *path, bool is_writable,
		   struct err *err)
{
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	uint64_t access = FS_READ_FILE | FS_READ_DIR | FS_EXECUTE;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_system(err, "landlock: open %s", path);
	if (is_writable)
		access = UINT64_MAX;
	if (!S_ISDIR(st.st_mode))
		access &= FS_READ_FILE | FS_EXECUTE | FS_WRITE_FILE |
			  FS_TRUNCATE | FS_IOCTL_DEV;
	return add_rule(ruleset, fd, access, path, err);
}

int landlock_allow_removal(int ruleset, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];
	auto_fd int fd = -1;
	int len = slash ? snprintf(parent, sizeof(parent), "%.*s/",
				   (int)(slash - path), path)
			: -1;

	if (len < 0 || len >= (int)sizeof(parent))
		return err_set(err, ERR_INVALID, "landlock: %.200s", path);
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_system(err, "landlock: open %s", parent);
	return add_rule(ruleset, fd, FS_REMOVE_DIR, parent, err);
}

void landlock_allow_fd(int ruleset, int fd)
{
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	uint64_t access = FS_IOCTL_DEV;
	struct stat st;

	if (fstat(fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
		return;
	/* Opened anew by /proc/self/fd it may do no more than it does now. */
	if (mode != O_WRONLY)
		access |= FS_READ_FILE;
	if (mode != O_RDONLY)
		access |= FS_WRITE_FILE | FS_TRUNCATE;
	(void)add_rule(ruleset, fd, access, "a standard descriptor", NULL);
}

int landlock_enter(int ruleset, struct err *err)
{
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_system(err, "landlock: enter");
	return 0;
}
