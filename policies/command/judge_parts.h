/*
 * A judgement under way. Private to judge*.c.
 */
#ifndef POLICIES_COMMAND_JUDGE_PARTS_H
#define POLICIES_COMMAND_JUDGE_PARTS_H

#include "policies/command/judge.h"
#include "policies/command/paths.h"

#define JUDGE_DEPTH_MAX 8 /* of wrappers and of code within code */

struct judge {
	const struct command_facts *facts;
	struct arena *arena;
	struct buf *trace; /* NULL: none */
	struct command_verdict *verdict;
	struct path_places places;
	struct bytes text; /* the whole line */
	unsigned depth;
	/* Inside of `sh -c`: everything is where that stands. */
	bool is_fixed;
	size_t fixed_at, fixed_end;
};

/* What was found of one part of the line. */
struct finding {
	struct command_level level;
	size_t at, end;
	/* Whose it is: the policy's entries can lift it; NULL: nobody's. */
	const struct command_call *call;
};

/* judge_lists.c: decide by the lists and by the autonomy; the verdict keeps
 * the worst. */
void judge_level(struct judge *judge, const struct finding *finding);
/* A denial or an allowance that no list has a say in. */
void judge_tell(struct judge *judge, const struct finding *finding,
		enum verdict_kind kind, enum constraint constraint,
		const char *rule);

/* judge.c: a command, and all that it runs. */
void judge_call(struct judge *judge, const struct command_call *call, size_t at,
		size_t end);
void judge_line(struct judge *judge, struct bytes line);

/* judge_paths.c */
void judge_paths(struct judge *judge, const struct command_call *call,
		 size_t at, size_t end);
void judge_redirects(struct judge *judge, const struct shell_command *command,
		     const struct command_call *call);
void judge_directories(struct judge *judge, const struct shell_line *line);
/* Those that a call itself changes to: git -C, env --chdir. */
void judge_own_directory(struct judge *judge, const struct command_call *call);

#endif
