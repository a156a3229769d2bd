/* Memory that is not there (security F10): each allocation of what decides
 * fails once, and from each on all fail. What is refused with memory is
 * refused without, nothing crashes, and nothing leaks (the sanitized build
 * looks). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "common/arena_spare.h"
#include "common/buf.h"
#include "common/cleanup.h"
#include "gateway/flow/package.h"
#include "gateway/git/commands.h"
#include "gateway/http/head.h"
#include "gateway/session/session.h"
#include "policies/decide.h"
#include "policies/inspect/inspection.h"
#include "policies/scope.h"

#define ALLOCATIONS_MAX 5000

/* ---- allocations ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static unsigned count, fails_at; /* 0: none fails */
static bool fails_ever_after, is_spared;

static bool fails(void)
{
	if (is_spared)
		return false;
	count++;
	return fails_at > 0 &&
	       (count == fails_at || (fails_ever_after && count > fails_at));
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t of, size_t size)
{
	return fails() ? NULL : __real_calloc(of, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

/* ---- what decides: does it pass? ---- */

static const char policy_text[] =
	"version: 1\n"
	"name: p\n"
	"extends: [github-cli]\n"
	"network:\n"
	"  rules:\n"
	"    - {hosts: [a.example], paths: [/secret/**], action: deny,\n"
	"       reason: 'not there'}\n"
	"    - {hosts: [a.example], methods: [POST], action: allow, body: {\n"
	"       max: 1KiB, secrets: deny, json: [\n"
	"         {pointer: /head, matches: 'agent/[0-9]+'}]}}\n"
	"    - {hosts: [f.example], action: allow, body: {\n"
	"       form: {n: '[0-9]+'}, max: 1KiB}}\n"
	"    - {hosts: [a.example, '*.b.example'], action: allow,\n"
	"       methods: [GET]}\n"
	"credentials:\n"
	"  - {name: c, secret: s, attach: bearer, \n"
	"     hosts: [api.github.com, github.com]}\n"
	"git:\n"
	"  - repo: ${session.repo}\n"
	"    credential: c\n"
	"    read: true\n"
	"    push: {branches: ['${session.branch}'], verbs: [create],\n"
	"           protect: ['.github/**'], secrets: deny}\n";

struct asked {
	const char *method, *host, *path;
	const char *type, *encoding, *body;
};

static struct policy *compile(struct buf *told, bool with_memory)
{
	struct policy *policy;
	static const struct policy_variables variables = {
		.session_id = BYTES_LITERAL("s-1"),
		.branch = BYTES_LITERAL("agent/42"),
		.repo = BYTES_LITERAL("https://github.com/acme/widgets"),
	};
	struct policy_errors errors = {.out = told, .file = "p.yaml"};

	buf_init(told, 65536);
	is_spared = with_memory;
	policy = policy_compile(bytes_str(policy_text), &variables, &errors);
	is_spared = false;
	return policy;
}

static bool request_passes(const void *work)
{
	const struct asked *asked = work;
	const struct inspect_source source = {
		.type = bytes_str(asked->type),
		.encoding = bytes_str(asked->encoding),
		.body = bytes_str(asked->body),
		.decoded_max = 4096,
	};
	struct request_facts facts = {
		.target = {bytes_str(asked->host), 443},
		.is_tls = true,
		.method = bytes_str(asked->method),
		.path = bytes_str(asked->path),
	};
	auto_type(buf_release) struct buf told;
	struct policy *policy = compile(&told, asked->body);
	struct verdict verdict = {.kind = VERDICT_DENY};
	struct err err;

	if (!policy)
		return false;
	if (asked->body) {
		facts.body = inspection_new(&source, &err);
		facts.body_bytes = source.body.len;
		facts.has_body = true;
	}
	if (!asked->body || facts.body)
		verdict = decide_request(policy, &facts, NULL);
	if (facts.body)
		inspection_free(facts.body);
	policy_free(policy);
	return verdict.kind == VERDICT_ALLOW;
}

/* A session's package, from policy to keeper: may it reach the host? */
static bool target_passes(const void *work)
{
	static const uint8_t lease[DIGEST_LEN];
	struct session_package sealed = {
		.id = bytes_str("s-1"),
		.expires_ms = UINT64_MAX,
		.lease_hash = bytes_from(lease, sizeof(lease)),
	};
	struct session_table sessions = {0};
	auto_type(buf_release) struct buf told;
	struct policy *policy = compile(&told, true);
	struct package *opened = NULL;
	const struct session *session = NULL;
	struct arena arena;
	struct err err;
	auto_fd int fd = -1;
	bool passes;

	arena_init(&arena, 65536);
	if (policy &&
	    scope_from_policy(policy, &arena, &sealed.scope, &err) == 0)
		fd = package_seal(&sealed, &err);
	if (fd >= 0)
		opened = package_open(fd, &err);
	if (opened)
		session = session_add(&sessions, opened, &err);
	if (opened && !session)
		package_free(opened);
	passes = session && scope_allows_target(session_scope(session),
						bytes_str(work), 443);
	session_table_release(&sessions);
	arena_release(&arena);
	if (policy)
		policy_free(policy);
	return passes;
}

static bool head_passes(const void *work)
{
	struct bytes text = bytes_str(work), authorization;
	struct http_fault fault;
	struct request request;
	struct guard guard;
	struct arena arena;
	size_t len;
	bool passes;

	arena_init(&arena, HEAD_ARENA_BYTES);
	guard_init(&guard, GUARD_REQUEST);
	passes = guard_scan(&guard, text, &len) == GUARD_COMPLETE &&
		 head_request(&arena, &guard, text, &request, &authorization,
			      &fault) == 0;
	arena_release(&arena);
	return passes;
}

#define OID "1111111111111111111111111111111111111111"
#define NO  "0000000000000000000000000000000000000000"

static bool commands_pass(const void *work)
{
	const struct bytes *text = work;
	struct commands commands;
	struct arena arena;
	size_t used;
	bool passes;

	arena_init(&arena, COMMANDS_ARENA_MAX);
	commands_init(&commands, &arena);
	passes = commands_feed(&commands, *text, &used) == COMMANDS_PUSH;
	commands_release(&commands);
	arena_release(&arena);
	return passes;
}

/* ---- the tests ---- */

struct twin {
	const char *what;
	bool (*passes)(const void *work);
	const void *good, *bad;
};

#define GET(host, path) (&(const struct asked){"GET", host, path, 0, 0, 0})
#define POST(host, type, encoding, body)                                       \
	(&(const struct asked){"POST", host, "/", type, encoding, body})
#define JSON	  "application/json"
#define FORM	  "application/x-www-form-urlencoded"
#define MULTIPART "multipart/form-data; boundary=b"
#define TOKEN	  "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"
#define HEAD	  "POST / HTTP/1.1\r\nHost: a\r\n"

static const struct bytes own_branch =
	BYTES_LITERAL("0071" NO " " OID " refs/heads/a\0 report-status0000");
static const struct bytes head_of_all =
	BYTES_LITERAL("0074" NO " " OID " refs/heads/HEAD\0 report-status0000");

static const struct twin twins[] = {
	{"a path", request_passes, GET("a.example", "/open"),
	 GET("a.example", "/secret/x")},
	{"json", request_passes,
	 POST("a.example", JSON, "", "{\"head\":\"agent/1\"}"),
	 POST("a.example", JSON, "", "{\"head\":\"main\"}")},
	{"a key twice", request_passes,
	 POST("a.example", JSON, "", "{\"head\":\"agent/2\"}"),
	 POST("a.example", JSON, "",
	      "{\"head\":\"agent/2\",\"head\":\"main\"}")},
	{"a secret", request_passes,
	 POST("a.example", JSON, "", "{\"head\":\"agent/1\",\"a\":\"b\"}"),
	 POST("a.example", JSON, "",
	      "{\"head\":\"agent/1\",\"a\":\"" TOKEN "\"}")},
	{"a form", request_passes, POST("f.example", FORM, "", "n=12&m=a"),
	 POST("f.example", FORM, "", "n=12&n=x")},
	{"a target", target_passes, "a.example", "c.example"},
	{"a repository's host", target_passes, "github.com", "gitlab.com"},
	{"a length", head_passes, HEAD "Content-Length: 3\r\n\r\n",
	 HEAD "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"},
	{"two hosts", head_passes, HEAD "Accept: b\r\n\r\n",
	 HEAD "Host: b\r\n\r\n"},
	{"a push", commands_pass, &own_branch, &head_of_all},
};

/* Does it, with no block that an arena has left behind? */
static bool passes_dry(const struct twin *twin, const void *work, unsigned n)
{
	bool passed;

	arena_spare_free();
	count = 0;
	fails_at = n;
	passed = twin->passes(work);
	fails_at = 0;
	return passed;
}

/* Each allocation of work fails, once or from then on: what may not pass
 * never does. */
static void starve(const struct twin *twin, const void *work, bool may_pass)
{
	unsigned needed;

	if (passes_dry(twin, work, 0) != may_pass)
		fail_msg("%s: with memory", twin->what);
	needed = count;
	assert_in_range(needed, may_pass, ALLOCATIONS_MAX);
	for (unsigned n = 1; n <= needed; n++) {
		for (int ever_after = 0; ever_after < 2; ever_after++) {
			fails_ever_after = ever_after;
			if (passes_dry(twin, work, n) && !may_pass)
				fail_msg("%s: without allocation %u",
					 twin->what, n);
		}
	}
}

static void what_decides_lets_nothing_pass_without_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(twins); i++) {
		print_message("%s\n", twins[i].what);
		starve(&twins[i], twins[i].good, true);
		starve(&twins[i], twins[i].bad, false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_decides_lets_nothing_pass_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
