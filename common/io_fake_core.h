/*
 * The fake's descriptors: io_fake.c keeps their table and readiness, the
 * other io_fake*.c the behaviour of streams, listeners and messages.
 * Numbers are never used twice before fake_reset_all(), so that a use after
 * close fails instead of hitting somebody else.
 */
#ifndef COMMON_IO_FAKE_CORE_H
#define COMMON_IO_FAKE_CORE_H

#include <sys/queue.h>

#include "common/io_backend.h"
#include "common/io_fake.h"

#define FAKE_FD_COUNT_MAX 65536
#define FAKE_QUEUE_MAX	  (64 << 20) /* bytes on the way to one end */
#define FAKE_MESSAGES_MAX 256	     /* messages on the way to one end */
#define FAKE_MESSAGE_MAX  (200 << 10)

enum fake_kind { FAKE_STREAM, FAKE_MESSAGES, FAKE_LISTENER };

struct fake_message {
	TAILQ_ENTRY(fake_message) link;
	int fd; /* a duplicate, or -1 */
	size_t len;
	uint8_t data[];
};

/* A connection that waits in a listener. */
struct fake_caller {
	TAILQ_ENTRY(fake_caller) link;
	struct io_accepted accepted;
};

/* What descriptors stand for; lives until fake_reset_all(). */
struct fake_file {
	enum fake_kind kind;
	unsigned refs;		/* descriptors that name it */
	struct fake_file *peer; /* never NULL but for listeners */
	bool is_of_test;	/* may stay open */
	/* What comes in. */
	struct buf in;
	bool is_ended; /* the peer ended its side, or closed */
	bool is_reset;
	size_t chunk;  /* at most so much a read; 0: no bound */
	size_t window; /* the peer's writes block when in holds so much */
	TAILQ_HEAD(, fake_message) messages;
	size_t message_count;
	TAILQ_HEAD(, fake_caller) callers;
};

/* The file of a descriptor, or NULL. */
struct fake_file *fake_file(int fd);
/* A new file with one descriptor. Asserts that there is room. */
int fake_file_new(enum fake_kind kind);
/* Connect two files to each other. */
void fake_join(int a, int b);
bool fake_is_fake(int fd);

#endif
