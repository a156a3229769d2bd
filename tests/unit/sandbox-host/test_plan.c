#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sandbox-host/plan.h"
#include "tests/unit/sandbox-host/scratch.h"

#define TEXT_MAX 65536

static const char *const argv[] = {"/bin/true", NULL};

static struct sandbox_spec spec_of(void)
{
	return (struct sandbox_spec){.argv = argv, .workspace = scratch};
}

/* The printed plan of spec. */
static const char *printed(const struct sandbox_spec *spec)
{
	static char text[TEXT_MAX];
	struct plan plan;
	struct err err = {0};
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	if (sandbox_plan(spec, &plan, &err) < 0)
		fail_msg("%s", err.text);
	sandbox_plan_print(&plan, out);
	assert_int_equal(fclose(out), 0);
	plan_release(&plan);
	return text;
}

/* Does a line of text start with verb, a space and the path of name? */
static bool has_step(const char *text, const char *verb, const char *name)
{
	char line[PATH_MAX];
	int len = snprintf(line, sizeof(line), "%s %s", verb,
			   name[0] == '/' ? name : scratch_path(name));

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, line, (size_t)len) &&
		    (at[len] == '\n' || at[len] == ' '))
			return true;
	}
	return false;
}

static void refused(const struct sandbox_spec *spec, const char *words)
{
	struct plan plan;
	struct err err = {0};

	assert_int_equal(sandbox_plan(spec, &plan, &err), -1);
	if (!strstr(err.text, words))
		fail_msg("%s", err.text);
}

static int setup(void **state)
{
	(void)state;
	scratch_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_remove();
	return 0;
}

static void plan_never_brings_in_the_whole_root(void **state)
{
	struct sandbox_spec spec = spec_of();
	const char *text = printed(&spec);

	(void)state;
	assert_false(has_step(text, "bind", "/"));
	assert_false(has_step(text, "bind", "/run"));
	assert_false(has_step(text, "bind", "/tmp"));
	assert_false(has_step(text, "bind", "/home"));
	assert_false(has_step(text, "bind", "/root"));
	assert_false(has_step(text, "bind", "/proc"));
	assert_false(has_step(text, "bind", "/sys"));
	assert_false(has_step(text, "bind", "/dev"));
	assert_true(has_step(text, "bind", "/usr"));
	assert_true(has_step(text, "bind", "/etc"));
	assert_true(has_step(text, "bind", "/var"));
	assert_true(has_step(text, "tmpfs", "/tmp"));
}

static void plan_with_a_read_list_has_the_system_and_the_list(void **state)
{
	struct sandbox_spec spec = spec_of();
	const char *const read[] = {"/var/lib"};
	const char *text;

	(void)state;
	spec.has_read = true;
	spec.read = (struct sandbox_paths){read, 1};
	text = printed(&spec);
	assert_true(has_step(text, "bind", "/usr"));
	assert_true(has_step(text, "bind", "/var/lib"));
	assert_false(has_step(text, "bind", "/var"));
	assert_false(has_step(text, "bind", "/srv"));
}

/* How many binds of path spec has that must be there when they are made; of
 * the others each is of a name in /. */
static size_t needed(const struct sandbox_spec *spec, const char *path)
{
	size_t count = 0;
	struct plan plan;
	struct err err;

	assert_int_equal(sandbox_plan(spec, &plan, &err), 0);
	for (size_t i = 0; i < plan.step_count; i++) {
		const struct plan_step *step = &plan.steps[i];

		if (step->flags & PLAN_TOP)
			assert_true(step->kind == PLAN_BIND &&
				    !strchr(step->target + 1, '/'));
		else if (step->kind == PLAN_BIND && !strcmp(step->source, path))
			count++;
	}
	plan_release(&plan);
	return count;
}

static void plan_needs_what_was_named_and_not_the_hosts_root(void **state)
{
	struct sandbox_spec spec = spec_of();
	const char *const read[] = {"/usr"};

	(void)state;
	assert_true(needed(&spec, scratch) > 0);
	assert_int_equal(needed(&spec, "/usr"), 0);
	assert_int_equal(needed(&spec, "/etc"), 0);
	spec.has_read = true;
	assert_int_equal(needed(&spec, "/usr"), 0);
	spec.read = (struct sandbox_paths){read, 1};
	assert_int_equal(needed(&spec, "/usr"), 1);
}

