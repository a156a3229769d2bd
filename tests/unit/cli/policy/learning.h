/*
 * What the tests of learning share: sessions, their rows, what came out.
 */
#ifndef TESTS_UNIT_CLI_POLICY_LEARNING_H
#define TESTS_UNIT_CLI_POLICY_LEARNING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/policy/learned.h"
#include "common/cleanup.h"

#define TREES_MAX (1024 * 1024)
#define ROW_MAX	  4096

/* A policy that a session ran with. */
struct ran {
	struct policy *policy;
	struct arena trees;
	struct learned_source source;
};

static inline void ran_release(struct ran *ran)
{
	policy_free(ran->policy);
	arena_release(&ran->trees);
}

static inline void ran_with(struct ran *ran, const char *text)
{
	struct policy_errors errors = {.file = "ran.yaml"};
	const struct text_source source = {bytes_str(text), "ran.yaml",
					   &errors};

	arena_init(&ran->trees, TREES_MAX);
	ran->policy = policy_compile(bytes_str(text), NULL, &errors);
	assert_non_null(ran->policy);
	ran->source.policy = ran->policy;
	ran->source.root = text_parse(&source, &ran->trees);
	assert_non_null(ran->source.root);
}

static inline struct learned *learned_open(const struct ran *ran,
					   bool wants_denied)
{
	struct learned *learned = calloc(1, sizeof(*learned));

	assert_non_null(learned);
	learned_init(learned, ran ? &ran->source : NULL, wants_denied);
	return learned;
}

static inline void take(struct learned *learned, const char *text)
{
	json_t *row = json_loads(text, 0, NULL);
	struct err err;

	assert_non_null(row);
	assert_int_equal(learned_take(learned, row, &err), 0);
	json_decref(row);
}

/* The session's policy, without the comment on top; ends learned. */
static inline void close_into(struct learned *learned, struct buf *out)
{
	static const char top[] = "version: 1\nname: learned\n";
	struct err err;
	ptrdiff_t at;

	buf_init(out, 2 * POLICY_TEXT_MAX);
	if (learned_write(learned, bytes_str("t"), out, &err) < 0) {
		print_error("%s\n", err.text);
		fail();
	}
	at = bytes_find_bytes(buf_view(out), bytes_str(top), 0);
	assert_true(at > 0);
	buf_consume(out, (size_t)at + strlen(top));
	learned_release(learned);
	free(learned);
}

static inline void allow(struct learned *learned, const char *method,
			 const char *host, const char *path)
{
	json_t *row =
		json_pack("{s:s, s:b, s:s, s:s, s:i, s:s, s:s}", "activity",
			  "request", "allowed", 1, "rule", "wide", "host", host,
			  "port", 443, "method", method, "path", path);
	struct err err;

	assert_non_null(row);
	assert_int_equal(learned_take(learned, row, &err), 0);
	json_decref(row);
}

static inline void refuse(struct learned *learned, const char *why,
			  const char *path)
{
	char row[ROW_MAX];

	(void)snprintf(row, sizeof(row),
		       "{\"activity\":\"request\",\"allowed\":false,"
		       "\"constraint\":\"%s\",\"rule\":\"default\","
		       "\"host\":\"a.example\",\"port\":443,\"method\":"
		       "\"GET\",\"path\":\"%s\"}",
		       why, path);
	take(learned, row);
}

static inline void assert_has(const struct buf *out, const char *text)
{
	if (bytes_find_bytes(buf_view(out), bytes_str(text), 0) >= 0)
		return;
	print_error("no \"%s\" in:\n%.*s", text, BYTES_ARGS(buf_view(out)));
	fail();
}

static inline void assert_has_not(const struct buf *out, const char *text)
{
	if (bytes_find_bytes(buf_view(out), bytes_str(text), 0) < 0)
		return;
	print_error("\"%s\" in:\n%.*s", text, BYTES_ARGS(buf_view(out)));
	fail();
}

#endif
