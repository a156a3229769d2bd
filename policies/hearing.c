#include "policies/hearing.h"

#include "policies/pattern.h"
#include "policies/query.h"
#include "policies/spelling.h"

void hearing_init(struct hearing *hearing, const struct request_facts *facts)
{
	*hearing = (struct hearing){.facts = facts};
	arena_init(&hearing->arena, HEARING_ARENA_MAX);
}

void hearing_release(struct hearing *hearing)
{
	arena_release(&hearing->arena);
}

/* The values of one name, one after the other. */
struct tally {
	size_t exact; /* of the very name */
	size_t seen;
	size_t matched;
	bool unsure;
};

static void tally_add(struct tally *tally, const struct policy_match *match,
		      const struct field *field, bool nocase)
{
	if (!spelling_matches(nocase ? SPELLING_HEADER : SPELLING_PARAMETER,
			      field->name, match->name))
		return;
	tally->exact += nocase ? bytes_equal_nocase(field->name, match->name)
			       : bytes_equal(field->name, match->name);
	tally->seen++;
	switch (pattern_ask(match->pattern, field->value)) {
	case PATTERN_MATCHES:
		tally->matched++;
		break;
	case PATTERN_UNSURE:
		tally->unsure = true;
		break;
	case PATTERN_DIFFERS:
		break;
	}
}

static enum holds match_holds(const struct policy_match *match,
			      const struct fields *fields, bool nocase)
{
	struct tally tally = {0};

	/* One that is unsure settles it: no value may cost more than that. */
	for (size_t i = 0; i < fields->count && !tally.unsure; i++)
		tally_add(&tally, match, &fields->items[i], nocase);
	if (tally.unsure)
		return HOLDS_PARTLY;
	if (tally.matched == 0)
		return HOLDS_NOT;
	return tally.matched == tally.seen && tally.exact ? HOLDS
							  : HOLDS_PARTLY;
}

enum holds fields_hold(struct hearing *hearing,
		       const struct policy_matches *matches,
		       const struct fields *fields, bool nocase)
{
	static const struct fields none = {NULL, 0, 0};
	enum holds all = HOLDS;

	for (size_t i = 0; i < matches->count && all != HOLDS_NOT; i++) {
		enum holds one = match_holds(&matches->items[i],
					     fields ? fields : &none, nocase);

		if (one != HOLDS)
			hearing->differs = matches->items[i].name;
		all = holds_both(all, one);
	}
	return all;
}

enum holds headers_hold(struct hearing *hearing,
			const struct policy_matches *matches)
{
	return fields_hold(hearing, matches, hearing->facts->fields, true);
}

const struct fields *hearing_query(struct hearing *hearing)
{
	struct err err;

	if (!hearing->has_query) {
		hearing->has_query = true;
		hearing->query_is_bad =
			query_parse(&hearing->arena, hearing->facts->query,
				    &hearing->query, &err) < 0;
	}
	return hearing->query_is_bad ? NULL : &hearing->query;
}

enum holds query_holds(struct hearing *hearing,
		       const struct policy_matches *matches)
{
	const struct fields *query;

	if (matches->count == 0)
		return HOLDS;
	query = hearing_query(hearing);
	if (query)
		return fields_hold(hearing, matches, query, false);
	hearing->differs = bytes_str("it can be read in two ways");
	return HOLDS_PARTLY;
}