static void plan_hides_the_password_hashes(void **state)
{
	struct sandbox_spec spec = spec_of();

	(void)state;
	assert_true(has_step(printed(&spec), "hide", "/etc/shadow"));
}

static void plan_puts_the_order_of_construction(void **state)
{
	static const char *const order[] = {
		"namespaces",	"address",  "listen",  "firewall", "map",
		"root",		"bind",	    "proc",    "detach",   "seal /\n",
		"capabilities", "landlock", "seccomp", "exec",
	};
	struct sandbox_spec spec = spec_of();
	const char *at = printed(&spec);

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("%s is not in its place", order[i]);
	}
}

static void plan_mounts_the_workspace_as_it_was_asked_to(void **state)
{
	struct sandbox_spec spec = spec_of();
	char line[256];

	(void)state;
	snprintf(line, sizeof(line), "bind %s from %s writable\n", scratch,
		 scratch);
	assert_non_null(strstr(printed(&spec), line));
	spec.workspace_mode = SANDBOX_READ;
	assert_null(strstr(printed(&spec), line));
	assert_true(has_step(printed(&spec), "bind", scratch));
}

static void plan_expands_hides_and_follows_no_link_out(void **state)
{
	const char *const hide[] = {"**/.env", "keys/*.pem"};
	struct sandbox_spec spec = spec_of();
	const char *text;

	(void)state;
	scratch_file(".env");
	scratch_dir("a");
	scratch_dir("a/b");
	scratch_file("a/b/.env");
	scratch_file("a/b/.envrc2");
	scratch_dir("keys");
	scratch_file("keys/x.pem");
	scratch_file("keys/x.pub");
	scratch_link("out", "/etc");
	spec.hide = (struct sandbox_paths){hide, 2};
	text = printed(&spec);
	assert_true(has_step(text, "hide", ".env"));
	assert_true(has_step(text, "hide", "a/b/.env"));
	assert_true(has_step(text, "hide", "keys/x.pem"));
	assert_false(has_step(text, "hide", "a/b/.envrc2"));
	assert_false(has_step(text, "hide", "keys/x.pub"));
}

static void plan_refuses_to_hide_the_workspace(void **state)
{
	const char *hide[] = {scratch};
	struct sandbox_spec spec = spec_of();

	(void)state;
	spec.hide = (struct sandbox_paths){hide, 1};
	refused(&spec, "workspace would be hidden");
}

static void plan_protects_what_exists_and_guards_the_rest(void **state)
{
	struct sandbox_spec spec = spec_of();
	const char *text;

	(void)state;
	scratch_dir(".git");
	scratch_dir(".git/hooks");
	scratch_file(".git/config");
	scratch_dir(".vscode");
	scratch_dir("sub");
	scratch_dir("sub/.git");
	scratch_file("sub/.git/config");
	text = printed(&spec);
	assert_true(has_step(text, "pin", ".git"));
	assert_true(has_step(text, "protect", ".git/hooks"));
	assert_true(has_step(text, "protect", ".git/config"));
	assert_true(has_step(text, "protect", ".vscode"));
	assert_true(has_step(text, "guard", ".vscode"));
	assert_true(has_step(text, "guard", ".bashrc"));
	assert_false(has_step(text, "protect", ".bashrc"));
	assert_true(has_step(text, "pin", "sub/.git"));
	assert_true(has_step(text, "protect", "sub/.git/config"));
	assert_true(has_step(text, "guard", "sub/.git/hooks"));
}

static void plan_protects_nothing_in_a_workspace_that_is_read_only(void **state)
{
	struct sandbox_spec spec = spec_of();

	(void)state;
	scratch_dir(".vscode");
	spec.workspace_mode = SANDBOX_READ;
	assert_false(has_step(printed(&spec), "protect", ".vscode"));
	assert_false(has_step(printed(&spec), "guard", ".vscode"));
}

static void plan_guards_a_repository_only_where_there_is_one(void **state)
{
	struct sandbox_spec spec = spec_of();

	(void)state;
	assert_false(has_step(printed(&spec), "guard", ".git/config"));
	scratch_dir(".git");
	assert_true(has_step(printed(&spec), "guard", ".git/config"));
}

