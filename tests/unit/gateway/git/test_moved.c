/* Where a redirect says that a repository is now. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/git/moved.h"

static const struct target asked = {
	.host = "forge.test",
	.kind = HOST_NAME,
	.port = 8443,
	.scheme = SCHEME_HTTPS,
};

static void moved(const char *location, const char *url)
{
	auto_type(arena_release) struct arena arena;
	struct policy_repo repo;
	int result;

	arena_init(&arena, 64 * 1024);
	result = git_moved_to(bytes_str(location), &asked, &arena, &repo);
	assert_int_equal(result, url ? 0 : -1);
	if (url && !bytes_is(repo.url, url))
		fail_msg("%s: %.*s", location, BYTES_ARGS(repo.url));
}

static void a_redirect_names_the_repository_as_a_policy_does(void **state)
{
	(void)state;
	moved("https://github.com/acme/new.git/info/refs?service=x",
	      "https://github.com/acme/new");
	moved("https://GitHub.com:443/acme/new/git-upload-pack",
	      "https://github.com/acme/new");
	moved("https://forge.test:8443/a/b/c.git/git-receive-pack",
	      "https://forge.test:8443/a/b/c");
	moved("https://forge.test/a/b.git/info/lfs/objects/batch",
	      "https://forge.test/a/b");
	moved("/acme/new.git/info/refs?service=git-upload-pack",
	      "https://forge.test:8443/acme/new");
	moved("https://[2001:db8::1]:444/a/b/info/refs",
	      "https://[2001:db8::1]:444/a/b");
}

static void what_is_no_repository_is_not_named(void **state)
{
	static const char *const places[] = {
		"",
		"/",
		"/info/refs",
		"//other.test/a/b/info/refs",
		"http://forge.test/a/b/info/refs",
		"https://forge.test/users/sign_in",
		"https://user@forge.test/a/b/info/refs",
		"https://forge.test/a/b/info/refs#fragment",
		"https://forge.test/a/*/info/refs",
		"https://github.com/acme/info/refs",
		"https:///a/b/info/refs",
		"https://forge.test:0/a/b/info/refs",
		"info/refs",
		"javascript:/a/info/refs",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		moved(places[i], NULL);
}

static void only_redirects_say_that_it_moved(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned status = 100; status < 600; status++)
		count += git_is_redirect(status);
	assert_int_equal(count, 5);
	assert_true(git_is_redirect(308));
	assert_false(git_is_redirect(304));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_redirect_names_the_repository_as_a_policy_does),
		cmocka_unit_test(what_is_no_repository_is_not_named),
		cmocka_unit_test(only_redirects_say_that_it_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
