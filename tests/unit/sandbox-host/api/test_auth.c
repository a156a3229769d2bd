#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/auth.h"
#include "sandbox-host/api/conn.h"

#define BOX "sb-a"

static uint8_t hash[DIGEST_LEN];
static const uint8_t secret[API_TOKEN_BYTES] = {1, 2, 3};
static struct api_key key = {{hash, sizeof(hash)}};
static struct api_config config = {
	.token_key = {secret, sizeof(secret)},
	.keys = &key,
	.keys_count = 1,
};

struct sent {
	const char *name, *value;
};

static bool check(const struct sent *sent, size_t count, enum route_place place,
		  enum route_may may)
{
	struct field items[8];
	struct conn conn = {
		.http.request.fields = {items, 0, ARRAY_SIZE(items)}};
	struct exchange exchange = {.conn = &conn, .sandbox = bytes_str(BOX)};
	const struct route route = {.may = may};
	const struct route_match match = {
		.route = &route, .place = place, .sandbox = bytes_str(BOX)};
	bool may_go;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(fields_add(&conn.http.request.fields,
					    bytes_str(sent[i].name),
					    bytes_str(sent[i].value)),
				 0);
	may_go = auth_check(&config, &exchange, &match);
	for (size_t i = 0; i < conn.http.request.fields.count; i++)
		assert_true(bytes_is(items[i].name, "Kept"));
	return may_go;
}

static void only_a_key_opens_the_lifecycle(void **state)
{
	const struct sent good[] = {{"open-sandbox-api-key", "k"},
				    {"Kept", "1"}};
	const struct sent bad[] = {{"OPEN-SANDBOX-API-KEY", "K"}};
	const struct sent two[] = {{"OPEN-SANDBOX-API-KEY", "k"},
				   {"OPEN-SANDBOX-API-KEY", "k"}};
	char token[AUTH_TOKEN_SIZE];
	struct sent other[] = {{"X-SALLYPORT-TOKEN", token}};

	(void)state;
	auth_token(&config, ROUTES_LIFECYCLE, bytes_str(BOX), token);
	assert_true(check(good, 2, ROUTES_LIFECYCLE, ROUTE_KEY));
	assert_false(check(good, 2, ROUTES_LIFECYCLE, ROUTE_TOKEN));
	assert_false(check(bad, 1, ROUTES_LIFECYCLE, ROUTE_KEY));
	assert_false(check(two, 2, ROUTES_LIFECYCLE, ROUTE_KEY));
	assert_false(check(other, 1, ROUTES_LIFECYCLE, ROUTE_KEY));
	assert_false(check(NULL, 0, ROUTES_LIFECYCLE, ROUTE_KEY));
	assert_true(check(NULL, 0, ROUTES_LIFECYCLE, ROUTE_OPEN));
}

static void a_token_opens_one_kind_of_one_sandbox(void **state)
{
	static const enum route_place places[] = {ROUTES_EXECD, ROUTES_EGRESS,
						  ROUTES_PROXY};
	const struct sent api[] = {{"OPEN-SANDBOX-API-KEY", "k"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
			char token[AUTH_TOKEN_SIZE];
			struct sent sent = {auth_field(places[i]), token};
			struct sent ours = {"X-SALLYPORT-TOKEN", token};

			auth_token(&config, places[k], bytes_str(BOX), token);
			assert_int_equal(
				check(&sent, 1, places[i], ROUTE_TOKEN),
				i == k);
			assert_int_equal(
				check(&ours, 1, places[i], ROUTE_TOKEN),
				i == k);
			auth_token(&config, places[i], bytes_str("sb-b"),
				   token);
			assert_false(check(&sent, 1, places[i], ROUTE_TOKEN));
		}
		assert_false(check(api, 1, places[i], ROUTE_TOKEN));
		assert_false(check(NULL, 0, places[i], ROUTE_TOKEN));
	}
}

/* The HMAC of "proxy/sb-a" with 01 02 03 and 29 zeros, by another
 * implementation. */
static void a_token_is_an_hmac(void **state)
{
	char token[AUTH_TOKEN_SIZE];

	(void)state;
	auth_token(&config, ROUTES_PROXY, bytes_str(BOX), token);
	assert_string_equal(token, "8ff2ecc98c46c04f161ce275555fe4d39b60ce962f9"
				   "de461ade49a704fdb5101");
}

static bool opens(const char *proof, enum route_place place,
		  const char *sandbox, const char *port)
{
	struct field items[8];
	struct conn conn = {
		.http.request.fields = {items, 0, ARRAY_SIZE(items)}};
	struct exchange exchange = {.conn = &conn,
				    .sandbox = bytes_str(sandbox)};
	const struct route route = {.may = ROUTE_TOKEN};
	const struct route_match match = {
		.route = &route,
		.place = place,
		.sandbox = bytes_str(sandbox),
		.proof = bytes_str(proof),
		.pieces = {bytes_str(port)},
		.piece_count = place == ROUTES_PROXY,
	};
	bool may_go;

	assert_int_equal(fields_add(&conn.http.request.fields,
				    bytes_str("referer"),
				    bytes_str("http://x/signed/1-a/")),
			 0);
	may_go = auth_check(&config, &exchange, &match);
	assert_int_equal(conn.http.request.fields.count, 0);
	return may_go;
}

static void a_signed_route_opens_one_port_until_its_time(void **state)
{
	uint64_t now_s = clock_wall_ms() / 1000;
	char proof[AUTH_PROOF_SIZE], other[AUTH_PROOF_SIZE];

	(void)state;
	auth_proof(&config, ROUTES_PROXY, bytes_str(BOX), 80, now_s + 3600,
		   proof);
	assert_true(opens(proof, ROUTES_PROXY, BOX, "80"));
	assert_false(opens(proof, ROUTES_PROXY, BOX, "81"));
	assert_false(opens(proof, ROUTES_PROXY, "sb-b", "80"));
	assert_false(opens(proof, ROUTES_EXECD, BOX, "0"));
	assert_false(opens("1-", ROUTES_PROXY, BOX, "80"));
	/* Another time with the same proof, and one that is over. */
	(void)snprintf(other, sizeof(other), "%llu%s",
		       (unsigned long long)now_s + 7200, strchr(proof, '-'));
	assert_false(opens(other, ROUTES_PROXY, BOX, "80"));
	auth_proof(&config, ROUTES_PROXY, bytes_str(BOX), 80, now_s - 1, other);
	assert_false(opens(other, ROUTES_PROXY, BOX, "80"));
	auth_proof(&config, ROUTES_EXECD, bytes_str(BOX), 0, now_s + 3600,
		   other);
	assert_true(opens(other, ROUTES_EXECD, BOX, ""));
	assert_false(opens(other, ROUTES_EGRESS, BOX, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_key_opens_the_lifecycle),
		cmocka_unit_test(a_token_opens_one_kind_of_one_sandbox),
		cmocka_unit_test(a_token_is_an_hmac),
		cmocka_unit_test(a_signed_route_opens_one_port_until_its_time),
	};

	digest_sha256(bytes_str("k"), bytes_from(NULL, 0), hash);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
