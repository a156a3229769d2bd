/*
 * What the user is told: each text once, and not more of them a second than
 * a person can read.
 */
#ifndef SANDBOX_HOST_REPORT_H
#define SANDBOX_HOST_REPORT_H

#include <stdint.h>

#include "sandbox-host/sandbox.h"

#define REPORT_REMEMBERED 256
#define REPORT_PER_SECOND 20
#define REPORT_TEXT_MAX	  1024

struct report {
	sandbox_on_event *on_event;
	void *owner;
	struct policy_strings ignore;	  /* borrowed */
	uint64_t said[REPORT_REMEMBERED]; /* digests of texts, a ring */
	unsigned next;
	uint64_t second; /* of the monotonic clock */
	unsigned this_second;
	uint64_t dropped; /* not yet said that they were */
};

void report_open(struct report *report, sandbox_on_event *on_event,
		 void *owner);
/* Say it, unless it was said or too much is said already. Control
 * characters in the text become '?'. */
void report_say(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The same of a denial, by that rule (policies/remedy.h). */
void report_deny(struct report *report, enum constraint constraint,
		 const char *rule, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Hand on what another report said. */
void report_pass(struct report *report, const struct sandbox_event *event);
/* Say how many were dropped, if any. */
void report_flush(struct report *report);

#endif
