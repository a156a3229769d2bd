#include "learning.h"

/* ---- what is learnt ---- */

static void requests_are_learnt_exactly_and_in_one_order(void **state)
{
	static const char *const rows[][3] = {
		{"GET", "b.example", "/two"},  {"GET", "a.example", "/one"},
		{"POST", "a.example", "/one"}, {"GET", "a.example", "/zero"},
		{"GET", "a.example", "/one"},
	};
	static const char expected[] = "network:\n"
				       "  rules:\n"
				       "    - hosts: [\"a.example\"]\n"
				       "      ports: [443]\n"
				       "      methods: [GET]\n"
				       "      paths:\n"
				       "        - \"/zero\"\n"
				       "      action: allow\n"
				       "    - hosts: [\"a.example\"]\n"
				       "      ports: [443]\n"
				       "      methods: [GET, POST]\n"
				       "      paths:\n"
				       "        - \"/one\"\n"
				       "      action: allow\n"
				       "    - hosts: [\"b.example\"]\n"
				       "      ports: [443]\n"
				       "      methods: [GET]\n"
				       "      paths:\n"
				       "        - \"/two\"\n"
				       "      action: allow\n";

	(void)state;
	for (size_t first = 0; first < ARRAY_SIZE(rows); first++) {
		struct learned *learned = learned_open(NULL, false);
		struct buf out;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			const char *const *row =
				rows[(first + i) % ARRAY_SIZE(rows)];

			allow(learned, row[0], row[1], row[2]);
		}
		close_into(learned, &out);
		assert_string_equal(buf_str(&out), expected);
		buf_release(&out);
	}
}

static void siblings(struct learned *learned, int count)
{
	char path[32];

	for (int i = 0; i < count; i++) {
		(void)snprintf(path, sizeof(path), "/items/%d/x", i);
		allow(learned, "GET", "a.example", path);
	}
}

static void many_siblings_become_a_star_and_few_do_not(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	siblings(learned, LEARNED_SIBLINGS_MAX);
	close_into(learned, &out);
	assert_has(&out, "- \"/items/7/x\"\n");
	assert_has_not(&out, "*");
	buf_release(&out);

	learned = learned_open(NULL, false);
	siblings(learned, LEARNED_SIBLINGS_MAX + 1);
	allow(learned, "GET", "a.example", "/items/other");
	close_into(learned, &out);
	assert_has(&out, "- \"/items/*/x\" # 9 paths differed here\n");
	assert_has(&out, "- \"/items/other\"\n");
	assert_has_not(&out, "/items/7");
	buf_release(&out);
}

static void no_star_reaches_what_was_refused(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	siblings(learned, LEARNED_SIBLINGS_MAX + 1);
	refuse(learned, "denied_by_rule", "/items/SECRET/x");
	close_into(learned, &out);
	assert_has_not(&out, "*");
	assert_has(&out, "- \"/items/7/x\"\n");
	assert_has(&out, "# left out: 1 refusals");
	buf_release(&out);
}

static void no_star_goes_beyond_the_rule_that_let_them_pass(void **state)
{
	static const char listed[] =
		"version: 1\nnetwork:\n  rules:\n"
		"    - {name: wide, hosts: [a.example], action: allow, paths: "
		"[/items/0/x, /items/1/x, /items/2/x, /items/3/x, /items/4/x, "
		"/items/5/x, /items/6/x, /items/7/x, /items/8/x]}\n";
	static const char wide[] =
		"version: 1\nnetwork:\n  rules:\n"
		"    - {name: wide, hosts: [a.example], action: allow, paths: "
		"[\"/items/**\"]}\n";
	const char *const texts[] = {listed, wide};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		auto_type(ran_release) struct ran ran = {0};
		struct learned *learned;
		struct buf out;

		ran_with(&ran, texts[i]);
		learned = learned_open(&ran, false);
		siblings(learned, LEARNED_SIBLINGS_MAX + 1);
		close_into(learned, &out);
		(texts[i] == wide ? assert_has : assert_has_not)(&out,
								 "/items/*/x");
		buf_release(&out);
	}
}

static void refusals_are_learnt_when_that_is_asked_for(void **state)
{
	static const struct {
		const char *why;
		bool is_learnt;
	} rows[] = {
		{"host_not_allowed", true},   {"method_not_allowed", true},
		{"path_not_allowed", true},   {"approval_pending", true},
		{"denied_by_rule", false},    {"approval_denied", false},
		{"secret_in_body", false},    {"body_not_allowed", false},
		{"address_forbidden", false}, {"limit_rate", false},
		{"no_such_thing", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int denied = 0; denied < 2; denied++) {
			struct learned *learned = learned_open(NULL, denied);
			struct buf out;

			refuse(learned, rows[i].why, "/wanted");
			close_into(learned, &out);
			if (denied && rows[i].is_learnt) {
				assert_has(&out, "\"/wanted\"");
				assert_has(&out, "# was refused: ");
			} else {
				assert_has_not(&out, "\"/wanted\"");
			}
			buf_release(&out);
		}
	}
}

