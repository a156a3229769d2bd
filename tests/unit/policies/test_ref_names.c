/* What a policy says of every name of ref_names.txt, verb by verb. */
#include "policy_of.h"

#include "policies/ref.h"

#define NAMES_MIN 300
#define LINE_MAX_ 8192

#define RIGHTS_OF(verbs)                                                       \
	"version: 1\ngit: [{repo: 'https://a.example/o/r', read: true, push: " \
	"{branches: [agent/1, 'work/**', 'feat-*'], tags: ['v*'], "            \
	"verbs: [" verbs "]}}]"

enum kind { KIND_BRANCH, KIND_TAG, KIND_FOREIGN, KIND_INVALID, KIND_MAX };

struct name {
	enum kind kind;
	size_t len;
	char text[LINE_MAX_];
};

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void unescape(struct name *name, const char *text)
{
	name->len = 0;
	while (*text && *text != '\n') {
		if (text[0] == '\\' && text[1] == 'x') {
			name->text[name->len++] =
				(char)(hex_digit(text[2]) * 16U +
				       hex_digit(text[3]));
			text += 4;
		} else {
			name->text[name->len++] = *text++;
		}
	}
}

/* The next name; false at the end. */
static bool next_name(FILE *file, struct name *name)
{
	static const char *const kinds[KIND_MAX] = {"branch ", "tag ",
						    "foreign ", "invalid "};
	static char line[LINE_MAX_];

	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		for (unsigned i = 0; i < KIND_MAX; i++) {
			if (strncmp(line, kinds[i], strlen(kinds[i])) != 0)
				continue;
			name->kind = (enum kind)i;
			unescape(name, line + strlen(kinds[i]));
			return true;
		}
		fail_msg("a line of no kind: %s", line);
	}
	return false;
}

static FILE *open_names(void)
{
	FILE *file =
		fopen(SP_SOURCE_DIR "/tests/unit/policies/ref_names.txt", "re");

	assert_non_null(file);
	return file;
}

/* The constraint that git.md has for a verb on a name of that kind. */
static enum constraint expected(enum kind kind, enum push_verb verb,
				unsigned verbs)
{
	unsigned enough = 0;

	if (kind == KIND_FOREIGN || kind == KIND_INVALID)
		return CONSTRAINT_push_ref_not_allowed;
	switch (verb) {
	case PUSH_CREATE:
		enough = VERB_CREATE;
		break;
	case PUSH_DELETE:
		enough = VERB_DELETE;
		break;
	case PUSH_UPDATE:
	case PUSH_FAST_FORWARD:
		enough = VERB_REWRITE;
		if (kind == KIND_BRANCH)
			enough |= VERB_FAST_FORWARD;
		break;
	case PUSH_REWRITE:
	case PUSH_VERB_MAX:
		enough = VERB_REWRITE;
		break;
	}
	if (verbs & enough)
		return CONSTRAINT_none;
	if (verb == PUSH_REWRITE && kind == KIND_BRANCH &&
	    verbs & VERB_FAST_FORWARD)
		return CONSTRAINT_push_not_fast_forward;
	return CONSTRAINT_push_verb_not_allowed;
}

static void check_name(const struct policy_repo *repo, const struct name *name)
{
	struct bytes ref = bytes_from((const uint8_t *)name->text, name->len);

	for (unsigned verb = 0; verb < PUSH_VERB_MAX; verb++) {
		const struct push_facts facts = {ref, (enum push_verb)verb};
		bool needs_proof = false;
		struct verdict verdict =
			decide_push(repo, &facts, &needs_proof);
		enum constraint wanted =
			expected(name->kind, facts.verb, repo->verbs);

		if (verdict.constraint != wanted ||
		    (verdict.kind == VERDICT_ALLOW) !=
			    (wanted == CONSTRAINT_none))
			fail_msg("verb %u on '%.*s': %s, not %s", verb,
				 BYTES_ARGS(ref),
				 constraint_name(verdict.constraint),
				 constraint_name(wanted));
		assert_true(verdict.rule.len > 0);
		if (needs_proof)
			assert_true(wanted == CONSTRAINT_none &&
				    facts.verb == PUSH_UPDATE);
	}
}

static void no_name_is_another(void **state)
{
	static const char *const rights[] = {
		RIGHTS_OF("create, fast-forward"),
		RIGHTS_OF("create, fast-forward, rewrite, delete"),
		RIGHTS_OF("create"),
		RIGHTS_OF("fast-forward"),
		RIGHTS_OF("rewrite"),
		RIGHTS_OF("delete"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		struct policy *policy = policy_of(rights[i]);
		FILE *file = open_names();
		size_t counts[KIND_MAX] = {0};
		struct name name;

		while (next_name(file, &name)) {
			counts[name.kind]++;
			check_name(&policy->repos[0], &name);
		}
		(void)fclose(file);
		policy_free(policy);
		assert_true(counts[KIND_BRANCH] + counts[KIND_TAG] +
				    counts[KIND_FOREIGN] +
				    counts[KIND_INVALID] >=
			    NAMES_MIN);
		for (unsigned kind = 0; kind < KIND_MAX; kind++)
			assert_true(counts[kind] > 0);
	}
}

static void a_name_is_valid_or_it_is_not(void **state)
{
	FILE *file = open_names();
	struct name name;

	(void)state;
	while (next_name(file, &name)) {
		struct bytes ref =
			bytes_from((const uint8_t *)name.text, name.len);

		if (ref_is_valid(ref) != (name.kind != KIND_INVALID))
			fail_msg("'%.*s'", BYTES_ARGS(ref));
	}
	(void)fclose(file);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_is_another),
		cmocka_unit_test(a_name_is_valid_or_it_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
