/*
 * The reporter: in a process of its own (reporter.h), it is shown each system
 * call that intends to write, and each that is refused, before it happens. It
 * says why a call is about to fail and lets the kernel fail it.
 *
 * It refuses by itself: calls that the filter marks as refused; the
 * appearance of protected names that do not exist (a mount can not protect
 * those); connects to a host's socket that no mount hides. The last two
 * look at a path in the memory of the program, which can change it under
 * us: they stop the honest and the clumsy, and sandbox.h says so.
 *
 * Where the policy hides names, it is shown every open: one of a name that
 * was hidden and has appeared since, or was put in another's place, is
 * refused; no mount covers that. The same race is to be won there.
 *
 * A path that can not be followed here is refused with the error that
 * following it gave: never waved through.
 */
#ifndef SANDBOX_HOST_NOTIFY_H
#define SANDBOX_HOST_NOTIFY_H

#include "sandbox-host/guard.h"
#include "sandbox-host/peers.h"
#include "sandbox-host/place.h"
#include "sandbox-host/report.h"

#define NOTIFY_OWN_MAX 256

struct seccomp_notif;
struct seccomp_notif_resp;
struct notify_question;

struct notify {
	int fd;
	int root;   /* "/" inside, O_PATH */
	pid_t init; /* process 1, by its number here */
	const struct plan *plan;
	struct guard guard;
	struct peers peers;
	struct report *report;
	struct seccomp_notif *request;
	struct seccomp_notif_resp *answer;
	struct notify_question *question;
	size_t request_size, answer_size;
	pid_t own[NOTIFY_OWN_MAX]; /* inside; 0: a free place */
};

/* Owns fd and root from here on, to the end of its process; also when it
 * fails. plan is borrowed. */
int notify_open(struct notify *notify, int fd, int root,
		const struct plan *plan, struct report *report,
		struct err *err);
/* Answer one call; fd is readable. 0, or -1 when nobody is left to ask. */
int notify_serve(struct notify *notify);

/* Say that the call that is asked about is refused, and by which rule, or which
 * socket it wants. A negative errno. */
int notify_refuse(struct notify *notify, const char *rule, const char *why);
int notify_refuse_socket(struct notify *notify);

/* A process inside, by its number there, is one of ours (until it has ended):
 * where its memory can not be looked at, it has judged its paths itself. */
void notify_know(struct notify *notify, pid_t inside, bool is_ours);
/* Is a process (by its number here) one of those, or process 1, which has no
 * path of anybody else's? A number that was ours a
 * moment ago may be another's: a race like the one above. */
bool notify_is_own(const struct notify *notify, pid_t pid);

#endif