static void what_passed_at_another_time_was_not_refused(void **state)
{
	struct learned *learned = learned_open(NULL, true);
	struct buf out;

	(void)state;
	refuse(learned, "approval_pending", "/asked");
	allow(learned, "GET", "a.example", "/asked");
	close_into(learned, &out);
	assert_has(&out, "\"/asked\"");
	assert_has_not(&out, "refused");
	buf_release(&out);
}

#define CONNECTION(allowed, more)                                              \
	"{\"activity\":\"connection\",\"allowed\":" allowed                    \
	",\"host\":\"a.example\",\"port\":22" more "}"

static void connections_are_learnt_when_nobody_looked_into_them(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	take(learned, CONNECTION("true", ""));
	take(learned, "{\"activity\":\"response\",\"allowed\":true,\"host\":"
		      "\"a.example\",\"port\":22,\"bytes_up\":5}");
	close_into(learned, &out);
	assert_has(&out, "hosts: [\"a.example\"]\n      ports: [22]\n"
			 "      # a connection that nobody looked into");
	buf_release(&out);

	/* The same, in one row. */
	learned = learned_open(NULL, false);
	take(learned,
	     CONNECTION("true", ",\"ended\":\"2025-11-21T19:00:00.123Z\","
				"\"method\":\"CONNECT\""));
	close_into(learned, &out);
	assert_has(&out, "hosts: [\"a.example\"]\n      ports: [22]\n"
			 "      # a connection that nobody looked into");
	buf_release(&out);

	/* It was opened, and nobody knows what it carried. */
	learned = learned_open(NULL, false);
	take(learned, CONNECTION("true", ""));
	close_into(learned, &out);
	assert_has_not(&out, "rules");
	assert_has(&out, "nothing more is on record: a.example:22");
	buf_release(&out);
}

#define REFUSED "\"constraint\":\"host_not_allowed\""

static void a_refused_connection_opens_no_more_than_was_asked_on_it(void **st)
{
	struct learned *learned = learned_open(NULL, true);
	struct buf out;

	(void)st;
	take(learned, CONNECTION("false", "," REFUSED));
	take(learned, "{\"activity\":\"request\",\"allowed\":false," REFUSED
		      ",\"host\":\"a.example\",\"port\":22,\"method\":\"GET\","
		      "\"path\":\"/a*\"}");
	close_into(learned, &out);
	assert_has_not(&out, "rules");
	assert_has(&out, "# left out: no path of a policy, or one with a '*'");
	buf_release(&out);

	learned = learned_open(NULL, true);
	take(learned, CONNECTION("false", "," REFUSED));
	close_into(learned, &out);
	assert_has(&out, "ports: [22]");
	buf_release(&out);
}

static void a_websocket_is_learnt_from_its_end(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	allow(learned, "GET", "a.example", "/socket");
	allow(learned, "GET", "a.example", "/plain");
	take(learned, "{\"activity\":\"response\",\"allowed\":false,"
		      "\"constraint\":\"websocket_message\",\"rule\":\"wide\","
		      "\"host\":\"a.example\",\"port\":443,\"method\":\"GET\","
		      "\"path\":\"/socket\",\"status\":101}");
	close_into(learned, &out);
	assert_has(&out, "        - \"/plain\"\n      action: allow\n");
	assert_has(&out, "        - \"/socket\"\n      websocket: {} #");
	buf_release(&out);

	/* One that ended at once has its outcome in the request's row. */
	learned = learned_open(NULL, false);
	take(learned, "{\"activity\":\"request\",\"allowed\":true,"
		      "\"ended\":\"2025-11-21T19:00:00.123Z\","
		      "\"rule\":\"wide\",\"host\":\"a.example\","
		      "\"port\":443,\"method\":\"GET\","
		      "\"path\":\"/socket\",\"status\":101}");
	close_into(learned, &out);
	assert_has(&out, "        - \"/socket\"\n      websocket: {} #");
	buf_release(&out);
}

/* ---- the policy that it ran with ---- */

