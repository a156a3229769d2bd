/*
 * What a policy says about command lines. Plain data; policies/command
 * judges lines by it.
 */
#ifndef POLICIES_POLICY_COMMANDS_H
#define POLICIES_POLICY_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define COMMAND_LIST_MAX    1000
#define COMMAND_WORDS_MAX   16 /* of one entry */
#define COMMAND_ACTIONS_MAX 100000
/* What the period of `actions` may be at most. */
#define COMMAND_ACTIONS_MS_MAX (7 * 24 * 3600 * 1000ULL)

enum command_autonomy {
	AUTONOMY_READ_ONLY,  /* what reads, no more */
	AUTONOMY_SUPERVISED, /* a person is asked about the rest */
	AUTONOMY_FULL,	     /* nobody is asked */
	AUTONOMY_MAX
};

/* "git push": that name with these words first. "*" alone: any command. */
struct command_entry {
	struct bytes text; /* as written */
	const struct bytes *words;
	size_t word_count;
};

struct command_entries {
	const struct command_entry *items;
	size_t count;
};

struct policy_commands {
	bool is_set; /* `commands` was given; otherwise lines are not judged */
	enum command_autonomy autonomy;
	struct command_entries allow, deny;
	uint64_t actions; /* within actions_ms; 0: no limit */
	uint64_t actions_ms;
	uint32_t hold_ms; /* supervised: wait so long for a person */
};

/* "read-only". */
const char *command_autonomy_name(enum command_autonomy autonomy);

#endif
