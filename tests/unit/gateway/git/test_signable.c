#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/git/signable.h"

#define OID	"4b825dc642cb6eb9a060e54bf8d69288fbee4904"
#define OID256	OID "000000000000000000000000"
#define WHEN	" 1700000000 +0100\n"
#define WHO	"A B <a@b.example>"
#define TREE	"tree " OID "\n"
#define PARENT	"parent " OID "\n"
#define AUTHOR	"author " WHO WHEN
#define COMMIT	"committer " WHO WHEN
#define MESSAGE "\nwhat it is about\n"
#define HEADERS TREE PARENT AUTHOR COMMIT
#define OBJECT	"object " OID "\ntype commit\n"
#define TAGGER	"tagger " WHO WHEN
#define TAG	OBJECT "tag v1\n" TAGGER

static const struct policy_sign sign = {
	.is_on = true,
	.name = BYTES_LITERAL("A B"),
	.email = BYTES_LITERAL("a@b.example"),
};

static const struct row {
	struct bytes object;
	const char *told; /* NULL: it is signed */
} rows[] = {
#define ROW(text, told) {BYTES_LITERAL(text), told}
	ROW(HEADERS MESSAGE, NULL),
	ROW(TREE AUTHOR COMMIT MESSAGE, NULL),
	ROW(TREE PARENT PARENT PARENT AUTHOR COMMIT "\n", NULL),
	ROW(HEADERS "encoding ISO-8859-1\n\n\xe4\n", NULL),
	ROW(HEADERS "encoding utf-8\n" MESSAGE, NULL),
	ROW(HEADERS "encoding windows-1252\n" MESSAGE, NULL),
	ROW(HEADERS "encoding EUC-JP\n" MESSAGE, NULL),
	ROW(HEADERS "mergetag object " OID "\n type commit\n tag x\n\n", NULL),
	ROW(HEADERS "mergetag object " OID "\n a\nmergetag b\n c\n\nm", NULL),
	ROW("tree " OID256 "\nparent " OID256 "\n" AUTHOR COMMIT MESSAGE, NULL),
	/* A message may hold anything. */
	ROW(HEADERS "\n" HEADERS "\n-----BEGIN SSH SIGNATURE-----\n", NULL),
	ROW(TAG MESSAGE, NULL),
	ROW(TAG "\n", NULL),

	/* who */
	ROW(TREE "author Eve <a@b.example>" WHEN COMMIT MESSAGE,
	    "its author is not A B <a@b.example>"),
	ROW(TREE "author A B <e@b.example>" WHEN COMMIT MESSAGE,
	    "its author is not"),
	ROW(TREE "author A B  <a@b.example>" WHEN COMMIT MESSAGE,
	    "its author is not"),
	ROW(TREE AUTHOR "committer Eve <a@b.example>" WHEN MESSAGE,
	    "its committer is not"),
	ROW(OBJECT "tag v1\ntagger Eve <e@b.example>" WHEN MESSAGE,
	    "its tagger is not"),
	/* signed before */
	ROW(HEADERS "gpgsig -----BEGIN SSH SIGNATURE-----\n x\n" MESSAGE,
	    "a signature already"),
	ROW(HEADERS "gpgsig-sha256 x\n" MESSAGE, "a signature already"),
	ROW(TAG "\nm\n-----BEGIN SSH SIGNATURE-----\nx\n",
	    "a signature already"),
	ROW(TAG "\n-----BEGIN PGP SIGNATURE-----\n", "a signature already"),
	ROW(TAG "\nm\n-----BEGIN SIGNED MESSAGE-----", "a signature already"),
	/* no commit and no tag */
	ROW("", "no commit and no tag"),
	ROW("\n", "no commit and no tag"),
	ROW("hello world\n", "\"hello\" stands where tree must"),
	ROW("certificate version 0.1\npusher x\n\n", "\"certificate\" stands"),
	ROW("commit 5\0" HEADERS MESSAGE, "a NUL"),
	ROW(HEADERS "\nm\0m\n", "a NUL"),
	ROW(HEADERS HEADERS MESSAGE, "\"tree\" stands where the message"),
	ROW(HEADERS TAG MESSAGE, "\"object\" stands where the message"),
	ROW(TAG HEADERS MESSAGE, "\"tree\" stands where the message"),
	ROW(HEADERS, "the message is missing"),
	ROW(TREE PARENT, "author is missing"),
	/* order, and each once */
	ROW(PARENT TREE AUTHOR COMMIT MESSAGE, "\"parent\" stands where tree"),
	ROW(TREE AUTHOR PARENT COMMIT MESSAGE, "\"parent\" stands"),
	ROW(TREE COMMIT AUTHOR MESSAGE, "\"committer\" stands"),
	ROW(TREE TREE AUTHOR COMMIT MESSAGE, "\"tree\" stands"),
	ROW(TREE AUTHOR AUTHOR COMMIT MESSAGE, "\"author\" stands"),
	ROW(TREE AUTHOR COMMIT COMMIT MESSAGE, "\"committer\" stands"),
	ROW(HEADERS "mergetag x\nencoding y\n" MESSAGE, "\"encoding\" stands"),
	ROW(HEADERS "encoding utf-8\nencoding utf-8\n" MESSAGE,
	    "\"encoding\" stands"),
	ROW(HEADERS "change-id x\n" MESSAGE, "\"change-id\" stands"),
	ROW(HEADERS " more\n" MESSAGE, "the message is missing"),
	ROW(HEADERS "encoding \x01\n" MESSAGE, "its encoding"),
	ROW(HEADERS "encoding UTF-16LE\n" MESSAGE, "its encoding"),
	ROW(HEADERS "encoding utf-7\n" MESSAGE, "its encoding"),
	ROW(HEADERS "encoding IBM037\n" MESSAGE, "its encoding"),
	ROW(HEADERS "mergetag x\n y", "has no end"),
	ROW(TREE "\x7f bad\n" MESSAGE, "author is missing"),
	ROW(OBJECT TAGGER MESSAGE, "\"tagger\" stands where tag must"),
	ROW("object " OID "\ntag v1\n" TAGGER MESSAGE, "where type must"),
	ROW("object " OID "\ntype ref\ntag v1\n" TAGGER MESSAGE, "its type"),
	ROW(OBJECT "tag \n" TAGGER MESSAGE, "no name"),
	ROW(OBJECT "tag v1\n" MESSAGE, "tagger is missing"),
	ROW(TAG "encoding x\n" MESSAGE, "\"encoding\" stands"),
	/* values */
	ROW("tree 4B825DC642CB6EB9A060E54BF8D69288FBEE4904\n" AUTHOR COMMIT
		    MESSAGE,
	    "no object id"),
	ROW("tree " OID " \n" AUTHOR COMMIT MESSAGE, "no object id"),
	ROW("tree " OID256 "\n" PARENT AUTHOR COMMIT MESSAGE, "no object id"),
	ROW(TREE "author " WHO " x +0000\n" COMMIT MESSAGE, "the time in"),
	ROW(TREE "author " WHO " 1 +00000\n" COMMIT MESSAGE, "the time in"),
	ROW(TREE "author " WHO " 1 0000\n" COMMIT MESSAGE, "the time in"),
	ROW(TREE "author " WHO " 12345678901234567890 +0000\n" COMMIT MESSAGE,
	    "the time in"),
	ROW(TREE "author " WHO "\n" COMMIT MESSAGE, "its author is not"),
	ROW(TREE "author " WHO " 1 +0000\r\n" COMMIT MESSAGE, "the time in"),
};

