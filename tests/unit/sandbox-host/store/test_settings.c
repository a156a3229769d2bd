#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/store/settings.h"
#include "tests/unit/sandbox-host/scratch.h"

#define ARENA_MAX (2 << 20)
#define MANIFEST  "sha256:" MANIFEST_HEX
#define MANIFEST_HEX                                                           \
	"1111111111111111111111111111111111111111111111111111111111111111"
#define CONFIG_HEX                                                             \
	"2222222222222222222222222222222222222222222222222222222222222222"

static int enter(void **state)
{
	(void)state;
	scratch_make();
	scratch_dir("oci");
	scratch_dir("oci/blobs");
	scratch_dir("oci/blobs/sha256");
	return chdir(scratch_path(""));
}

static int leave(void **state)
{
	(void)state;
	scratch_remove();
	return chdir("/");
}

static int take(const char *text, struct arena *arena, json_t **config,
		struct image_settings *settings)
{
	struct err err = {0};
	int rc;

	*config = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(*config);
	arena_init(arena, ARENA_MAX);
	rc = settings_take(*config, arena, settings, &err);
	assert_true(rc == 0 || err.code == ERR_INVALID);
	return rc;
}

static void drop(struct arena *arena, json_t *config)
{
	arena_release(arena);
	json_decref(config);
}

static void all_that_an_image_says_is_taken(void **state)
{
	struct image_settings settings;
	struct arena arena;
	json_t *config;

	(void)state;
	assert_int_equal(
		take("{\"config\": {\"Entrypoint\": [\"/e\", \"-x\"],"
		     "\"Cmd\": [\"a\\nb\"], \"Env\": [\"A=b=c\", \"B=\"],"
		     "\"WorkingDir\": \"/srv/app\", \"User\": \"1:2\"}}",
		     &arena, &config, &settings),
		0);
	assert_int_equal(settings.entrypoint_count, 3);
	assert_true(bytes_is(settings.entrypoint[1].text, "-x"));
	assert_true(bytes_is(settings.entrypoint[2].text, "a\nb"));
	assert_int_equal(settings.env_count, 2);
	assert_true(bytes_is(settings.env[0].text, "A=b=c"));
	assert_true(bytes_is(settings.directory, "/srv/app"));
	assert_true(bytes_is(settings.user, "1:2"));
	drop(&arena, config);
}

static void an_image_need_not_say_anything(void **state)
{
	static const char *const table[] = {
		"{}",
		"{\"config\": null}",
		"{\"config\": {}}",
		"{\"config\": {\"Entrypoint\": null, \"Cmd\": null}}",
		"{\"config\": {\"Env\": null, \"User\": \"\"}}",
		"{\"config\": {\"WorkingDir\": \"\", \"User\": null}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct image_settings settings;
		struct arena arena;
		json_t *config;

		assert_int_equal(take(table[i], &arena, &config, &settings), 0);
		assert_int_equal(settings.entrypoint_count, 0);
		assert_int_equal(settings.env_count, 0);
		assert_int_equal(settings.directory.len, 0);
		assert_int_equal(settings.user.len, 0);
		drop(&arena, config);
	}
}

static void what_no_image_can_say_is_refused(void **state)
{
	static const char *const table[] = {
		"[]",
		"{\"config\": []}",
		"{\"config\": {\"Entrypoint\": \"sh\"}}",
		"{\"config\": {\"Cmd\": [1]}}",
		"{\"config\": {\"Cmd\": [\"\"]}}",
		"{\"config\": {\"Cmd\": [\"a\\u001b[2J\"]}}",
		"{\"config\": {\"Env\": {\"A\": \"b\"}}}",
		"{\"config\": {\"Env\": [\"A\"]}}",
		"{\"config\": {\"Env\": [\"=b\"]}}",
		"{\"config\": {\"Env\": [\"A B=c\"]}}",
		"{\"config\": {\"Env\": [\"A\\n=c\"]}}",
		"{\"config\": {\"Env\": [\"A=\\u007f\"]}}",
		"{\"config\": {\"WorkingDir\": \"srv\"}}",
		"{\"config\": {\"WorkingDir\": \"/a\\nb\"}}",
		"{\"config\": {\"WorkingDir\": 7}}",
		"{\"config\": {\"User\": 0}}",
		"{\"config\": {\"User\": \"a b\"}}",
		"{\"config\": {\"User\": \"a\\tb\"}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct image_settings settings;
		struct arena arena;
		json_t *config;

		if (take(table[i], &arena, &config, &settings) == 0)
			fail_msg("%s", table[i]);
		drop(&arena, config);
	}
}

