#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/config.h"

#define REPORT_MAX 8192
#define DIGITS                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool read_text(struct host_config *config, const char *text,
		      struct buf *report)
{
	struct policy_errors errors = {.out = report, .file = "host.yaml"};
	struct err err;

	buf_init(report, REPORT_MAX);
	assert_int_equal(host_config_defaults(config, &err), 0);
	return host_config_read(config, bytes_str(text), &errors);
}

static void everything_that_can_be_set_is_read(void **state)
{
	auto_type(host_config_release) struct host_config config;
	auto_type(buf_release) struct buf report;

	(void)state;
	assert_true(read_text(&config,
			      "run: /a\n"
			      "workspaces: /b\n"
			      "gateway: /c\n"
			      "default_policy: /d\n"
			      "uid_range: 3000000-3000009\n"
			      "store: /e\n"
			      "images:\n"
			      "  dir: /f\n"
			      "  tar: {source: /g.tar, mode: read, digest: "
			      "\"sha256:" DIGITS "\"}\n"
			      "  oci: oci:/h:tag\n"
			      "volumes: [/i, /j]\n"
			      "pool: {small: {image: tar, policy: /k, size: "
			      "3}}\n"
			      "limits: {sandboxes: 7, ready: 0, snapshots: 2, "
			      "snapshot_bytes: 1MiB}\n",
			      &report));
	assert_string_equal(config.run, "/a");
	assert_string_equal(config.workspaces, "/b");
	assert_string_equal(config.gateway, "/c");
	assert_string_equal(config.default_policy, "/d");
	assert_int_equal(config.uids.first, 3000000);
	assert_int_equal(config.uids.count, 10);
	assert_int_equal(config.sandboxes_max, 7);
	assert_int_equal(config.ready_max, 0);
	assert_string_equal(config.store.path, "/e");
	assert_int_equal(config.store.image_count, 3);
	assert_string_equal(config.store.images[0].source, "/f");
	assert_false(config.store.images[0].is_read_only);
	assert_string_equal(config.store.images[1].name, "tar");
	assert_string_equal(config.store.images[1].digest, "sha256:" DIGITS);
	assert_true(config.store.images[1].is_read_only);
	assert_int_equal(config.store.images[2].kind, IMAGE_OCI);
	assert_int_equal(config.store.volume_count, 2);
	assert_string_equal(config.store.volumes[1], "/j");
	assert_int_equal(config.store.pool_count, 1);
	assert_string_equal(config.store.pools[0].image, "tar");
	assert_int_equal(config.store.pools[0].size, 3);
	assert_int_equal(config.store.snapshots_max, 2);
	assert_int_equal(config.store.snapshot_bytes, 1024 * 1024);
}

static void what_is_not_said_has_a_default(void **state)
{
	auto_type(host_config_release) struct host_config config;
	auto_type(buf_release) struct buf report;

	(void)state;
	assert_true(read_text(&config, "limits: {sandboxes: 1}\n", &report));
	assert_int_equal(config.run[0], '/');
	assert_int_equal(config.workspaces[0], '/');
	assert_null(config.gateway);
	assert_null(config.default_policy);
	assert_int_equal(config.uids.count, 0);
	assert_int_equal(config.ready_max, HOST_READY_DEFAULT);
}

static void what_makes_no_sense_is_told_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} table[] = {
		{"run: here\n", "host.yaml:1:6"},
		{"gateway: []\n", "host.yaml:1:10"},
		{"limits: {sandboxes: 0}\n", "host.yaml:1:21"},
		{"limits: {sandboxes: 10001}\n", "host.yaml:1:21"},
		{"limits: {ready: 17}\n", "host.yaml:1:17"},
		{"uid_range: 2000000\n", "user ids"},
		{"uid_range: 9-2\n", "user ids"},
		{"uid_range: 999-2000\n", "user ids"},
		{"uid_range: 2000-1999\n", "user ids"},
		{"uid_range: 2000-4294967295\n", "user ids"},
		{"images: {a: here}\n", "absolute path"},
		{"images: {a: /}\n", "absolute path"},
		{"images: {../a: /b}\n", "a name has"},
		{"images: {.a: /b}\n", "a name has"},
		{"images: {a: {mode: read}}\n", "source"},
		{"images: {a: {source: /b, digest: sha256:12}}\n", "64"},
		{"volumes: [/]\n", "not /"},
		{"volumes: [/a/../b]\n", "absolute path"},
		{"pool: {a: {size: 0}}\n", "host.yaml:1:"},
		{"pool: {a: {size: 1, image: b}}\n", "`images` has no"},
		{"pool: {a: {image: b}}\nimages: {b: /c}\n", "size"},
		{"limits: {snapshots: 1001}\n", "host.yaml:1:21"},
		{"rum: /a\n", "did you mean"},
		{"run: /a\nrun: /b\n", "host.yaml:2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		auto_type(host_config_release) struct host_config config;
		auto_type(buf_release) struct buf report;
		auto_free char *text = NULL;

		assert_false(read_text(&config, table[i].text, &report));
		text = strndup((const char *)buf_view(&report).data,
			       buf_len(&report));
		assert_non_null(strstr(text, table[i].says));
	}
}

static bool read_policies_of(const char *text, struct buf *report)
{
	auto_type(host_config_release) struct host_config config;
	struct policy_errors errors = {.out = report, .file = "host.yaml"};

	assert_true(read_text(&config, text, report));
	return host_config_read_policies(&config, bytes_str(text), &errors);
}

static void a_policy_that_is_not_there_is_told_where_it_is_named(void **state)
{
	static const char pool[] =
		"pool:\n  a: {size: 1, policy: /nowhere/a}\n";
	static const char named[] = "policies:\n  b: /nowhere/b\n";
	auto_type(buf_release) struct buf report, other, good;

	(void)state;
	assert_false(read_policies_of(pool, &report));
	assert_non_null(strstr(buf_str(&report), "host.yaml:2:24: "));
	assert_non_null(strstr(buf_str(&report), "/nowhere/a"));
	assert_false(read_policies_of(named, &other));
	assert_non_null(strstr(buf_str(&other), "host.yaml:2:6: "));
	assert_true(read_policies_of("pool: {a: {size: 1, policy: /dev/null}}\n"
				     "policies: {b: /dev/null}\n",
				     &good));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_can_be_set_is_read),
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(what_makes_no_sense_is_told_with_its_place),
		cmocka_unit_test(
			a_policy_that_is_not_there_is_told_where_it_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
