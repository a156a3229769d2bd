/*
 * A check, the repository it is about, and upstream's answers, made by real
 * git.
 */
#ifndef TESTS_UNIT_GATEWAY_PACKCHECK_CHECK_BENCH_H
#define TESTS_UNIT_GATEWAY_PACKCHECK_CHECK_BENCH_H

#include "tests/unit/gateway/git/run_git.h"

#include "common/cleanup.h"
#include "gateway/packcheck/check.h"

#define OBJECTS_MAX 10000
#define BYTES_MAX   (32u << 20)
#define ROUNDS_MAX  24
#define OID_NOWHERE "1234567890123456789012345678901234567890"

/* A repository with history, a scratch directory, and a check. */
struct bench {
	char *repo;
	char *scratch;
	struct pack_check check;
	struct msg_pack_update updates[2];
	struct msg_pack_check ask;
	struct msg_pack_verdict verdict;
	struct buf pushed;
	char oids[4][RUN_OID_LEN + 1];
	const char *upstream; /* its one branch; NULL: it has none */
};

static inline int bench_setup(void **state)
{
	char scratch[] = "/tmp/sallyport-scratch-XXXXXX";
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->repo = run_repository();
	assert_non_null(mkdtemp(scratch));
	bench->scratch = strdup(scratch);
	assert_int_equal(chdir(scratch), 0);
	buf_init(&bench->pushed, RUN_OUTPUT_MAX);
	bench->ask = (struct msg_pack_check){.updates = bench->updates,
					     .updates_count = 1,
					     .objects_max = OBJECTS_MAX,
					     .bytes_max = BYTES_MAX};
	bench->updates[0].must_forward = bench->updates[1].must_forward = true;
	*state = bench;
	return 0;
}

static inline int bench_teardown(void **state)
{
	struct bench *bench = *state;

	pack_check_release(&bench->check);
	buf_release(&bench->pushed);
	assert_int_equal(chdir("/"), 0);
	/* Nothing stays behind: the directory is empty. */
	assert_int_equal(rmdir(bench->scratch), 0);
	run_remove(bench->repo);
	free(bench->scratch);
	free(bench);
	return 0;
}

/* Pack what revs ("new\n^old\n") name. */
static inline void pack_of(const struct bench *bench, const char *revs,
			   const char *thin, struct buf *out)
{
	const char *const argv[] = {"git", "pack-objects", "--revs", "--stdout",
				    "-q",  thin,	   NULL};

	buf_clear(out);
	assert_int_equal(run_git(bench->repo, argv, bytes_str(revs), out), 0);
}

/* A pack of these objects alone, as upstream sends for wants. */
static inline void pack_of_wants(const struct bench *bench,
				 const struct msg_pack_verdict *verdict,
				 const char *not_these, struct buf *out)
{
	static const char *const objects[] = {"git", "pack-objects", "--stdout",
					      "-q", NULL};
	auto_type(buf_release) struct buf names;

	buf_init(&names, 65536);
	for (size_t i = 0; i < verdict->wants_count; i++)
		assert_int_equal(
			buf_add_format(&names, "%.*s\n",
				       BYTES_ARGS(verdict->wants[i].oid)),
			0);
	if (verdict->wants_kind == WANTS_KNOWN && bench->upstream)
		assert_int_equal(
			buf_add_format(&names, "^%s\n", bench->upstream), 0);
	if (verdict->wants_kind == WANTS_KNOWN ||
	    verdict->wants_kind == WANTS_STATES ||
	    verdict->wants_kind == WANTS_TREES) {
		pack_of(bench, buf_str(&names), NULL, out);
		return;
	}
	if (verdict->wants_kind == WANTS_COMMITS) {
		assert_int_equal(buf_add_format(&names, "^%s\n", not_these), 0);
		pack_of(bench, buf_str(&names), NULL, out);
		return;
	}
	buf_clear(out);
	assert_int_equal(run_git(bench->repo, objects, buf_view(&names), out),
			 0);
}

static inline void begin(struct bench *bench, const char *old_oid,
			 const char *new_oid)
{
	bench->updates[0].old_oid = bytes_str(old_oid);
	bench->updates[0].new_oid = bytes_str(new_oid);
	pack_check_begin(&bench->check, &bench->ask, buf_view(&bench->pushed),
			 &bench->verdict);
}

static inline void more(struct bench *bench, const char *old_oid)
{
	auto_type(buf_release) struct buf pack;

	buf_init(&pack, RUN_OUTPUT_MAX);
	pack_of_wants(bench, &bench->verdict, old_oid, &pack);
	pack_check_more(&bench->check, buf_view(&pack), &bench->verdict);
}

/* Commits 0..count-1 on the current branch; their ids in bench->oids. */
static inline void commits(struct bench *bench, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char message[64];

		(void)snprintf(message, sizeof(message), "commit %zu", i);
		run_commit(bench->repo, message);
		run_oid(bench->repo, "HEAD", bench->oids[i]);
	}
}

/* Pack to without from. */
static inline void push_range(struct bench *bench, const char *from,
			      const char *to, const char *thin)
{
	char revs[128];

	(void)snprintf(revs, sizeof(revs), "%s\n^%s\n", to, from);
	pack_of(bench, revs, thin, &bench->pushed);
}

#define ASSERT_RESULT(bench, wanted)                                           \
	do {                                                                   \
		if ((bench)->verdict.result != (wanted))                       \
			fail_msg("result %u: %.*s", (bench)->verdict.result,   \
				 BYTES_ARGS((bench)->verdict.detail));         \
	} while (0)

#define BENCH_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)

#endif