static const char ran_text[] =
	"version: 1\n"
	"network:\n"
	"  rules:\n"
	"    - {name: no, hosts: [a.example], methods: [POST], action: "
	"deny}\n"
	"    - {name: wide, hosts: [a.example], action: allow, "
	"credential: c, headers: {X-Y: \"[0-9]+: \\\"\"}, body: {max: "
	"1KiB, json: [{pointer: /a, equals: \"1\"}, {pointer: /b, "
	"one-of: [1, true]}]}}\n"
	"    - {name: never, hosts: [b.example], action: deny}\n"
	"  addresses: {allow: [10.1.0.0/16]}\n"
	"credentials:\n"
	"  - {name: c, secret: s, attach: bearer, hosts: "
	"[a.example, b.example]}\n"
	"  - {name: d, secret: s, attach: bearer, hosts: [d.example]}\n"
	"limits: {time: 1h}\n";
static const char kept_text[] = "network:\n"
				"  rules:\n"
				"    - name: no\n"
				"      hosts:\n"
				"        - a.example\n"
				"      methods:\n"
				"        - POST\n"
				"      action: deny\n"
				"    - hosts: [\"a.example\"]\n"
				"      ports: [443]\n"
				"      methods: [GET]\n"
				"      paths:\n"
				"        - \"/one\"\n"
				"      credential: \"c\"\n"
				"      headers:\n"
				"        \"X-Y\": \"[0-9]+: \\\"\"\n"
				"      body:\n"
				"        max: 1KiB\n"
				"        json:\n"
				"          - pointer: /a\n"
				"            equals: \"1\"\n"
				"          - pointer: /b\n"
				"            one-of:\n"
				"              - 1\n"
				"              - true\n"
				"      action: allow\n"
				"  addresses:\n"
				"    allow:\n"
				"      - 10.1.0.0/16\n"
				"credentials:\n"
				"  - name: c\n"
				"    secret: s\n"
				"    attach: bearer\n"
				"    hosts: [\"a.example\"]\n"
				"limits:\n"
				"  time: 1h\n";
static void rules_keep_their_conditions_their_order_and_what_denies(void **st)
{
	auto_type(ran_release) struct ran ran = {0};
	struct learned *learned;
	struct buf out;

	(void)st;
	ran_with(&ran, ran_text);
	learned = learned_open(&ran, false);
	take(learned, "{\"activity\":\"request\",\"allowed\":true,\"rule\":"
		      "\"wide\",\"host\":\"a.example\",\"port\":443,"
		      "\"method\":\"GET\",\"path\":\"/one\",\"credential\":"
		      "\"c\"}");
	close_into(learned, &out);
	assert_string_equal(buf_str(&out), kept_text);
	buf_release(&out);
}

static void a_credential_that_nobody_defines_is_a_comment(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	take(learned, "{\"activity\":\"request\",\"allowed\":true,\"rule\":"
		      "\"wide\",\"host\":\"a.example\",\"port\":443,"
		      "\"method\":\"GET\",\"path\":\"/one\",\"credential\":"
		      "\"c\\nx\"}");
	close_into(learned, &out);
	assert_has(&out, "      # went with a credential that only --policy "
			 "can define: c?x\n      action: allow\n");
	buf_release(&out);
}

/* ---- git ---- */

#define GIT(more)                                                              \
	"\"rule\":\"https://git.example/o/r\",\"host\":\"git.example\","       \
	"\"port\":443," more "}"

static void repositories_are_learnt_with_their_refs_and_verbs(void **state)
{
	static const char *const rows[] = {
		"{\"activity\":\"request\",\"allowed\":true," GIT(
			"\"method\":\"POST\",\"path\":\"/o/r/"
			"git-upload-pack\""),
		"{\"activity\":\"push\",\"allowed\":true," GIT(
			"\"method\":\"fast-forward\",\"path\":"
			"\"refs/heads/b\""),
		"{\"activity\":\"push\",\"allowed\":true," GIT(
			"\"method\":\"create\",\"path\":\"refs/heads/a\""),
		/* A constraint of another version, of what was allowed. */
		"{\"activity\":\"push\",\"allowed\":true,"
		"\"constraint\":\"of_tomorrow\"," GIT(
			"\"method\":\"create\",\"path\":\"refs/tags/v1\""),
		"{\"activity\":\"push\",\"allowed\":true," GIT(
			"\"method\":\"create\",\"path\":"
			"\"refs/heads/${session.id}\""),
		"{\"activity\":\"push\",\"allowed\":false,\"constraint\":"
		"\"push_ref_not_allowed\"," GIT(
			"\"method\":\"create\",\"path\":\"refs/heads/main\""),
		"{\"activity\":\"connection\",\"allowed\":true," GIT(
			"\"request_id\":\"r-1\""),
	};
	static const char expected[] =
		"git:\n"
		"  - repo: \"https://git.example/o/r\"\n"
		"    read: true\n"
		"    push:\n"
		"      branches:\n"
		"        - \"a\"\n"
		"        - \"b\"\n"
		"%s"
		"      tags:\n"
		"        - \"v1\"\n"
		"      verbs: [create, fast-forward]\n"
		"%s"
		"# left out: no ref of a policy: refs/heads/${session.id}\n";
	char text[1024];

	(void)state;
	for (int denied = 0; denied < 2; denied++) {
		struct learned *learned = learned_open(NULL, denied);
		struct buf out;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			take(learned, rows[i]);
		close_into(learned, &out);
		(void)snprintf(text, sizeof(text), expected,
			       denied ? "        - \"main\" # was refused: "
					"push_ref_not_allowed\n"
				      : "",
			       denied ? ""
				      : "# left out: 1 refusals (see "
					"--denied)\n");
		assert_string_equal(buf_str(&out), text);
		buf_release(&out);
	}
}

