#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/dialer/proxy.h"

static const uint8_t ten[16] = {[10] = 0xff, 0xff, 10};
static const uint8_t fd[16] = {0xfd};
static const struct config_name names[] = {
	{{(const uint8_t *)"corp.example", 12}},
};
static const struct config_range ranges[] = {
	{{ten, sizeof(ten)}, 96 + 9},
	{{fd, sizeof(fd)}, 8},
};
static const struct config_proxy proxy = {
	.kind = PROXY_HTTP,
	.except_names = names,
	.except_names_count = ARRAY_SIZE(names),
	.except_ranges = ranges,
	.except_ranges_count = ARRAY_SIZE(ranges),
};

static bool serves(const struct config_proxy *by, const char *host)
{
	char canonical[HOST_NAME_MAX_LEN + 1];
	enum host_kind kind = host_canonical(bytes_str(host), canonical);

	return proxy_serves(by, bytes_str(canonical), kind);
}

static void proxy_serves_what_is_not_excepted(void **state)
{
	static const struct {
		const char *host;
		bool by_proxy;
	} rows[] = {
		{"a.example", true},	     {"corp.example", false},
		{"a.b.corp.example", false}, {"notcorp.example", true},
		{"corp.example.org", true},  {"localhost", false},
		{"x.localhost", false},	     {"10.1.2.3", false},
		{"10.127.255.255", false},   {"10.128.0.0", true},
		{"192.0.2.1", true},	     {"fd00::1", false},
		{"fe80::1", true},	     {"::ffff:10.0.0.1", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (serves(&proxy, rows[i].host) != rows[i].by_proxy)
			fail_msg("%s", rows[i].host);
}

static void without_a_proxy_none_serves(void **state)
{
	static const struct config_proxy none = {.kind = PROXY_NONE};

	(void)state;
	assert_false(serves(&none, "a.example"));
	assert_false(serves(NULL, "a.example"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proxy_serves_what_is_not_excepted),
		cmocka_unit_test(without_a_proxy_none_serves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
