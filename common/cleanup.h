/*
 * Scope cleanup: what a function owns is released when the scope ends,
 * unless it was taken. No goto.
 *
 *	auto_free char *text = strdup(name);
 *	auto_fd int fd = open(...);
 *	return take_ptr(&text);
 */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *slot)
{
	free(*(void **)slot);
}

static inline void cleanup_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void *cleanup_take_ptr(void *slot)
{
	void *value = *(void **)slot;

	*(void **)slot = NULL;
	return value;
}

static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

#define auto_free      __attribute__((cleanup(cleanup_free)))
#define auto_fd	       __attribute__((cleanup(cleanup_fd)))
#define take_ptr(slot) ((__typeof__(*(slot)))cleanup_take_ptr(slot))

/* auto_type(buf_release) struct buf out = ...; */
#define auto_type(release) __attribute__((cleanup(release)))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
