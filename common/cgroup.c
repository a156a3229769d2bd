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

/* The group this process is in, of a v1 controller, or of v2 (NULL). */
static bool own_group(const char *controller, char out[PATH_MAX])
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	char key[64];
	bool found = false;

	snprintf(key, sizeof(key), ":%s:/", controller ? controller : "");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *at = strstr(line, key);

		line[strcspn(line, "\n")] = '\0';
		if (!at || at != strchr(line, ':'))
			continue;
		snprintf(out, PATH_MAX, "%s", at + strlen(key) - 1);
		found = true;
	}
	if (file)
		(void)fclose(file);
	return found;
}

bool cgroup_place(enum cgroup_tree tree, char out[PATH_MAX])
{
	static const char *const controllers[] = {
		[CGROUP_V2] = NULL,
		[CGROUP_V1_MEMORY] = "memory",
		[CGROUP_V1_PIDS] = "pids",
		[CGROUP_V1_FREEZER] = "freezer",
	};
	const char *controller = tree < CGROUP_TREES ? controllers[tree] : NULL;
	char parent[PATH_MAX];
	char *slash;
	int len;

	if (!own_group(controller, parent))
		return false;
	/* Beside its own: one with processes in it can have no children. */
	slash = controller ? NULL : strrchr(parent, '/');
	if (slash)
		*slash = '\0';
	len = snprintf(out, PATH_MAX, CGROUP_ROOT "%s%s%s",
		       controller ? "/" : "", controller ? controller : "",
		       strcmp(parent, "/") ? parent : "");
	return len > 0 && len < PATH_MAX;
}
