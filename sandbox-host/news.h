/*
 * What is waited for beside a sandbox itself: news of its session, which may
 * end it.
 */
#ifndef SANDBOX_HOST_NEWS_H
#define SANDBOX_HOST_NEWS_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox;

struct sandbox_news {
	/* What can be read when there are news, asked before each wait; -1:
	 * none come any more. */
	int (*fd_of)(void *owner);
	/* Take them. True: the command goes on; or why it is ended, in as many
	 * bytes at most. */
	bool (*on_news)(void *owner, char *why, size_t size);
	void *owner;
};

/* Before sandbox_wait(), which does it. *news is copied. */
void sandbox_listen(struct sandbox *sandbox, const struct sandbox_news *news);

#endif
