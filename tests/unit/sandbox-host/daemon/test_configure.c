#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/config_dump.h"
#include "sandbox-host/daemon/configure.h"

#define REPORT_MAX 8192

static void read_text(struct host_config *config, const char *text)
{
	auto_type(buf_release) struct buf report;
	struct policy_errors errors = {.out = &report, .file = "host.yaml"};
	struct err err;

	buf_init(&report, REPORT_MAX);
	assert_int_equal(host_config_defaults(config, &err), 0);
	assert_true(host_config_read(config, bytes_str(text), &errors));
}

#define DIGITS                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEYS "api_keys: [\"sha256:" DIGITS "\"]\n"

struct row {
	const char *line; /* beside what stands there */
	const char *fixed, *taken;
	bool rebuilds;
};

static const struct row rows[] = {
	{"limits: {}\n", "", "", false},
	{"run: /b\n", "run", "", false},
	{"workspaces: /b\n", "workspaces", "", false},
	{"gateway: /b\n", "gateway", "", false},
	{"store: /b\n", "store", "", false},
	{"listen: [127.0.0.1:2]\n" KEYS, "listen", "api_keys", false},
	{"listen: [127.0.0.1:1]\n" KEYS "tls: {certificate: /c, key: /d}\n",
	 "listen, tls", "api_keys", false},
	{"default_policy: /b\n", "", "default_policy", true},
	{"uid_range: 3000000-3000009\n", "", "uid_range", true},
	{"images: {i: /b}\n", "", "images", true},
	{"volumes: [/b]\n", "", "volumes", true},
	{"pool: {p: {size: 2}}\n", "", "pool", true},
	{"insecure_listen: true\n", "", "insecure_listen", false},
	{"policies: {x: /y}\n", "", "policies", false},
	{"limits: {sandboxes: 2}\n", "", "limits.sandboxes", false},
	{"limits: {ready: 1}\n", "", "limits.ready", true},
	{"limits: {image_time: 61m}\n", "", "limits.image_time", false},
	{"limits: {snapshots: 1, snapshot_bytes: 1B, image_bytes: 1B}\n", "",
	 "limits.snapshots, limits.snapshot_bytes, limits.image_bytes", false},
};

static void changes_are_told_apart_by_their_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_type(host_config_release) struct host_config old, next;
		char fixed[CONFIGURE_NAMES_MAX], taken[CONFIGURE_NAMES_MAX];

		read_text(&old, "limits: {}\n");
		read_text(&next, rows[i].line);
		configure_fixed(&old, &next, fixed);
		configure_taken(&old, &next, taken);
		assert_string_equal(fixed, rows[i].fixed);
		assert_string_equal(taken, rows[i].taken);
		assert_int_equal(configure_rebuilds(&old, &next),
				 rows[i].rebuilds);
	}
}

/* The first says something of everything that can be said in two ways. */
static const char image_read[] = "images: {i: {source: /b, mode: read}}\n";
static const char *const pairs[][2] = {
	{image_read, "images: {i: {source: /b}}\n"},
	{image_read, "images: {i: {source: /c, mode: read}}\n"},
	{image_read, "images: {j: {source: /b, mode: read}}\n"},
	{"pool: {p: {size: 1}}\n", "pool: {q: {size: 1}}\n"},
	{"pool: {p: {size: 1}}\n", "pool: {p: {size: 1, policy: /x}}\n"},
	{"volumes: [/a, /b]\n", "volumes: [/a, /c]\n"},
	{"uid_range: 3000000-3000009\n", "uid_range: 3000000-3000010\n"},
};

static void what_a_sandbox_is_built_from_is_compared_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		auto_type(host_config_release) struct host_config a, b, same;

		read_text(&a, pairs[i][0]);
		read_text(&same, pairs[i][0]);
		read_text(&b, pairs[i][1]);
		assert_false(configure_rebuilds(&a, &same));
		assert_true(configure_rebuilds(&a, &b));
	}
}

static void other_words_in_a_file_that_is_named_are_a_change(void **state)
{
	auto_type(host_config_release) struct host_config a, b;
	char taken[CONFIGURE_NAMES_MAX];

	(void)state;
	read_text(&a, "pool: {p: {size: 1, policy: /x}}\npolicies: {n: /y}\n");
	read_text(&b, "pool: {p: {size: 1, policy: /x}}\npolicies: {n: /y}\n");
	b.store.pools[0].policy_text = bytes_str("version: 1\n");
	b.api.policies[0].text = bytes_str("version: 1\n");
	configure_taken(&a, &b, taken);
	assert_string_equal(taken, "pool, policies");
	assert_true(configure_rebuilds(&a, &b));
}

static void what_is_shown_is_what_was_read(void **state)
{
	static const char text[] =
		"run: /a\nworkspaces: /b\ngateway: /c\ndefault_policy: /d\n"
		"uid_range: 3000000-3000009\nstore: /e\n"
		"images: {t: {source: \"/g \\\"q\", digest: \"sha256:" DIGITS
		"\"}, o: \"oci:/h:tag\"}\n"
		"volumes: [/i, /j]\n"
		"pool: {small: {image: t, policy: /k, size: 3}}\n"
		"policies: {n: /l}\ninsecure_listen: true\n"
		"limits: {sandboxes: 7, ready: 0, snapshots: 2, "
		"snapshot_bytes: 1536KiB, image_bytes: 1025B, image_time: "
		"90s}\n";
	auto_type(host_config_release) struct host_config config, again;
	auto_type(buf_release) struct buf shown;
	char names[CONFIGURE_NAMES_MAX];

	(void)state;
	buf_init(&shown, CONFIG_DUMP_MAX);
	read_text(&config, text);
	assert_int_equal(config_dump(&config, &shown), 0);
	read_text(&again, buf_str(&shown));
	configure_fixed(&config, &again, names);
	assert_string_equal(names, "");
	configure_taken(&config, &again, names);
	assert_string_equal(names, "");
	assert_non_null(
		strstr(buf_str(&shown), "run: \"/a\"  # host.yaml:1\n"));
}

static void no_hash_of_a_key_is_shown(void **state)
{
	auto_type(host_config_release) struct host_config config;
	auto_type(buf_release) struct buf shown;

	(void)state;
	buf_init(&shown, CONFIG_DUMP_MAX);
	read_text(&config, "listen: [127.0.0.1:1]\n" KEYS);
	assert_int_equal(config_dump(&config, &shown), 0);
	assert_null(strstr(buf_str(&shown), DIGITS));
	assert_non_null(strstr(buf_str(&shown), "api_keys: 1, not shown"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_are_told_apart_by_their_names),
		cmocka_unit_test(
			what_a_sandbox_is_built_from_is_compared_whole),
		cmocka_unit_test(
			other_words_in_a_file_that_is_named_are_a_change),
		cmocka_unit_test(what_is_shown_is_what_was_read),
		cmocka_unit_test(no_hash_of_a_key_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
