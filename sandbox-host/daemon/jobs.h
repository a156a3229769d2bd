/*
 * Work of the store, each piece by a sallyport-store process of its own: the
 * daemon waits for none of it.
 */
#ifndef SANDBOX_HOST_DAEMON_JOBS_H
#define SANDBOX_HOST_DAEMON_JOBS_H

#include "common/io.h"
#include "sandbox-host/flow/files.h"

#define JOBS_MAX	 8
#define JOB_BYTES_MAX	 (64ull << 30)
#define JOB_WORDS_MAX	 8
#define JOB_DIGEST_SIZE	 80
#define JOB_MESSAGE_SIZE 512

struct job_result {
	bool is_done;
	char digest[JOB_DIGEST_SIZE];	/* "-": none */
	char message[JOB_MESSAGE_SIZE]; /* why not */
	uint64_t bytes;
};

struct job {
	const char *what; /* sandbox-host/store/main.c */
	uint64_t bytes_max;
	unsigned time_max_ms;  /* it is ended then; 0: never */
	const char *time_name; /* what says so, for the words */
	const char *words[JOB_WORDS_MAX];
	size_t word_count;
	int fds[STORE_TREES_MAX]; /* stay the caller's */
	size_t fd_count;
	void (*on_end)(const struct job_result *result, void *owner);
	void *owner;
};

/* Start one; on_end is called once, later. 0, or -1. */
int job_start(struct io_loop *loop, const struct job *job, struct err *err);
/* End the one of that owner, who is told as ever. */
void job_break_off(const void *owner);
/* End all that still work; nobody is told. */
void jobs_close(void);

#endif
