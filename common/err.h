/*
 * A failure: what could not be done, and why. One of the four kinds of
 * error (docs/ARCHITECTURE.md): never a bug (assert), never a denial
 * (struct verdict), never a broken peer process.
 *
 * A function that can fail takes a struct err * last and returns -1 (or
 * NULL) after setting it. err_set() allocates nothing. The message is verb
 * and subject: "open /etc/x: No such file or directory".
 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

#include <stdbool.h>

#define ERR_TEXT_MAX 512

enum err_code {
	ERR_NONE,
	ERR_SYSTEM,	 /* a system call failed; .number is its errno */
	ERR_INVALID,	 /* input that is not what it must be */
	ERR_TOO_LARGE,	 /* a named bound was passed */
	ERR_CLOSED,	 /* the other side is gone */
	ERR_TIMEOUT,	 /* a deadline passed */
	ERR_DENIED,	 /* the other side refused */
	ERR_MISSING,	 /* not found */
	ERR_UNSUPPORTED, /* this host or build cannot do it */
	ERR_LIBRARY,	 /* a library said no; .text has its words */
	ERR_MAX
};

struct err {
	enum err_code code;
	int number;
	char text[ERR_TEXT_MAX];
};

/* Set code and text (truncated at ERR_TEXT_MAX - 1); returns -1. err may be
 * NULL when the caller does not want to know. */
int err_set(struct err *err, enum err_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Set ERR_SYSTEM from errno, ": strerror" appended; returns -1. */
int err_system(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Put "prefix: " before the text that stands in err; returns -1. */
int err_prefix(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether err (set) says that there is not enough of something for now: a
 * named bound, or the kernel's descriptors, memory, processes or room in a
 * socket (errno(3): EAGAIN, EMFILE, ENFILE, ENOBUFS, ENOMEM, ETOOMANYREFS).
 * The same may succeed later, and nothing is broken. */
bool err_is_shortage(const struct err *err);

/* Whether err (set) says that the other side hung up: ERR_CLOSED, or what
 * the kernel says of a connection that was cut (ECONNRESET, ECONNABORTED,
 * EPIPE). */
bool err_is_hangup(const struct err *err);

#endif
