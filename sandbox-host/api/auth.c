#include "sandbox-host/api/auth.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "sandbox-host/api/conn.h"

#define KEY_MAX	   256
#define HMAC_BLOCK 64 /* of SHA-256 */

#define SECONDS_DIGITS 20
#define PORT_DIGITS    5
#define THOUSAND       1000

static const char *const place_names[ROUTE_PLACE_MAX] = {
	[ROUTES_LIFECYCLE] = "lifecycle",
	[ROUTES_EXECD] = "execd",
	[ROUTES_EGRESS] = "egress",
	[ROUTES_PROXY] = "proxy",
};

/* What a client of ours may send; the last one is not a secret, but nothing
 * that a sandbox needs to know either. */
static const char *const own_fields[] = {
	"OPEN-SANDBOX-API-KEY",	   "X-EXECD-ACCESS-TOKEN",
	"OPENSANDBOX-EGRESS-AUTH", "X-SALLYPORT-TOKEN",
	"OPEN-SANDBOX-CLIENT-IP",
};

static void hmac(struct bytes key, struct bytes text, uint8_t out[DIGEST_LEN])
{
	uint8_t inner[HMAC_BLOCK] = {0}, outer[HMAC_BLOCK];

	assert(key.len <= HMAC_BLOCK);
	memcpy(inner, key.data, key.len);
	memcpy(outer, inner, sizeof(outer));
	for (size_t i = 0; i < HMAC_BLOCK; i++) {
		inner[i] ^= 0x36;
		outer[i] ^= 0x5c;
	}
	digest_sha256(bytes_from(inner, sizeof(inner)), text, out);
	digest_sha256(bytes_from(outer, sizeof(outer)),
		      bytes_from(out, DIGEST_LEN), out);
}

void auth_token(const struct api_config *config, enum route_place place,
		struct bytes sandbox, char out[AUTH_TOKEN_SIZE])
{
	uint8_t digest[DIGEST_LEN];
	char text[HOST_ID_MAX + 32];
	int len = snprintf(text, sizeof(text), "%s/%.*s", place_names[place],
			   BYTES_ARGS(sandbox));

	assert(len > 0 && (size_t)len < sizeof(text));
	hmac(config->token_key, bytes_from(text, (size_t)len), digest);
	bytes_to_hex(bytes_from(digest, sizeof(digest)), out);
}

const char *auth_field(enum route_place place)
{
	switch (place) {
	case ROUTES_EXECD:
		return "X-EXECD-ACCESS-TOKEN";
	case ROUTES_EGRESS:
		return "OPENSANDBOX-EGRESS-AUTH";
	case ROUTES_PROXY:
	case ROUTES_LIFECYCLE:
	case ROUTE_PLACE_MAX:
	default:
		return "X-SALLYPORT-TOKEN";
	}
}

static bool is_key(const struct api_config *config, struct bytes given,
		   unsigned *client)
{
	uint8_t digest[DIGEST_LEN];
	bool is_one = false;

	if (given.len == 0 || given.len > KEY_MAX)
		return false;
	digest_sha256(given, bytes_from(NULL, 0), digest);
	for (size_t i = 0; i < config->keys_count; i++)
		if (bytes_equal_constant_time(
			    config->keys[i].sha256,
			    bytes_from(digest, sizeof(digest)))) {
			*client = pace_key(i);
			is_one = true;
		}
	return is_one;
}

static bool is_token(const struct api_config *config, enum route_place place,
		     struct bytes sandbox, struct bytes given)
{
	char token[AUTH_TOKEN_SIZE];

	if (sandbox.len == 0 || sandbox.len > HOST_ID_MAX)
		return false;
	auth_token(config, place, sandbox, token);
	return bytes_equal_constant_time(bytes_str(token), given);
}

/* The one value of a field; of two nobody knows which was meant. */
static struct bytes only(const struct fields *fields, const char *name)
{
	return fields_count_of(fields, name) == 1
		       ? fields_find(fields, name)->value
		       : bytes_from(NULL, 0);
}

/* ---- signed routes ---- */

void auth_proof(const struct api_config *config, enum route_place place,
		struct bytes sandbox, uint64_t port, uint64_t until_s,
		char out[AUTH_PROOF_SIZE])
{
	uint8_t digest[DIGEST_LEN];
	char text[HOST_ID_MAX + 96], hex[AUTH_TOKEN_SIZE];
	int len = snprintf(text, sizeof(text), "signed/%s/%llu/%llu/%.*s",
			   place_names[place], (unsigned long long)port,
			   (unsigned long long)until_s, BYTES_ARGS(sandbox));

	assert(len > 0 && (size_t)len < sizeof(text));
	hmac(config->token_key, bytes_from(text, (size_t)len), digest);
	bytes_to_hex(bytes_from(digest, sizeof(digest)), hex);
	(void)snprintf(out, AUTH_PROOF_SIZE, "%llu-%s",
		       (unsigned long long)until_s, hex);
}

static bool is_proof(const struct api_config *config,
		     const struct route_match *match)
{
	char proof[AUTH_PROOF_SIZE];
	struct bytes rest = match->proof, number;
	uint64_t now_s = clock_wall_ms() / THOUSAND;
	uint64_t until_s, port = 0;

	if (match->sandbox.len == 0 || match->sandbox.len > HOST_ID_MAX ||
	    !bytes_split(&rest, '-', &number) ||
	    bytes_to_u64(number, SECONDS_DIGITS, &until_s) < 0 ||
	    (match->place == ROUTES_PROXY &&
	     (match->piece_count == 0 ||
	      bytes_to_u64(match->pieces[0], PORT_DIGITS, &port) < 0)))
		return false;
	auth_proof(config, match->place, match->sandbox, port, until_s, proof);
	return bytes_equal_constant_time(bytes_str(proof), match->proof) &&
	       now_s < until_s && until_s - now_s <= AUTH_PROOF_S_MAX;
}

bool auth_check(const struct api_config *config, struct exchange *exchange,
		const struct route_match *match)
{
	struct fields *fields = &http_of(exchange)->request.fields;
	enum route_may may = match->route ? match->route->may : ROUTE_KEY;
	struct bytes key = only(fields, "OPEN-SANDBOX-API-KEY");
	struct bytes token = only(fields, auth_field(match->place));
	struct bytes ours = only(fields, "X-SALLYPORT-TOKEN");

	for (size_t i = 0; i < ARRAY_SIZE(own_fields); i++)
		fields_remove(fields, own_fields[i]);
	exchange->client = pace_box(exchange->sandbox);
	if (match->proof.len > 0) {
		fields_remove(fields, "Referer");
		return match->route && may != ROUTE_FIELD &&
		       is_proof(config, match);
	}
	if (may == ROUTE_OPEN)
		return true;
	if (match->place == ROUTES_LIFECYCLE)
		return may == ROUTE_KEY &&
		       is_key(config, key, &exchange->client);
	return is_token(config, match->place, exchange->sandbox,
			token.len ? token : ours);
}