static void plan_resolves_links_in_what_it_is_given(void **state)
{
	const char *write[] = {"link"};
	struct sandbox_spec spec = spec_of();

	(void)state;
	scratch_dir("real");
	scratch_link("link", "real");
	spec.write = (struct sandbox_paths){write, 1};
	assert_true(has_step(printed(&spec), "bind", "real"));
	assert_false(has_step(printed(&spec), "bind", "link"));
}

static void plan_says_what_it_left_out(void **state)
{
	const char *write[] = {"missing"};
	struct sandbox_spec spec = spec_of();
	struct plan plan;
	struct err err = {0};

	(void)state;
	spec.write = (struct sandbox_paths){write, 1};
	assert_int_equal(sandbox_plan(&spec, &plan, &err), 0);
	assert_int_equal(plan.note_count, 1);
	assert_non_null(strstr(plan.notes[0], "does not exist"));
	plan_release(&plan);
}

static void plan_refuses_what_it_can_not_do(void **state)
{
	const char *const none[] = {NULL};
	const char *dots[] = {"../x"};
	const char *home[] = {"~/x"};
	const char *root[] = {"/"};
	const char *run[] = {"/run"};
	const struct {
		const char *const *argv;
		const char *workspace;
		const char **read;
		const char *words;
	} rows[] = {
		{none, scratch, NULL, "no command"},
		{argv, "relative", NULL, "absolute"},
		{argv, "/proc", NULL, "to work in"},
		{argv, "/", NULL, "to work in"},
		{argv, "/etc/passwd", NULL, "to work in"},
		{argv, "/nonexistent/x", NULL, "No such file"},
		{argv, scratch, dots, "no \"..\""},
		{argv, scratch, home, "no home"},
		{argv, scratch, root, "not as a whole"},
		{argv, scratch, run, "not as a whole"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sandbox_spec spec = {.argv = rows[i].argv,
					    .workspace = rows[i].workspace};

		if (rows[i].read)
			spec.read = (struct sandbox_paths){rows[i].read, 1};
		refused(&spec, rows[i].words);
	}
}

static void a_root_of_its_own_brings_nothing_of_the_hosts(void **state)
{
	struct sandbox_spec spec = spec_of();
	char image[PATH_MAX], layers[PATH_MAX], work[PATH_MAX];
	const char *text;

	(void)state;
	scratch_dir("image");
	scratch_dir("image/etc");
	scratch_dir("image/proc");
	scratch_dir("layers");
	scratch_dir("work");
	(void)snprintf(image, sizeof(image), "%s", scratch_path("image"));
	(void)snprintf(layers, sizeof(layers), "%s", scratch_path("layers"));
	(void)snprintf(work, sizeof(work), "%s", scratch_path("work"));
	spec.workspace = work;
	spec.root = (struct sandbox_root){.path = image, .layers = layers};
	text = printed(&spec);
	assert_true(has_step(text, "image", "/.image"));
	assert_non_null(strstr(text, "bind /etc from /.image/etc writable"));
	assert_null(strstr(text, "/.image/proc"));
	assert_false(has_step(text, "bind", "/usr"));
	assert_true(has_step(text, "detach", "/.image"));
	spec.root.is_read_only = true;
	assert_non_null(
		strstr(printed(&spec), "bind /etc from /.image/etc read-only"));
	spec.root.path = scratch;
	refused(&spec, "in each other");
}

static void an_images_link_does_not_stand_where_ours_is_mounted(void **state)
{
	struct sandbox_spec spec = spec_of();
	char image[PATH_MAX], layers[PATH_MAX], work[PATH_MAX];
	const char *text;

	(void)state;
	scratch_dir("image");
	scratch_dir("layers");
	scratch_dir("work");
	/* The host's root stands there meanwhile. */
	scratch_link("image/usr", "old/var");
	scratch_link("image/opt", "old/var");
	(void)snprintf(image, sizeof(image), "%s", scratch_path("image"));
	(void)snprintf(layers, sizeof(layers), "%s", scratch_path("layers"));
	(void)snprintf(work, sizeof(work), "%s", scratch_path("work"));
	spec.workspace = work;
	spec.root = (struct sandbox_root){.path = image, .layers = layers};
	text = printed(&spec);
	assert_true(has_step(text, "link", "/usr"));
	assert_true(has_step(text, "link", "/opt"));
	spec.home = "/usr/share";
	text = printed(&spec);
	assert_false(has_step(text, "link", "/usr"));
	assert_true(has_step(text, "link", "/opt"));
	assert_true(has_step(text, "tmpfs", "/usr/share"));
}

static void a_volume_that_became_a_link_is_refused(void **state)
{
	struct sandbox_spec spec = spec_of();
	struct sandbox_volume volume = {.target = "/srv-of-it"};
	char source[PATH_MAX], link[PATH_MAX], below[PATH_MAX];

	(void)state;
	scratch_dir("source");
	scratch_dir("source/sub");
	scratch_link("link", "source");
	(void)snprintf(source, sizeof(source), "%s", scratch_path("source"));
	(void)snprintf(link, sizeof(link), "%s", scratch_path("link"));
	(void)snprintf(below, sizeof(below), "%s", scratch_path("link/sub"));
	spec.volumes = &volume;
	spec.volume_count = 1;
	volume.source = source;
	assert_true(has_step(printed(&spec), "bind", "/srv-of-it"));
	volume.source = link;
	refused(&spec, "leads elsewhere");
	volume.source = below;
	refused(&spec, "leads elsewhere");
}

static void plan_makes_no_place_to_mount_on_in_what_is_shown(void **state)
{
	struct sandbox_spec spec = spec_of();
	struct sandbox_volume volumes[] = {{.target = "/srv-of-it/in/new"},
					   {.target = "/srv-of-it"}};
	char outer[PATH_MAX], inner[PATH_MAX];

	(void)state;
	scratch_dir("outer");
	scratch_dir("outer/in");
	scratch_dir("outer/in/there");
	scratch_dir("inner");
	scratch_link("outer/link", "in");
	(void)snprintf(outer, sizeof(outer), "%s", scratch_path("outer"));
	(void)snprintf(inner, sizeof(inner), "%s", scratch_path("inner"));
	spec.volumes = volumes;
	spec.volume_count = 2;
	volumes[0].source = inner;
	volumes[1].source = outer;
	refused(&spec, "nothing to mount it on");
	volumes[0].target = "/srv-of-it/link/there";
	refused(&spec, "nothing to mount it on");
	volumes[0].target = "/srv-of-it/in/there";
	assert_true(has_step(printed(&spec), "bind", "/srv-of-it/in/there"));
}

/* As beside two hundred sandboxes, whose processes talk by such pairs. */
static void plan_hides_a_socket_among_many_without_a_name(void **state)
{
	enum { PAIRS = 2100 };
	static int pairs[PAIRS][2];
	const struct sandbox_spec spec = spec_of();
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int named = socket(AF_UNIX, SOCK_STREAM, 0);
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (size_t i = 0; i < PAIRS; i++)
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]),
				 0);
	assert_true((size_t)snprintf(address.sun_path, sizeof(address.sun_path),
				     "%s", scratch_path("named")) <
		    sizeof(address.sun_path));
	assert_int_equal(
		bind(named, (const struct sockaddr *)&address, sizeof(address)),
		0);
	assert_true(has_step(printed(&spec), "hide", "named"));
	(void)close(named);
	for (size_t i = 0; i < PAIRS; i++) {
		(void)close(pairs[i][0]);
		(void)close(pairs[i][1]);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(plan_never_brings_in_the_whole_root),
		TEST(plan_with_a_read_list_has_the_system_and_the_list),
		TEST(plan_needs_what_was_named_and_not_the_hosts_root),
		TEST(plan_hides_the_password_hashes),
		TEST(plan_hides_a_socket_among_many_without_a_name),
		TEST(plan_puts_the_order_of_construction),
		TEST(plan_mounts_the_workspace_as_it_was_asked_to),
		TEST(plan_expands_hides_and_follows_no_link_out),
		TEST(plan_refuses_to_hide_the_workspace),
		TEST(plan_protects_what_exists_and_guards_the_rest),
		TEST(plan_protects_nothing_in_a_workspace_that_is_read_only),
		TEST(plan_guards_a_repository_only_where_there_is_one),
		TEST(plan_resolves_links_in_what_it_is_given),
		TEST(plan_says_what_it_left_out),
		TEST(a_root_of_its_own_brings_nothing_of_the_hosts),
		TEST(an_images_link_does_not_stand_where_ours_is_mounted),
		TEST(a_volume_that_became_a_link_is_refused),
		TEST(plan_makes_no_place_to_mount_on_in_what_is_shown),
		TEST(plan_refuses_what_it_can_not_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
