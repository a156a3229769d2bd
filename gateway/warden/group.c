#include "gateway/warden/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/warden.h"

/* And the maker's pid, with the namespace that it is one of: others may share
 * the tree. */
#define NAME "sallyport-packchecks-%ju-%d"

/* Of makers that are gone. */
static void sweep(const char *place)
{
	DIR *dir = opendir(place);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		uintmax_t space = 0;
		int pid = 0;

		if (sscanf(name, NAME, &space, &pid) == 2 && pid > 0 &&
		    space == cgroup_pid_namespace() && kill(pid, 0) < 0 &&
		    errno == ESRCH)
			(void)unlinkat(dirfd(dir), name, AT_REMOVEDIR);
	}
	if (dir)
		(void)closedir(dir);
}

static const char *make(struct group *group, enum cgroup_tree tree)
{
	char *path = group->paths[group->count];
	static const char *const wanted[] = {"memory", "pids"};
	char place[PATH_MAX];
	int len;

	if (!cgroup_place(tree, place))
		return NULL;
	sweep(place);
	if (tree == CGROUP_V2)
		cgroup_delegate(place, wanted, ARRAY_SIZE(wanted));
	len = snprintf(path, PATH_MAX, "%s/" NAME, place,
		       cgroup_pid_namespace(), (int)getpid());
	if (len < 0 || len >= PATH_MAX || mkdir(path, 0755) < 0)
		return NULL;
	group->count++;
	return path;
}

static void drop(struct group *group)
{
	(void)rmdir(group->paths[--group->count]);
}

static void make_v1(struct group *group, enum cgroup_tree tree,
		    const char *file, uint64_t value)
{
	const char *path = make(group, tree);

	if (path && cgroup_write(path, file, value) < 0)
		drop(group);
}

void group_make(struct group *group)
{
	const char *path = make(group, CGROUP_V2);

	if (path) {
		int memory = cgroup_write(path, "memory.max", GROUP_MEMORY_MAX);
		int pids = cgroup_write(path, "pids.max", GROUP_PIDS_MAX);

		if (memory < 0 && pids < 0)
			drop(group);
	} else {
		make_v1(group, CGROUP_V1_MEMORY, "memory.limit_in_bytes",
			GROUP_MEMORY_MAX);
		make_v1(group, CGROUP_V1_PIDS, "pids.max", GROUP_PIDS_MAX);
	}
	log_info("packchecks are held by %s",
		 group->count > 0 ? group->paths[0] : "rlimits alone");
}

void group_enter(const struct group *group)
{
	for (unsigned i = 0; i < group->count; i++)
		(void)cgroup_enter(group->paths[i]);
}

void group_remove(struct group *group)
{
	while (group->count > 0)
		drop(group);
}
