#include "common/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"

int cgroup_write_text(const char *group, const char *file, const char *text)
{
	char path[PATH_MAX + 64];
	size_t len = strlen(text);
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

int cgroup_write(const char *group, const char *file, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cgroup_write_text(group, file, text);
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

bool cgroup_place_on(const struct cgroup_host *host, enum cgroup_tree tree,
		     char out[PATH_MAX])
{
	static const char *const controllers[] = {
		[CGROUP_V2] = "",	   [CGROUP_V1_MEMORY] = "memory",
		[CGROUP_V1_PIDS] = "pids", [CGROUP_V1_FREEZER] = "freezer",
		[CGROUP_V1_CPU] = "cpu",
	};
	const char *controller = tree < CGROUP_TREES ? controllers[tree] : "";
	char parent[PATH_MAX];
	char *slash;
	int len;

	if (!own_group(host, controller, parent))
		return false;
	/* Beside its own: one with processes in it can have no children. */
	slash = *controller ? NULL : strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	len = snprintf(out, PATH_MAX, "%s%s%s%s", host->root,
		       *controller ? "/" : "", controller,
		       strcmp(parent, "/") ? parent : "");
	return len > 0 && len < PATH_MAX;
}

bool cgroup_place(enum cgroup_tree tree, char out[PATH_MAX])
{
	return cgroup_place_on(&cgroup_host, tree, out);
}

bool cgroup_is_v2(const struct cgroup_host *host)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/cgroup.controllers",
			   host->root);

	return len > 0 && len < PATH_MAX && access(path, F_OK) == 0;
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