static void lists_are_bounded(void **state)
{
	static const struct {
		size_t entrypoint, cmd, env;
		int result;
	} table[] = {
		{IMAGE_ENTRYPOINT_MAX - 1, 1, IMAGE_ENV_MAX, 0},
		{IMAGE_ENTRYPOINT_MAX, 1, 0, -1},
		{0, IMAGE_ENTRYPOINT_MAX + 1, 0, -1},
		{0, 0, IMAGE_ENV_MAX + 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		json_t *lists[] = {json_array(), json_array(), json_array()};
		const size_t sizes[] = {table[i].entrypoint, table[i].cmd,
					table[i].env};
		struct image_settings settings;
		struct arena arena;
		struct err err;
		json_t *config;

		for (size_t list = 0; list < ARRAY_SIZE(lists); list++)
			for (size_t at = 0; at < sizes[list]; at++)
				(void)json_array_append_new(lists[list],
							    json_string("A=b"));
		config =
			json_pack("{s:{s:o, s:o, s:o}}", "config", "Entrypoint",
				  lists[0], "Cmd", lists[1], "Env", lists[2]);
		assert_non_null(config);
		arena_init(&arena, ARENA_MAX);
		assert_int_equal(settings_take(config, &arena, &settings, &err),
				 table[i].result);
		drop(&arena, config);
	}
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The configuration of a layout, kept and read again. */
static int keep(const char *manifest, const char *config,
		struct image_settings *settings, struct arena *arena)
{
	struct err err = {0};
	int rc;

	put("oci/blobs/sha256/" MANIFEST_HEX, manifest);
	put("oci/blobs/sha256/" CONFIG_HEX, config);
	(void)unlink(IMAGE_SETTINGS_NAME);
	arena_init(arena, ARENA_MAX);
	rc = settings_keep("oci", MANIFEST, &err);
	if (rc == 0)
		rc = image_settings_read(IMAGE_SETTINGS_NAME, arena, settings,
					 &err);
	return rc;
}

static void settings_are_found_by_the_manifest_and_kept(void **state)
{
	struct image_settings settings;
	struct arena arena;

	(void)state;
	assert_int_equal(
		keep("{\"config\": {\"digest\": \"sha256:" CONFIG_HEX "\"}}",
		     "{\"config\": {\"Cmd\": [\"x\"], \"User\": \"u\"}}",
		     &settings, &arena),
		0);
	assert_true(bytes_is(settings.entrypoint[0].text, "x"));
	assert_true(bytes_is(settings.user, "u"));
	arena_release(&arena);
}

static void a_manifest_that_leads_elsewhere_is_refused(void **state)
{
	static const char *const table[][2] = {
		{"{}", "{}"},
		{"no JSON", "{}"},
		{"{\"config\": {\"digest\": \"sha256:../../../etc/x\"}}", "{}"},
		{"{\"config\": {\"digest\": \"" CONFIG_HEX "\"}}", "{}"},
		{"{\"config\": {\"digest\": \"sha256:" CONFIG_HEX "\"}}",
		 "no JSON"},
		{"{\"config\": {\"digest\": \"sha256:" CONFIG_HEX "\"}}",
		 "{\"config\": {\"User\": \"a b\"}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct image_settings settings;
		struct arena arena;

		assert_int_equal(
			keep(table[i][0], table[i][1], &settings, &arena), -1);
		arena_release(&arena);
		assert_int_not_equal(access(IMAGE_SETTINGS_NAME, F_OK), 0);
	}
}

static void a_configuration_behind_a_link_is_refused(void **state)
{
	struct err err;

	(void)state;
	put("oci/blobs/sha256/" MANIFEST_HEX,
	    "{\"config\": {\"digest\": \"sha256:" CONFIG_HEX "\"}}");
	put("elsewhere", "{}");
	(void)unlink("oci/blobs/sha256/" CONFIG_HEX);
	(void)unlink(IMAGE_SETTINGS_NAME);
	assert_int_equal(
		symlink("../../../elsewhere", "oci/blobs/sha256/" CONFIG_HEX),
		0);
	assert_int_equal(settings_keep("oci", MANIFEST, &err), -1);
	assert_int_equal(unlink("oci/blobs/sha256/" CONFIG_HEX), 0);
}

/* ---- what stands beside the tree ---- */

static void no_file_is_no_settings(void **state)
{
	struct image_settings settings = {.env_count = 1};
	struct arena arena;
	struct err err;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	assert_int_equal(
		image_settings_read("none/such", &arena, &settings, &err), 0);
	assert_int_equal(settings.env_count, 0);
	arena_release(&arena);
}

static void what_is_no_file_of_ours_is_refused(void **state)
{
	struct image_settings settings;
	struct arena arena;
	struct err err;

	(void)state;
	arena_init(&arena, ARENA_MAX);
	put("junk", "junk");
	assert_int_equal(symlink("junk", "link"), 0);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(image_settings_read("junk", &arena, &settings, &err),
			 -1);
	assert_int_equal(image_settings_read("link", &arena, &settings, &err),
			 -1);
	assert_int_equal(image_settings_read("pipe", &arena, &settings, &err),
			 -1);
	assert_int_equal(image_settings_read("oci", &arena, &settings, &err),
			 -1);
	arena_release(&arena);
}

static void settings_that_were_changed_are_checked_again(void **state)
{
	const struct image_settings bad = {.user = bytes_str("a b")};
	struct image_settings settings;
	auto_type(buf_release) struct buf text;
	struct arena arena;
	struct err err;
	FILE *file = fopen("changed", "we");

	(void)state;
	arena_init(&arena, ARENA_MAX);
	buf_init(&text, IMAGE_SETTINGS_MAX);
	assert_non_null(file);
	assert_int_equal(wire_encode(&image_settings_schema, &bad, &text, &err),
			 0);
	assert_int_equal(fwrite(buf_view(&text).data, 1, buf_len(&text), file),
			 buf_len(&text));
	assert_int_equal(fclose(file), 0);
	assert_int_equal(
		image_settings_read("changed", &arena, &settings, &err), -1);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_an_image_says_is_taken),
		cmocka_unit_test(an_image_need_not_say_anything),
		cmocka_unit_test(what_no_image_can_say_is_refused),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(settings_are_found_by_the_manifest_and_kept),
		cmocka_unit_test(a_manifest_that_leads_elsewhere_is_refused),
		cmocka_unit_test(a_configuration_behind_a_link_is_refused),
		cmocka_unit_test(no_file_is_no_settings),
		cmocka_unit_test(what_is_no_file_of_ours_is_refused),
		cmocka_unit_test(settings_that_were_changed_are_checked_again),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
