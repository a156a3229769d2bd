#include "tests/unit/gateway/git/run_git.h"

#include <fcntl.h>

#include "common/cleanup.h"
#include "common/confine.h"
#include "gateway/packcheck/check.h"

#define MEMORY_MAX ((size_t)3 << 30)
#define BASES_MAX  32

/* What the child says by its exit status. */
enum outcome { SAID_RESULT, NOT_CONFINED = 100, CANNOT_START };

/* A push and, for each round, what upstream would send. */
struct material {
	struct buf pushed;
	struct buf extra[BASES_MAX];
	size_t extra_count;
	struct msg_pack_update update;
	char old_oid[RUN_OID_LEN + 1], new_oid[RUN_OID_LEN + 1];
};

/* In a child: confined as the process is, answer; the result is the exit
 * status. */
static int check_confined(const struct material *material, int scratch)
{
	static struct pack_check check;
	const struct confine_path path = {.fd = scratch, .writable = true};
	const struct confine_spec spec = {
		.name = "packcheck",
		.syscalls = pack_store_syscalls,
		.paths = &path,
		.path_count = 1,
		.files_max = 64,
		.memory_max = MEMORY_MAX,
	};
	const struct msg_pack_check ask = {.updates = &material->update,
					   .updates_count = 1,
					   .objects_max = 1000,
					   .deny_secrets = true,
					   .file_bytes_max = 1 << 20,
					   .bytes_max = 1 << 20};
	struct msg_pack_verdict verdict;
	struct err err;

	if (fchdir(scratch) < 0 || pack_library_init(&err) < 0)
		return CANNOT_START;
	if (confine(&spec, &err) < 0)
		return NOT_CONFINED;
	pack_check_begin(&check, &ask, buf_view(&material->pushed), &verdict);
	for (size_t i = 0;
	     i < material->extra_count && verdict.result == PACK_UNPROVEN; i++)
		pack_check_more(&check, buf_view(&material->extra[i]),
				&verdict);
	return SAID_RESULT + verdict.result;
}

static int run_confined(const struct material *material)
{
	char scratch[] = "/tmp/sallyport-scratch-XXXXXX";
	auto_fd int fd = -1;
	int status = -1;
	pid_t pid;

	assert_non_null(mkdtemp(scratch));
	fd = open(scratch, O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(check_confined(material, fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* Killed by the filter is a failure that must be seen. */
	assert_true(WIFEXITED(status));
	assert_int_equal(rmdir(scratch), 0);
	return WEXITSTATUS(status);
}

static void pack_revs(const char *repo, const char *thin, const char *new_oid,
		      const char *old_oid, struct buf *out)
{
	const char *const argv[] = {"git", "pack-objects", "--revs", "--stdout",
				    "-q",  thin,	   NULL};
	char revs[128];

	(void)snprintf(revs, sizeof(revs), "%s\n%s%s\n", new_oid,
		       old_oid ? "^" : "", old_oid ? old_oid : "");
	assert_int_equal(run_git(repo, argv, bytes_str(revs), out), 0);
}

/* Two commits of a long file, the second as a pack. */
static void material_init(struct material *material, char *repo,
			  const char *thin)
{
	auto_type(buf_release) struct buf text;

	*material = (struct material){0};
	buf_init(&material->pushed, RUN_OUTPUT_MAX);
	buf_init(&text, 1 << 20);
	for (size_t i = 0; i < 2000; i++)
		assert_int_equal(buf_add_format(&text, "line %zu\n", i * i), 0);
	run_commit(repo, buf_str(&text));
	run_oid(repo, "HEAD", material->old_oid);
	assert_int_equal(buf_add_str(&text, "the end\n"), 0);
	run_commit(repo, buf_str(&text));
	run_oid(repo, "HEAD", material->new_oid);
	pack_revs(repo, thin, material->new_oid, material->old_oid,
		  &material->pushed);
	material->update.old_oid = bytes_str(material->old_oid);
	material->update.must_forward = true;
	material->update.new_oid = bytes_str(material->new_oid);
}

static void material_release(struct material *material)
{
	buf_release(&material->pushed);
	for (size_t i = 0; i < material->extra_count; i++)
		buf_release(&material->extra[i]);
}

static void packcheck_proves_while_confined(void **state)
{
	char *repo = run_repository();
	struct material material;

	(void)state;
	material_init(&material, repo, NULL);
	assert_int_equal(run_confined(&material), PACK_PASSED);
	material_release(&material);
	run_remove(repo);
}

static void packcheck_refuses_damage_while_confined(void **state)
{
	char *repo = run_repository();
	struct material material;

	(void)state;
	material_init(&material, repo, NULL);
	material.pushed.data[material.pushed.end - 1] ^= 1;
	assert_int_equal(run_confined(&material), PACK_INVALID);
	material_release(&material);
	run_remove(repo);
}

static void packcheck_mends_a_thin_pack_while_confined(void **state)
{
	char *repo = run_repository();
	struct material material;
	struct buf *extra;

	(void)state;
	material_init(&material, repo, "--thin");
	/* All of the old commit: every base is in it. */
	material.extra_count = 1;
	extra = &material.extra[0];
	buf_init(extra, RUN_OUTPUT_MAX);
	pack_revs(repo, NULL, material.old_oid, NULL, extra);
	assert_int_equal(run_confined(&material), PACK_PASSED);
	material_release(&material);
	run_remove(repo);
}

static void packcheck_reads_modules_while_confined(void **state)
{
	static const struct {
		const char *url;
		enum pack_result result;
	} rows[] = {{"https://a.example/b", PACK_PASSED},
		    {"ext::sh -c id", PACK_REFUSED}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *repo = run_repository();
		struct material material;
		char modules[128];

		(void)snprintf(modules, sizeof(modules),
			       "[submodule \"x\"]\n\turl = %s\n", rows[i].url);
		run_write(repo, ".gitmodules", modules);
		RUN_GIT(repo, "add", ".gitmodules");
		material_init(&material, repo, NULL);
		buf_clear(&material.pushed);
		pack_revs(repo, NULL, material.new_oid, NULL, &material.pushed);
		assert_int_equal(run_confined(&material), rows[i].result);
		material_release(&material);
		run_remove(repo);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packcheck_proves_while_confined),
		cmocka_unit_test(packcheck_reads_modules_while_confined),
		cmocka_unit_test(packcheck_refuses_damage_while_confined),
		cmocka_unit_test(packcheck_mends_a_thin_pack_while_confined),
	};

	return cmocka_run_group_tests_name("confined", tests, NULL, NULL);
}
