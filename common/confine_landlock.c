#include "common/confine_parts.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

/*
 * The kernel's interface (Documentation/userspace-api/landlock.rst), spelt
 * out here because Debian 12's headers end at ABI 2.
 */
struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net; /* ABI 4 */
	uint64_t scoped;      /* ABI 6 */
};

struct path_attr {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

enum {
	CREATE_VERSION = 1,
	RULE_PATH_BENEATH = 1,
	ABI_KNOWN = 7,
};

#define FS_EXECUTE     (1u << 0)
#define FS_WRITE_FILE  (1u << 1)
#define FS_READ_FILE   (1u << 2)
#define FS_READ_DIR    (1u << 3)
#define FS_REMOVE_DIR  (1u << 4)
#define FS_REMOVE_FILE (1u << 5)
#define FS_MAKE_DIR    (1u << 7)
#define FS_MAKE_CHAR   (1u << 6)
#define FS_MAKE_REG    (1u << 8)
#define FS_MAKE_SYM    (1u << 12)
#define FS_REFER       (1u << 13)
#define FS_TRUNCATE    (1u << 14)

#define FS_READ (FS_READ_FILE | FS_READ_DIR)
#define FS_WRITE                                                               \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |        \
	 FS_MAKE_REG | FS_REFER | FS_TRUNCATE)

#define NET_BIND_TCP	    (1u << 0)
#define NET_CONNECT_TCP	    (1u << 1)
#define SCOPE_ABSTRACT_UNIX (1u << 0)
#define SCOPE_SIGNAL	    (1u << 1)

int confine_landlock_abi(void)
{
	long abi =
		syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* All the rights that an ABI knows: the first 13, then one or two more with
 * each of ABI 2, 3 and 5. */
static uint64_t fs_rights(int abi)
{
	static const uint64_t rights[ABI_KNOWN + 1] = {
		0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff, 0xffff,
	};

	return rights[abi];
}

static int add_path(int ruleset, const struct confine_path *path,
		    uint64_t handled, struct err *err)
{
	uint64_t wanted = FS_READ | (path->writable ? FS_WRITE : 0) |
			  (path->makes_links ? FS_MAKE_SYM | FS_MAKE_CHAR : 0);
	const struct path_attr attr = {
		.allowed = wanted & handled,
		.parent_fd = path->fd,
	};

	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr,
		    0) != 0)
		return err_system(err, "allow a directory");
	return 0;
}

/* The bytes of struct ruleset_attr that an ABI knows. */
static size_t attr_size(int abi)
{
	if (abi < 4)
		return offsetof(struct ruleset_attr, handled_net);
	return abi < 6 ? offsetof(struct ruleset_attr, scoped)
		       : sizeof(struct ruleset_attr);
}

int confine_landlock(const struct confine_spec *spec, struct err *err)
{
	int kernel = confine_landlock_abi();
	int abi = kernel < ABI_KNOWN ? kernel : ABI_KNOWN;
	const struct ruleset_attr attr = {
		.handled_fs = fs_rights(abi),
		.handled_net = NET_BIND_TCP |
			       (spec->may_connect ? 0 : NET_CONNECT_TCP),
		.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL,
	};
	auto_fd int ruleset = -1;

	if (abi == 0) {
		log_warn("this kernel has no Landlock: system calls are "
			 "filtered all the same");
		return 0;
	}
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       attr_size(abi), 0);
	if (ruleset < 0)
		return err_system(err, "create a Landlock ruleset");
	for (size_t i = 0; i < spec->path_count; i++)
		if (add_path(ruleset, &spec->paths[i], attr.handled_fs, err) <
		    0)
			return -1;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		return err_system(err, "apply a Landlock ruleset");
	return 0;
}
