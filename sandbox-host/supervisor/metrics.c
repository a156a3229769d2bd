/*
 * What the processes of a sandbox use, as /proc shows them to us: those that
 * descend from its process 1, to which all others inside belong. What a
 * process that has ended used is its parent's (cutime, cstime of proc(5)).
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/supervisor/parts.h"

#define PROCESSES_MAX 32768
#define STAT_SIZE     1024
#define PARENT_FIELD  4 /* proc(5), from 1 on */
#define UTIME_FIELD   14
#define CSTIME_FIELD  17
#define RSS_FIELD     24
#define PERCENT_100   10000 /* hundredths of a percent */

struct process {
	pid_t pid, parent;
	uint64_t ticks, pages;
	bool is_inside;
};

struct processes {
	struct process *items;
	size_t count;
};

/* A line of /proc/PID/stat; the name in it, which the process chose, ends
 * with the last ')'. */
static int parse_stat(const char *line, struct process *process)
{
	const char *at = strrchr(line, ')');
	char *end;

	if (!at)
		return -1;
	at += at[1] ? 3 : 1; /* ") S" */
	for (int field = PARENT_FIELD; field <= RSS_FIELD; field++) {
		uint64_t value = strtoull(at, &end, 10);

		if (end == at)
			return -1;
		at = end;
		if (field == PARENT_FIELD)
			process->parent = (pid_t)value;
		else if (field >= UTIME_FIELD && field <= CSTIME_FIELD)
			process->ticks += value;
		else if (field == RSS_FIELD)
			process->pages = value;
	}
	return 0;
}

static int read_process(int proc, const char *name, struct process *process)
{
	char path[NAME_MAX + 8], line[STAT_SIZE];
	auto_fd int fd = -1;
	ssize_t len;

	*process = (struct process){.pid = (pid_t)strtol(name, NULL, 10)};
	if (process->pid <= 0 || strlen(name) > 16)
		return -1;
	(void)snprintf(path, sizeof(path), "%.16s/stat", name);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (len <= 0)
		return -1;
	line[len] = '\0';
	return parse_stat(line, process);
}

static void read_processes(DIR *dir, struct processes *all)
{
	const struct dirent *entry;

	while (all->count < PROCESSES_MAX && (entry = readdir(dir)))
		if (read_process(dirfd(dir), entry->d_name,
				 &all->items[all->count]) == 0)
			all->count++;
}

static bool mark_children(struct processes *all, pid_t parent)
{
	bool has_any = false;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].parent == parent && !all->items[i].is_inside)
			has_any = all->items[i].is_inside = true;
	return has_any;
}

static void mark_inside(struct processes *all, pid_t init)
{
	bool has_more = true;

	for (size_t i = 0; i < all->count; i++)
		all->items[i].is_inside = all->items[i].pid == init;
	while (has_more) {
		has_more = false;
		for (size_t i = 0; i < all->count; i++)
			if (all->items[i].is_inside)
				has_more |=
					mark_children(all, all->items[i].pid);
	}
}

static void sum_up(const struct processes *all, struct host_metrics *metrics)
{
	uint64_t ticks = 0, pages = 0;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].is_inside) {
			ticks += all->items[i].ticks;
			pages += all->items[i].pages;
			metrics->processes++;
		}
	metrics->cpu_ms = ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
	metrics->memory_used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Of one processor, since we were asked last. */
static uint32_t percent(struct supervisor *supervisor, uint64_t cpu_ms)
{
	uint64_t now = clock_monotonic_ms();
	uint64_t passed = now - supervisor->metrics_ms;
	uint64_t used = cpu_ms > supervisor->metrics_cpu_ms
				? cpu_ms - supervisor->metrics_cpu_ms
				: 0;

	if (supervisor->metrics_ms == 0 || passed == 0)
		used = 0;
	supervisor->metrics_ms = now;
	supervisor->metrics_cpu_ms = cpu_ms;
	return passed > 0 ? (uint32_t)(used * PERCENT_100 / passed) : 0;
}

static void bound(uint64_t *total, uint64_t limit)
{
	if (limit > 0 && limit < *total)
		*total = limit;
}

int metrics_read(struct supervisor *supervisor, struct host_metrics *metrics,
		 struct err *err)
{
	auto_free struct process *items = calloc(PROCESSES_MAX, sizeof(*items));
	struct processes all = {.items = items};
	struct sysinfo host;
	DIR *dir = items ? opendir("/proc") : NULL;

	if (!dir || sysinfo(&host) < 0) {
		if (dir)
			(void)closedir(dir);
		return err_system(err, "look at the processes");
	}
	read_processes(dir, &all);
	(void)closedir(dir);
	mark_inside(&all, service_pid(supervisor->sandbox));
	*metrics = (struct host_metrics){
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.memory_total = (uint64_t)host.totalram * host.mem_unit,
	};
	bound(&metrics->memory_total, supervisor->policy->limits.memory_bytes);
	bound(&metrics->memory_total, supervisor->request.memory_bytes);
	sum_up(&all, metrics);
	metrics->cpu_percent = percent(supervisor, metrics->cpu_ms);
	return 0;
}
