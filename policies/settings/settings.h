/*
 * The settings of sandbox-runtime (npm @anthropic-ai/sandbox-runtime, srt) as
 * a policy, with its meaning on Linux, so that its users can move over. Pure:
 * JSON in, the text of a policy out.
 *
 * Every key is known, every value checked, everything that is wrong told. What
 * would weaken the sandbox is an error; what is stricter here, or without an
 * effect, is a note. docs/POLICY.md has the table.
 */
#ifndef POLICIES_SETTINGS_SETTINGS_H
#define POLICIES_SETTINGS_SETTINGS_H

#include "common/buf.h"

#define SETTINGS_TEXT_MAX  (1024 * 1024)
#define SETTINGS_LIST_MAX  2000 /* of each list */
#define SETTINGS_NOTES_MAX (256 * 1024)

/* What srt uses where there is no settings file: no network, nothing is
 * written. */
#define SETTINGS_DEFAULT_TEXT                                                  \
	"{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"           \
	"\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}"

struct settings_facts {
	const char *file;  /* how to call the text */
	struct bytes cwd;  /* absolute: where relative paths begin */
	struct bytes home; /* absolute; empty: there is none */
	/* Names of the caller's variables: srt passes its environment on. Those
	 * that the settings deny are left out. */
	const char *const *variables;
	size_t variable_count;
	const char *command; /* that they are for; NULL: it is not known */
};

/* Append a policy's text to policy, and lines for people to notes: what
 * differs, or, when -1 is returned, what is wrong. policy needs room for
 * POLICY_TEXT_MAX, notes for SETTINGS_NOTES_MAX. */
int settings_translate(struct bytes text, const struct settings_facts *facts,
		       struct buf *policy, struct buf *notes);

/* The same of `first` with the network's lists of domains of `line`, both
 * settings: what srt takes of a line of its control channel while a command
 * runs. All of the line must be right. */
int settings_follow(struct bytes first, struct bytes line,
		    const struct settings_facts *facts, struct buf *policy,
		    struct buf *notes);

#endif
