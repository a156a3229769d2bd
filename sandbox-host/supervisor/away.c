#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/supervisor/again.h"
#include "sandbox-host/supervisor/parts.h"

#define ANSWER_MAX 1024
#define CLOSE_MS   1000

struct away {
	struct supervisor *supervisor;
	struct io_listener *listeners[2];
	struct io_timer *timer;
	/* Closed at once, what a client still sends would take the answer
	 * from it: each stays for one to two turns of the timer. */
	int kept[AWAY_KEPT];
	bool is_old[AWAY_KEPT];
	unsigned next;
	char answer[ANSWER_MAX];
	size_t len;
};

static void drop(struct away *away, unsigned at)
{
	if (away->kept[at] >= 0)
		(void)close(away->kept[at]);
	away->kept[at] = -1;
	away->is_old[at] = false;
}

static void on_turn(void *owner)
{
	struct away *away = owner;
	bool has_some = false;

	for (unsigned i = 0; i < AWAY_KEPT; i++) {
		if (away->is_old[i])
			drop(away, i);
		away->is_old[i] = away->kept[i] >= 0;
		has_some |= away->is_old[i];
	}
	if (has_some)
		io_timer_set(away->timer, CLOSE_MS);
}

static void on_accept(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	struct away *away = owner;

	(void)peer;
	(void)original;
	(void)was_redirected;
	(void)!send(fd, away->answer, away->len, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	drop(away, away->next);
	away->kept[away->next] = fd;
	away->next = (away->next + 1) % AWAY_KEPT;
	io_timer_set(away->timer, CLOSE_MS);
}

static void set_answer(struct away *away, enum constraint constraint,
		       const char *why)
{
	char body[ANSWER_MAX / 2];
	int len = snprintf(body, sizeof(body),
			   "sallyport: denied by %s: %.300s\n",
			   constraint_name(constraint), why);

	away->len = (size_t)snprintf(
		away->answer, sizeof(away->answer),
		"HTTP/1.1 %u egress denied: %s\r\nContent-Type: text/plain\r\n"
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		constraint_status(constraint), constraint_name(constraint), len,
		body);
}

static struct io_listener *listen_on(struct away *away, int listener)
{
	struct err err;
	int fd = listener < 0 ? -1 : dup(listener);

	return fd < 0 ? NULL
		      : io_listen(away->supervisor->loop, fd, on_accept, away,
				  &err);
}

void away_begin(struct supervisor *supervisor, enum constraint constraint,
		const char *why)
{
	struct away *away = supervisor->away;

	if (!away) {
		away = calloc(1, sizeof(*away));
		if (!away)
			return;
		away->supervisor = supervisor;
		for (unsigned i = 0; i < AWAY_KEPT; i++)
			away->kept[i] = -1;
		away->timer = io_timer_new(supervisor->loop, on_turn, away);
		if (away->timer) {
			away->listeners[0] =
				listen_on(away, supervisor->listeners.tcp4);
			away->listeners[1] =
				listen_on(away, supervisor->listeners.tcp6);
		}
		supervisor->away = away;
	}
	set_answer(away, constraint, why);
}

void away_end(struct supervisor *supervisor)
{
	struct away *away = supervisor->away;

	if (!away)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(away->listeners); i++)
		if (away->listeners[i])
			io_listener_free(away->listeners[i]);
	for (unsigned i = 0; i < AWAY_KEPT; i++)
		drop(away, i);
	if (away->timer)
		io_timer_free(away->timer);
	free(away);
	supervisor->away = NULL;
}
