/*
 * One run of the sallyport command for a tool: its words, its input, what it
 * wrote and how it ended.
 */
#ifndef CLI_MCP_JOB_H
#define CLI_MCP_JOB_H

#include "common/io.h"

#define JOB_WORDS_MAX  1100
#define JOB_INPUT_MAX  (2 * 1024 * 1024)
#define JOB_OUTPUT_MAX (1024 * 1024) /* of each of its two outputs */

/* What is run. The words live in an arena that the caller keeps. */
struct job_line {
	char *words[JOB_WORDS_MAX + 1]; /* [0]: the program */
	size_t count;
	struct bytes input;
	unsigned timeout_ms;
};

/* Add a word. 0, or -1 when there are too many. */
int job_add(struct job_line *line, const char *word);

struct job;
struct job_end {
	struct bytes out, err; /* the first JOB_OUTPUT_MAX bytes */
	bool is_cut;	       /* there were more */
	bool has_timed_out;
	int code; /* 128+n: a signal */
};
typedef void job_fn(struct job *job, const struct job_end *end, void *owner);

/* Run it; on_end is called once, from the loop, unless job_kill() comes
 * before. The job is freed when on_end returns. NULL. */
struct job *job_run(struct io_loop *loop, const struct job_line *line,
		    job_fn *on_end, void *owner, struct err *err);
/* End it, without on_end. */
void job_kill(struct job *job);

#endif
