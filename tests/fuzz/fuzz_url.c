/*
 * URLs from anybody: what is read of one is canonical, and written again it
 * is read as the same.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "policies/host.h"
#include "policies/path.h"
#include "policies/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_facts(const struct request_facts *facts)
{
	char host[HOST_NAME_MAX_LEN + 1];

	assert(host_canonical(facts->target.host, host) != HOST_INVALID);
	assert(bytes_is(facts->target.host, host));
	assert(facts->target.port > 0);
	assert(facts->path.len > 0 && facts->path.data[0] == '/');
	assert(bytes_find(facts->path, '?', 0) < 0);
	assert(bytes_find(facts->path, '#', 0) < 0);
}

static void check_again(struct arena *arena, const struct request_facts *facts)
{
	struct request_facts again = {0};
	bool is_v6 = memchr(facts->target.host.data, ':',
			    facts->target.host.len) != NULL;
	const char *url = arena_format(
		arena, "http%s://%s%.*s%s:%u%.*s", facts->is_tls ? "s" : "",
		is_v6 ? "[" : "", BYTES_ARGS(facts->target.host),
		is_v6 ? "]" : "", (unsigned)facts->target.port,
		BYTES_ARGS(facts->path));
	enum constraint constraint;
	struct err err;

	if (!url)
		return;
	assert(url_facts(url, arena, &again, &constraint, &err) == 0);
	assert(again.is_tls == facts->is_tls);
	assert(again.target.port == facts->target.port);
	assert(bytes_equal(again.target.host, facts->target.host));
	assert(bytes_equal(again.path, facts->path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct request_facts facts = {0};
	enum constraint constraint;
	struct arena arena;
	struct err err;
	char *url;

	arena_init(&arena, 1 << 20);
	url = arena_str(&arena, bytes_from(data, len));
	if (url && url_facts(url, &arena, &facts, &constraint, &err) == 0) {
		check_facts(&facts);
		check_again(&arena, &facts);
	}
	arena_release(&arena);
	return 0;
}
