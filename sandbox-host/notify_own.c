/* Processes of ours that run inside (the agent). They hold what process 1
 * was forked with, so nobody inside may look at them; where the caller is an
 * ordinary user it may not either. */
#include "sandbox-host/notify.h"

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

bool notify_is_own(const struct notify *notify, pid_t pid)
{
	bool has_any = false;
	pid_t inside;

	if (pid == notify->init)
		return true;
	for (size_t i = 0; i < NOTIFY_OWN_MAX; i++)
		has_any |= notify->own[i] != 0;
	inside = has_any ? place_number(pid, "NSpid") : 0;
	for (size_t i = 0; inside > 0 && i < NOTIFY_OWN_MAX; i++)
		if (notify->own[i] == inside)
			return true;
	return false;
}
