#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "sandbox-host/daemon/config.h"

#define REPORT_MAX 8192
#define HASH                                                                   \
	"sha256:"                                                              \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool read_text(struct host_config *config, const char *text,
		      struct buf *report)
{
	struct policy_errors errors = {.out = report, .file = "host.yaml"};
	struct err err;

	buf_init(report, REPORT_MAX);
	assert_int_equal(host_config_defaults(config, &err), 0);
	return host_config_read(config, bytes_str(text), &errors);
}

static void what_the_api_needs_is_read(void **state)
{
	auto_type(host_config_release) struct host_config config;
	auto_type(buf_release) struct buf report;

	(void)state;
	assert_true(read_text(&config,
			      "listen: [127.0.0.1:8080, \"[::1]:81\"]\n"
			      "api_keys: [\"" HASH "\"]\n"
			      "policies: {a: /p/a.yaml, b: /p/b.yaml}\n",
			      &report));
	assert_int_equal(config.api.listen_count, 2);
	assert_int_equal(config.api.listen[0].address.ss_family, AF_INET);
	assert_int_equal(config.api.listen[1].address.ss_family, AF_INET6);
	assert_int_equal(config.api.keys_count, 1);
	assert_int_equal(config.api.keys[0].sha256.data[1], 0x23);
	assert_int_equal(config.api.policies_count, 2);
	assert_string_equal(config.api.policies[1].path, "/p/b.yaml");
}

static void without_it_nothing_listens(void **state)
{
	auto_type(host_config_release) struct host_config config;
	auto_type(buf_release) struct buf report;

	(void)state;
	assert_true(read_text(&config, "api_keys: [\"" HASH "\"]\n", &report));
	assert_int_equal(config.api.listen_count, 0);
}

static void what_would_be_open_to_strangers_is_an_error(void **state)
{
	static const struct {
		const char *text, *says; /* says NULL: it is fine */
	} table[] = {
		{"listen: [127.0.0.1:1]\n", "no api_keys"},
		{"listen: [127.0.0.1:1]\napi_keys: []\n", "host.yaml:"},
		{"listen: [10.0.0.1:1]\napi_keys: [\"" HASH "\"]\n",
		 "not loopback"},
		{"listen: [0.0.0.0:1]\napi_keys: [\"" HASH "\"]\n",
		 "not loopback"},
		{"listen: [\"[::]:1\"]\napi_keys: [\"" HASH "\"]\n",
		 "not loopback"},
		{"listen: [10.0.0.1:1]\napi_keys: [\"" HASH "\"]\n"
		 "insecure_listen: true\n",
		 NULL},
		{"listen: [10.0.0.1:1]\napi_keys: [\"" HASH "\"]\n"
		 "tls: {certificate: /a.pem, key: /a.key}\n",
		 NULL},
		{"listen: [127.0.0.1:1]\napi_keys: [\"" HASH "\"]\n"
		 "tls: {certificate: /a.pem}\n",
		 "\"key\" is missing"},
		{"listen: [127.0.0.1:1]\napi_keys: [\"" HASH "\"]\n"
		 "tls: {certificate: a.pem, key: /a.key}\n",
		 "an absolute path"},
		{"tls: {certificate: /a, key: /b, chain: /c}\n", "host.yaml:"},
		{"listen: [127.0.0.1:0]\n", "an address and a port"},
		{"listen: [localhost:80]\n", "an address and a port"},
		{"listen: [\":80\"]\n", "an address and a port"},
		{"listen: [127.0.0.1]\n", "an address and a port"},
		{"listen: [127.0.0.1:65536]\n", "an address and a port"},
		{"listen: [\"::1:80\"]\n", "an address and a port"},
		{"api_keys: [secret]\n", "sha256:"},
		{"api_keys: [\"sha256:00\"]\n", "sha256:"},
		{"policies: {a: here.yaml}\n", "absolute path"},
		{"policies: []\n", "host.yaml:1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		auto_type(host_config_release) struct host_config config;
		auto_type(buf_release) struct buf report;
		auto_free char *text = NULL;
		bool is_fine = read_text(&config, table[i].text, &report);

		assert_int_equal(is_fine, table[i].says == NULL);
		if (!table[i].says)
			continue;
		text = strndup((const char *)buf_view(&report).data,
			       buf_len(&report));
		assert_non_null(strstr(text, table[i].says));
	}
}

static void a_new_key_is_let_in_by_its_line(void **state)
{
	char key[API_NEW_KEY_SIZE], other[API_NEW_KEY_SIZE];
	char line[sizeof("sha256:") + 2 * API_HASH_BYTES];
	char hex[2 * DIGEST_LEN + 1];
	uint8_t digest[DIGEST_LEN];

	(void)state;
	api_new_key(other, line);
	api_new_key(key, line);
	assert_string_not_equal(key, other);
	digest_sha256(bytes_str(key), bytes_from(NULL, 0), digest);
	bytes_to_hex(bytes_from(digest, sizeof(digest)), hex);
	assert_string_equal(line + strlen("sha256:"), hex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_api_needs_is_read),
		cmocka_unit_test(without_it_nothing_listens),
		cmocka_unit_test(what_would_be_open_to_strangers_is_an_error),
		cmocka_unit_test(a_new_key_is_let_in_by_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