static void only_what_git_writes_is_signed_and_of_this_author(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct signable found;
		struct err err = {.text = ""};
		int result = signable_read(rows[i].object, &sign, &found, &err);

		if (result != (rows[i].told ? -1 : 0) ||
		    (rows[i].told && !strstr(err.text, rows[i].told))) {
			print_error("%.*s--\n%s\n", BYTES_ARGS(rows[i].object),
				    err.text);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

static void what_is_signed_is_known_for_the_record(void **state)
{
	struct signable found;
	struct err err;

	(void)state;
	assert_int_equal(
		signable_read(bytes_str(HEADERS MESSAGE), &sign, &found, &err),
		0);
	assert_true(bytes_is(found.oid, OID));
	assert_int_equal(found.tag.len, 0);
	assert_int_equal(
		signable_read(bytes_str(TAG MESSAGE), &sign, &found, &err), 0);
	assert_true(bytes_is(found.oid, OID));
	assert_true(bytes_is(found.tag, "v1"));
}

static void an_object_has_a_bound(void **state)
{
	static const char headers[] = HEADERS "\n";
	char *object = calloc(1, SIGNABLE_BYTES_MAX + 1);
	struct signable found;
	struct err err;

	(void)state;
	assert_non_null(object);
	memset(object, 'm', SIGNABLE_BYTES_MAX + 1);
	memcpy(object, headers, sizeof(headers) - 1);
	assert_int_equal(signable_read(bytes_from(object, SIGNABLE_BYTES_MAX),
				       &sign, &found, &err),
			 0);
	assert_int_equal(
		signable_read(bytes_from(object, SIGNABLE_BYTES_MAX + 1), &sign,
			      &found, &err),
		-1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	free(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			only_what_git_writes_is_signed_and_of_this_author),
		cmocka_unit_test(what_is_signed_is_known_for_the_record),
		cmocka_unit_test(an_object_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
