#include "policies/pattern.h"

#include <stdio.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define NEST_MAX 50 /* parentheses in parentheses */
/* What one value may cost: some steps for each of its bytes, so fewer for a
 * longer one. One pass compares the states it is in with each other;
 * backtracking, where there are too many of them, reads on from each point
 * that it goes back to. */
#define PASS_WORK  (UINT64_C(1) << 26)
#define BACK_WORK  (UINT64_C(1) << 22)
#define STATES_MIN 16
#define STATES_MAX 680
#define BACKS_MAX  100000
/* How deep lookarounds and groups go. */
#define DEPTH_MAX    100
#define HEAP_KIB_MAX 1024
/* Of the matcher: two lists of states, of three ints each, and two more. */
#define WORKSPACE(states) (6 * (states) + 2)

struct pattern {
	struct bytes text;
	pcre2_code *code;
};

/* ---- making ---- */

static void *take(PCRE2_SIZE len, void *arena)
{
	return arena_alloc(arena, len);
}

/* The arena goes as a whole. */
static void give_back(void *block, void *arena)
{
	(void)block;
	(void)arena;
}

static const struct pattern *fail(struct pattern_fault *fault, size_t at,
				  const char *why)
{
	fault->at = at;
	(void)snprintf(fault->why, sizeof(fault->why), "%s", why);
	return NULL;
}

/* What the matcher would only find out on the way. Where text[at] begins
 * such a thing, its name; else NULL. */
static const char *unserved(struct bytes text, size_t at)
{
	static const struct {
		struct bytes start;
		const char *name;
	} things[] = {
		{BYTES_LITERAL("(*"), "a verb \"(*\" is not served"},
		{BYTES_LITERAL("(?("), "a condition \"(?(\" is not served"},
		{BYTES_LITERAL("(?C"), "a callout \"(?C\" is not served"},
		{BYTES_LITERAL("\\K"), "\"\\K\" is not served"},
		{BYTES_LITERAL("\\Q"), "\"\\Q\" is not served"},
	};
	struct bytes rest = bytes_slice(text, at, text.len);

	for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++)
		if (bytes_starts_with(rest, things[i].start))
			return things[i].name;
	return NULL;
}

static const char *find_unserved(struct bytes text, size_t *at)
{
	const char *name = NULL;
	size_t i = 0;

	while (i < text.len && !(name = unserved(text, i)))
		i += text.data[i] == '\\' ? 2 : 1;
	*at = i;
	return name;
}

static pcre2_code *compile(pcre2_compile_context *context, struct bytes text,
			   struct pattern_fault *fault)
{
	const uint32_t options = PCRE2_ANCHORED | PCRE2_DOTALL |
				 PCRE2_DOLLAR_ENDONLY | PCRE2_UTF |
				 PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C |
				 PCRE2_NO_AUTO_CAPTURE;
	PCRE2_UCHAR words[PATTERN_WHY_MAX] = "";
	PCRE2_SPTR data = text.len ? text.data : (PCRE2_SPTR) "";
	PCRE2_SIZE at = 0;
	int error = 0;
	pcre2_code *code =
		pcre2_compile(data, text.len, options, &error, &at, context);

	if (code)
		return code;
	(void)pcre2_get_error_message(error, words, sizeof(words));
	(void)fail(fault, at < text.len ? at : text.len, (const char *)words);
	return NULL;
}

const struct pattern *pattern_new(struct arena *arena, struct bytes text,
				  struct pattern_fault *fault)
{
	pcre2_general_context *general =
		pcre2_general_context_create(take, give_back, arena);
	pcre2_compile_context *context =
		general ? pcre2_compile_context_create(general) : NULL;
	struct pattern *pattern = arena_alloc(arena, sizeof(*pattern));
	const char *name;
	uint32_t references = 0;
	size_t at;

	if (!pattern || !context ||
	    pcre2_set_parens_nest_limit(context, NEST_MAX))
		return fail(fault, 0, "the text is too large to be read");
	name = find_unserved(text, &at);
	if (name)
		return fail(fault, at, name);
	pattern->text = arena_copy(arena, text);
	pattern->code = compile(context, text, fault);
	if (!pattern->code)
		return NULL;
	if (pcre2_pattern_info(pattern->code, PCRE2_INFO_BACKREFMAX,
			       &references) ||
	    references > 0)
		return fail(fault, 0, "a back reference is not served");
	return pattern;
}

/* ---- asking ---- */

struct matcher {
	pcre2_match_context *context;
	pcre2_match_data *found;
};

static void matcher_release(struct matcher *matcher)
{
	pcre2_match_data_free(matcher->found);
	pcre2_match_context_free(matcher->context);
}

static bool matcher_init(struct matcher *matcher)
{
	matcher->context = pcre2_match_context_create(NULL);
	matcher->found = pcre2_match_data_create(1, NULL);
	return matcher->context && matcher->found &&
	       !pcre2_set_heap_limit(matcher->context, HEAP_KIB_MAX);
}

/* As many states as the length leaves. */
static size_t states_for(size_t len)
{
	size_t states = STATES_MAX;

	while (states > STATES_MIN && len > PASS_WORK / (states * states))
		states /= 2;
	return states;
}

/* So often it may begin to read a value of that length. */
static uint32_t starts_for(size_t len)
{
	uint64_t starts = BACK_WORK / (len + 1);

	return starts < BACKS_MAX ? (uint32_t)starts + 1 : BACKS_MAX;
}

static int match_in_one_pass(const struct pattern *pattern, struct bytes value,
			     struct matcher *matcher)
{
	int workspace[WORKSPACE(STATES_MAX)];
	int result;

	(void)pcre2_set_depth_limit(matcher->context, DEPTH_MAX);
	result = pcre2_dfa_match(pattern->code, value.data, value.len, 0, 0,
				 matcher->found, matcher->context, workspace,
				 WORKSPACE(states_for(value.len)));
	if (result < 0)
		return result;
	/* The longest of all matches is the first. Asked for one that ends
	 * with the value it would ask the same of lookarounds. */
	return pcre2_get_ovector_pointer(matcher->found)[1] == value.len
		       ? 0
		       : PCRE2_ERROR_NOMATCH;
}

static int match_by_backtracking(const struct pattern *pattern,
				 struct bytes value, struct matcher *matcher)
{
	(void)pcre2_set_depth_limit(matcher->context, BACKS_MAX);
	return pcre2_match(pattern->code, value.data, value.len, 0,
			   PCRE2_ENDANCHORED, matcher->found, matcher->context);
}

static enum pattern_answer answer_of(int result)
{
	if (result >= 0)
		return PATTERN_MATCHES;
	return result == PCRE2_ERROR_NOMATCH ? PATTERN_DIFFERS : PATTERN_UNSURE;
}

enum pattern_answer pattern_ask(const struct pattern *pattern,
				struct bytes value)
{
	struct matcher matcher;
	int result = PCRE2_ERROR_NOMEMORY;

	if (value.len == 0)
		value = bytes_str("");
	if (matcher_init(&matcher)) {
		(void)pcre2_set_match_limit(matcher.context,
					    starts_for(value.len));
		result = match_in_one_pass(pattern, value, &matcher);
		if (result == PCRE2_ERROR_DFA_WSSIZE)
			result =
				match_by_backtracking(pattern, value, &matcher);
	}
	matcher_release(&matcher);
	return answer_of(result);
}

struct bytes pattern_text(const struct pattern *pattern)
{
	return pattern->text;
}