/* A clone begins so: what is wanted is the right to read, not a path. */
static void a_refused_clone_is_a_repository_to_read(void **state)
{
	static const char *const paths[] = {"/o/r/info/refs",
					    "/o/r.git/info/refs"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct learned *learned = learned_open(NULL, true);
		struct buf out;

		refuse(learned, "path_not_allowed", paths[i]);
		close_into(learned, &out);
		assert_string_equal(
			buf_str(&out),
			"git:\n"
			"  - repo: \"https://a.example/o/r\"\n"
			"    read: true # was refused: path_not_allowed\n");
		buf_release(&out);
	}
}

/* Not asked for, decided by somebody, or of no repository. */
static void what_is_no_refused_clone_opens_no_repository(void **state)
{
	struct learned *learned = learned_open(NULL, false);
	struct buf out;

	(void)state;
	refuse(learned, "path_not_allowed", "/o/r/info/refs");
	close_into(learned, &out);
	assert_has_not(&out, "git:");
	buf_release(&out);
	learned = learned_open(NULL, true);
	refuse(learned, "denied_by_rule", "/o/r/info/refs");
	refuse(learned, "path_not_allowed", "/info/refs");
	refuse(learned, "path_not_allowed", "/${x}/info/refs");
	refuse(learned, "path_not_allowed", "/o/r/info/refs/x");
	close_into(learned, &out);
	assert_has_not(&out, "git:");
	assert_has(&out, "- \"/info/refs\"");
	buf_release(&out);
}

static void bounds_of_pushes_are_kept(void **state)
{
	static const char *const repos[] = {"https://git.example/o/r",
					    "${session.repo}"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(repos); i++) {
		auto_type(ran_release) struct ran ran = {0};
		struct learned *learned;
		struct buf out;

		(void)snprintf(text, sizeof(text),
			       "version: 1\ngit:\n  - repo: %s\n    push: "
			       "{branches: [\"**\"], limits: {pack: 1MiB}}\n",
			       repos[i]);
		ran_with(&ran, text);
		learned = learned_open(&ran, false);
		take(learned, "{\"activity\":\"push\",\"allowed\":true," GIT(
				      "\"method\":\"create\",\"path\":"
				      "\"refs/heads/a\""));
		close_into(learned, &out);
		assert_has(&out, "      verbs: [create]\n      limits:\n"
				 "        pack: 1MiB\n");
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_learnt_exactly_and_in_one_order),
		cmocka_unit_test(many_siblings_become_a_star_and_few_do_not),
		cmocka_unit_test(no_star_reaches_what_was_refused),
		cmocka_unit_test(
			no_star_goes_beyond_the_rule_that_let_them_pass),
		cmocka_unit_test(refusals_are_learnt_when_that_is_asked_for),
		cmocka_unit_test(what_passed_at_another_time_was_not_refused),
		cmocka_unit_test(
			connections_are_learnt_when_nobody_looked_into_them),
		cmocka_unit_test(
			a_refused_connection_opens_no_more_than_was_asked_on_it),
		cmocka_unit_test(a_websocket_is_learnt_from_its_end),
		cmocka_unit_test(
			rules_keep_their_conditions_their_order_and_what_denies),
		cmocka_unit_test(a_credential_that_nobody_defines_is_a_comment),
		cmocka_unit_test(
			repositories_are_learnt_with_their_refs_and_verbs),
		cmocka_unit_test(a_refused_clone_is_a_repository_to_read),
		cmocka_unit_test(what_is_no_refused_clone_opens_no_repository),
		cmocka_unit_test(bounds_of_pushes_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
