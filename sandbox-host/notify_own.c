/* Processes of ours that run inside (the agent). They hold what process 1
 * was forked with, so nobody inside may look at them; where the caller is an
 * ordinary user it may not either. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/notify.h"

#define STATUS_BYTES 4096
#define NSPID	     "\nNSpid:"

void notify_know(struct notify *notify, pid_t inside, bool is_ours)
{
	for (size_t i = 0; i < NOTIFY_OWN_MAX; i++) {
		pid_t *place = &notify->own[i];

		if (*place != (is_ours ? 0 : inside))
			continue;
		*place = is_ours ? inside : 0;
		return;
	}
}

/* Its number in the innermost namespace (proc(5)), or 0. */
static pid_t inside_of(pid_t pid)
{
	char path[64], text[STATUS_BYTES];
	auto_fd int fd = -1;
	ssize_t len;
	char *at, *end;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	/* The name of the process stands on the first line, escaped. */
	at = strstr(text, NSPID);
	end = at ? strchr(at + 1, '\n') : NULL;
	if (!end)
		return 0;
	*end = '\0';
	at = strrchr(at, '\t');
	return at ? (pid_t)strtol(at + 1, NULL, 10) : 0;
}

bool notify_is_own(const struct notify *notify, pid_t pid)
{
	bool has_any = false;
	pid_t inside;

	if (pid == notify->init)
		return true;
	for (size_t i = 0; i < NOTIFY_OWN_MAX; i++)
		has_any |= notify->own[i] != 0;
	inside = has_any ? inside_of(pid) : 0;
	for (size_t i = 0; inside > 0 && i < NOTIFY_OWN_MAX; i++)
		if (notify->own[i] == inside)
			return true;
	return false;
}
