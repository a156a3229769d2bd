#include "common/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"

/* The group of whoever settled. Its name begins no sandbox's. */
#define LEAF "sallyport-self"

static int open_file(const char *group, const char *file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return open(path, O_WRONLY | O_CLOEXEC);
}

int cgroup_write_text(const char *group, const char *file, const char *text)
{
	size_t len = strlen(text);
	auto_fd int fd = open_file(group, file);

	return fd >= 0 && write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

int cgroup_write(const char *group, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cgroup_write_text(group, file, text);
}

/* A thread that names itself (0) in version 1's tasks can neither end nor exec
 * meanwhile, so the kernel keeps nobody else from doing so. Version 2 has no
 * such file. */
int cgroup_open(const char *group)
{
	int fd = open_file(group, "tasks");

	return fd < 0 && errno == ENOENT ? open_file(group, "cgroup.procs")
					 : fd;
}

int cgroup_enter_open(int group)
{
	return write(group, "0", 1) == 1 ? 0 : -1;
}

int cgroup_enter(const char *group)
{
	auto_fd int fd = cgroup_open(group);

	return fd < 0 ? -1 : cgroup_enter_open(fd);
}

uintmax_t cgroup_pid_namespace(void)
{
	struct stat info;

	return stat("/proc/self/ns/pid", &info) < 0 ? 0 : info.st_ino;
}

const struct cgroup_host cgroup_host = {CGROUP_ROOT, "/proc/self/cgroup"};

/* Is it one of the names in "cpu,cpuacct", which a ':' ends? */
static bool lists(const char *names, const char *wanted)
{
	size_t len = strlen(wanted);

	for (;;) {
		size_t name_len = strcspn(names, ",:");

		if (name_len == len && !strncmp(names, wanted, len))
			return true;
		if (names[name_len] != ',')
			return false;
		names += name_len + 1;
	}
}

/* The group this process is in, of a v1 controller, or of v2 (""). Lines are
 * "4:memory:/path". */
static bool own_group(const struct cgroup_host *host, const char *controller,
		      char out[PATH_MAX])
{
	FILE *file = fopen(host->self, "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		char *names = strchr(line, ':');
		char *path = names ? strchr(names + 1, ':') : NULL;

		line[strcspn(line, "\n")] = '\0';
		if (!path || path[1] != '/' || !lists(names + 1, controller))
			continue;
		snprintf(out, PATH_MAX, "%s", path + 1);
		found = true;
	}
	if (file)
		(void)fclose(file);
	return found;
}

/* ---- version 2 ---- */

bool cgroup_is_v2(const struct cgroup_host *host)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/cgroup.controllers",
			   host->root);

	return len > 0 && len < PATH_MAX && access(path, F_OK) == 0;
}

/* A group with processes in it hands no controllers on to others below. So
 * groups for sandboxes go beside the one that we are in, if what is above it
 * is ours, or at the root of the tree, which is exempt. */

static bool is_writable(const char *group, const char *file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return access(path, W_OK) == 0;
}

static bool may_fill(const char *group)
{
	return is_writable(group, "cgroup.procs") &&
	       is_writable(group, "cgroup.subtree_control");
}

/* systemd marks what it handed to a unit (Delegate=), and changes the
 * controllers of everything else as it likes. Who is not root can set the
 * second mark alone, on groups of their own. */
static bool is_marked(const char *group, bool is_root)
{
	char value;

	return getxattr(group, is_root ? "trusted.delegate" : "user.delegate",
			&value, 1) == 1 &&
	       value == '1';
}

/* Root may write everywhere, which makes nothing its own. */
static bool is_ours(const struct cgroup_host *host, const char *group)
{
	bool is_root = may_fill(host->root);

	if (!is_root || strcmp(group, host->root) == 0)
		return may_fill(group);
	return is_marked(group, true);
}

/* Our own group's directory, and the one above, which is the same at the
 * root of the tree. */
static bool own_of_v2(const struct cgroup_host *host, char own[PATH_MAX],
		      char above[PATH_MAX])
{
	char path[PATH_MAX];
	int len;

	if (!own_group(host, "", path))
		return false;
	len = snprintf(own, PATH_MAX, "%s%s", host->root,
		       strcmp(path, "/") ? path : "");
	if (len <= 0 || len >= PATH_MAX)
		return false;
	memcpy(above, own, (size_t)len + 1);
	if (strcmp(path, "/") != 0)
		*strrchr(above, '/') = '\0';
	return true;
}

static bool place_of_v2(const struct cgroup_host *host, char out[PATH_MAX])
{
	char own[PATH_MAX];

	if (!own_of_v2(host, own, out))
		return false;
	if (is_ours(host, out))
		return true;
	snprintf(out, PATH_MAX, "%s", is_ours(host, own) ? own : host->root);
	return may_fill(out);
}

/* Is nobody but this process in it? */
static bool is_alone(const char *group)
{
	char path[PATH_MAX + 64];
	char text[64];
	auto_fd int fd = -1;
	ssize_t len;
	char *end;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return strtol(text, &end, 10) == (long)getpid() &&
	       strcmp(end, "\n") == 0;
}

void cgroup_settle(const struct cgroup_host *host)
{
	bool is_root = may_fill(host->root);
	char own[PATH_MAX], above[PATH_MAX], leaf[PATH_MAX + 32];

	if (!cgroup_is_v2(host) || !own_of_v2(host, own, above))
		return;
	/* The root of all has no type: it may hold processes as well. */
	if (strcmp(own, above) == 0 && !is_writable(own, "cgroup.type"))
		return;
	if (!is_marked(own, is_root) &&
	    (!is_ours(host, own) ||
	     (strcmp(own, above) != 0 && is_ours(host, above))))
		return;
	if (!is_alone(own))
		return;
	snprintf(leaf, sizeof(leaf), "%s/" LEAF, own);
	if (mkdir(leaf, 0755) == 0 || errno == EEXIST)
		(void)cgroup_write(leaf, "cgroup.procs", 0);
}

/* ---- both ---- */

bool cgroup_place_on(const struct cgroup_host *host, enum cgroup_tree tree,
		     char out[PATH_MAX])
{
	static const char *const controllers[] = {
		[CGROUP_V1_MEMORY] = "memory",
		[CGROUP_V1_PIDS] = "pids",
		[CGROUP_V1_FREEZER] = "freezer",
		[CGROUP_V1_CPU] = "cpu",
	};
	char parent[PATH_MAX];
	int len;

	if (tree == CGROUP_V2)
		return cgroup_is_v2(host) && place_of_v2(host, out);
	if (!own_group(host, controllers[tree], parent))
		return false;
	len = snprintf(out, PATH_MAX, "%s/%s%s", host->root, controllers[tree],
		       strcmp(parent, "/") ? parent : "");
	return len > 0 && len < PATH_MAX;
}

bool cgroup_place(enum cgroup_tree tree, char out[PATH_MAX])
{
	return cgroup_place_on(&cgroup_host, tree, out);
}

void cgroup_delegate(const char *place, const char *const *controllers,
		     size_t count)
{
	char word[64];

	/* One by one: a list with one that is not there is refused whole. */
	for (size_t i = 0; i < count; i++) {
		snprintf(word, sizeof(word), "+%s", controllers[i]);
		(void)cgroup_write_text(place, "cgroup.subtree_control", word);
	}
}
