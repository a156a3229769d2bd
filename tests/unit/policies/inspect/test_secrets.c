#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/digest.h"
#include "policies/inspect/secret_kinds.h"
#include "policies/inspect/secrets.h"

/*
 * What each kind looks like: {36a} stands for 36 characters of class a, made
 * up when the test runs, so that nothing here looks like a token.
 */
static const struct shape {
	const char *name;
	const char *text;
} shapes[] = {
	{"github refresh token", "ghr_{36a}"},
	{"github fine-grained token", "github_pat_{22a}_{59a}"},
	{"aws access key", "AKIA{16t}"},
	{"aws access key", "ASIA{16t}"},
	{"aws secret key", "aws_secret_access_key = {40b}"},
	{"aws bedrock key", "ABSKQmVkcm9ja0FQSUtleS{40b}"},
	{"google api key", "AIza{35w}"},
	{"google access token", "ya29.{30w}"},
	{"google client secret", "GOCSPX-{28w}"},
	{"google refresh token", "1//0{40w}"},
	{"google service account key", "\"private_key_id\": \"{40h}\""},
	{"azure storage key", "AccountKey={86b}=="},
	{"azure storage key", "{40b}+ASt{6b}=="},
	{"azure cosmos key", "{40b}ACDb{6b}=="},
	{"azure function key", "{40w}AzFu{8w}=="},
	{"azure container registry key", "{40b}+ACR{6a}"},
	{"azure search key", "{40a}AzSe{6a}"},
	{"azure devops token", "{40a}AZDO{4a}"},
	{"azure shared access signature", "&sig={43a}%3D"},
	{"azure client secret", "{3w}8Q~{31w}"},
	{"slack token", "xoxb-{24a}"},
	{"slack cookie", "xoxd-{40a}"},
	{"slack app token", "xapp-1-A{9u}-{12d}-{40h}"},
	{"slack webhook", "hooks.slack.com/services/T{8u}/B{8u}/{24a}"},
	{"slack workflow webhook", "hooks.slack.com/workflows/T{8u}/{20a}"},
	{"stripe key", "sk_live_{16a}"},
	{"stripe key", "rk_test_{16a}"},
	{"webhook signing secret", "whsec_{32b}"},
	{"openai key", "sk-{20w}T3BlbkFJ{20w}"},
	{"openai key", "sk-proj-{40w}"},
	{"anthropic key", "sk-ant-api03-{80w}"},
	{"openrouter key", "sk-or-v1-{64h}"},
	{"gitlab token", "glpat-{20w}"},
	{"gitlab deploy token", "gldt-{20w}"},
	{"gitlab runner token", "glrt-{20w}"},
	{"gitlab runner token", "GR1348941{20w}"},
	{"gitlab trigger token", "glptt-{40h}"},
	{"gitlab feed token", "glft-{20w}"},
	{"gitlab mail token", "glimt-{25l}"},
	{"gitlab agent token", "glagent-{50w}"},
	{"gitlab application secret", "gloas-{64h}"},
	{"gitlab job token", "glcbt-{1a}_{20w}"},
	{"gitlab scim token", "glsoat-{20w}"},
	{"gitlab feature flag token", "glffct-{20w}"},
	{"pypi token", "pypi-AgEIcHlwaS5vcmc{50w}"},
	{"pypi token", "pypi-AgENdGVzdC5weXBpLm9yZw{50w}"},
	{"docker token", "dckr_pat_{27w}"},
	{"docker token", "dckr_oat_{32w}"},
	{"hugging face token", "hf_{34c}"},
	{"hugging face token", "api_org_{34c}"},
	{"digitalocean token", "dop_v1_{64h}"},
	{"shopify token", "shpat_{32X}"},
	{"twilio key", "SK{32h}"},
	{"twilio account with token", "AC{32h}:{32h}"},
	{"sendgrid key", "SG.{22w}.{43w}"},
	{"mailgun key", "key-{32h}"},
	{"mailgun key", "{32h}-{8h}-{8h}"},
	{"mailchimp key", "{32h}-us12"},
	{"brevo key", "xkeysib-{64h}-{16a}"},
	{"resend key", "re_{8a}_{24a}"},
	{"mandrill key", "md-{22a}"},
	{"telegram bot token", "{9d}:AA{33w}"},
	{"discord webhook", "discord.com/api/webhooks/{18d}/{60w}"},
	{"cloudflare origin key", "v1.0-{24h}-{146h}"},
	{"cloudflare token", "CLOUDFLARE_API_TOKEN={40a}"},
	{"heroku key", "HRKU-AA{58w}"},
	{"heroku key", "HRKU-{8h}-{4h}-{4h}-{4h}-{12h}"},
	{"linear key", "lin_api_{40a}"},
	{"linear token", "lin_oauth_{64h}"},
	{"notion token", "ntn_{46a}"},
	{"notion token", "secret_{43a}"},
	{"atlassian token", "ATATT3{100w}"},
	{"atlassian admin key", "ATCTT3{100w}"},
	{"bitbucket token", "ATBB{32a}"},
	{"databricks token", "dapi{32h}"},
	{"databricks secret", "dose{32h}"},
	{"datadog key", "DD_API_KEY={32h}"},
	{"datadog key", "DD_APPLICATION_KEY={40h}"},
	{"new relic key", "NRAK-{27u}"},
	{"new relic key", "NRII-{32w}"},
	{"new relic license key", "{36h}NRAL"},
	{"grafana cloud token", "glc_{40b}"},
	{"grafana key", "eyJrIjoi{40b}"},
	{"sentry token", "sntrys_eyJ{60b}"},
	{"sentry token", "sntryu_{64h}"},
	{"posthog key", "phx_{43a}"},
	{"planetscale token", "pscale_tkn_{32w}"},
	{"supabase token", "sbp_{40h}"},
	{"supabase secret key", "sb_secret_{22w}_{8w}"},
	{"vercel token", "VERCEL_TOKEN={24a}"},
	{"vercel blob token", "vercel_blob_rw_{16a}_{30a}"},
	{"netlify token", "nfp_{36a}"},
	{"fly token", "fo1_{43w}"},
	{"fly token", "fm2_{100b}"},
	{"doppler token", "dp.pt.{40a}"},
	{"vault token", "hvs.{24w}"},
	{"terraform token", "{14a}.atlasv1.{60w}"},
	{"pulumi token", "pul-{40h}"},
	{"1password service token", "ops_eyJ{100b}"},
	{"1password secret key", "A3-{6u}-{11u}-{5u}-{5u}-{5u}"},
	{"private key", "-----BEGIN RSA PRIV"
			"ATE KEY-----"},
	{"private key", "---- BEGIN SSH2 ENCRYPTED PRIV"
			"ATE KEY ----"},
	{"putty key", "PuTTY"
		      "-User-Key-File-3: "},
	{"rubygems key", "rubygems_{48h}"},
	{"nuget key", "oy2{43l}"},
	{"crates.io token", "cio{32a}"},
	{"square token", "sq0csp-{43w}"},
	{"square token", "sq0atp-{22w}"},
	{"square token", "EAAA{60w}"},
	{"braintree token", "access_token$production${16l}${32h}"},
	{"paypal token", "A21AA{80w}"},
	{"razorpay key", "rzp_live_{14a}"},
	{"dropbox token", "sl.{130w}"},
	{"figma token", "figd_{40w}"},
	{"airtable token", "pat{14a}.{64h}"},
	{"asana token", "1/{16d}:{32h}"},
	{"zendesk token", "ZENDESK_TOKEN={40a}"},
	{"okta token", "SSWS 00{40w}"},
	{"okta token", "OKTA_API_TOKEN=00{40w}"},
	{"auth0 secret", "AUTH0_CLIENT_SECRET={64w}"},
	{"perplexity key", "pplx-{48a}"},
	{"groq key", "gsk_{20a}WGdyb3FY{24a}"},
	{"replicate token", "r8_{37a}"},
	{"xai key", "xai-{80a}"},
	{"nvidia key", "nvapi-{64w}"},
	{"langsmith key", "lsv2_pt_{32h}_{10h}"},
	{"tavily key", "tvly-dev-{32a}"},
	{"pinecone key", "pcsk_{6a}_{50a}"},
	{"e2b key", "e2b_{40h}"},
	{"firecrawl key", "fc-{32h}"},
	{"mapbox token", "sk.eyJ1Ijoi{30w}"},
	{"algolia key", "ALGOLIA_ADMIN_KEY={32h}"},
	{"contentful token", "CFPAT-{43w}"},
	{"snyk token", "snyk_uat.{8h}.{40w}"},
	{"snyk token", "SNYK_TOKEN={8h}-{4h}-{4h}-{4h}-{12h}"},
	{"sonarqube token", "sqp_{40h}"},
	{"circleci token", "CCIPAT_{22a}_{40h}"},
	{"buildkite token", "bkua_{40h}"},
	{"typeform token", "tfp_{40w}"},
	{"shippo token", "shippo_live_{40h}"},
	{"easypost key", "EZAK{54a}"},
	{"duffel token", "duffel_test_{43w}"},
	{"adafruit key", "aio_{28a}"},
	{"frame.io token", "fio-u-{64w}"},
	{"prefect key", "pnu_{36a}"},
	{"readme key", "rdme_{70l}"},
	{"clickhouse key", "4b1d{38a}"},
	{"dynatrace token", "dt0c01.{24u}.{64u}"},
	{"postman key", "PMAK-{24h}-{34h}"},
	{"sourcegraph token", "sgp_{16h}_{40h}"},
	{"facebook token", "EAAC{100a}"},
	{"twitter bearer token", "AAAAAAAAAAAAAAAAAAAAA{60a}"},
	{"launchdarkly key", "sdk-{8h}-{4h}-4{3h}-{4h}-{12h}"},
	{"plaid token", "access-production-{8h}-{4h}-{4h}-{4h}-{12h}"},
	{"scalingo token", "tk-us-{48w}"},
	{"tailscale key", "tskey-auth-{12a}-{20a}"},
	{"infracost key", "ico-{32a}"},
	{"artifactory key", "AKCp{69a}"},
	{"artifactory reference token", "cmVmdGtu{56a}"},
	{"flutterwave key", "FLWSECK_TEST-{32h}-X"},
	{"hubspot token", "pat-na1-{8h}-{4h}-{4h}-{4h}-{12h}"},
	{"openshift token", "sha256~{43w}"},
	{"yandex key", "AQVN{35w}"},
	{"alibaba access key", "LTAI{20a}"},
	{"tencent secret id", "AKID{32a}"},
	{"deno token", "ddp_{36a}"},
	{"wakatime key", "waka_{8h}-{4h}-{4h}-{4h}-{12h}"},
	{"octopus key", "API-{26u}"},
	{"harness token", "pat.{22w}.{24h}.{20a}"},
};

static uint32_t seed = 1;

static char pick(char class)
{
	static const char *const classes[][2] = {
		{"a", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
		      "uvwxyz"},
		{"w", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
		      "uvwxyz_-"},
		{"b", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
		      "uvwxyz+/"},
		{"c", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
		{"h", "0123456789abcdef"},
		{"X", "0123456789abcdef"},
		{"u", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		{"t", "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		{"l", "0123456789abcdefghijklmnopqrstuvwxyz"},
		{"d", "123456789"},
	};
	size_t i = 0;

	seed = seed * 1103515245 + 12345;
	while (i < ARRAY_SIZE(classes) && classes[i][0][0] != class)
		i++;
	assert_true(i < ARRAY_SIZE(classes));
	return classes[i][1][(seed >> 8) % strlen(classes[i][1])];
}

/* An example; a near miss has one character less where it varies last, or
 * at its end. */
static void make(const char *shape, bool is_miss, struct buf *out)
{
	const char *last = strrchr(shape, '{');

	for (const char *at = shape; *at; at++) {
		char *end;
		long count;

		if (*at != '{') {
			assert_int_equal(buf_add_byte(out, (uint8_t)*at), 0);
			continue;
		}
		count = strtol(at + 1, &end, 10) - (is_miss && at == last);
		while (count-- > 0)
			assert_int_equal(buf_add_byte(out, (uint8_t)pick(*end)),
					 0);
		at = end + 1;
	}
	if (is_miss && !last)
		out->end--;
}

static struct secret_scan *open_scan(const struct secret_look *look)
{
	static const struct secret_look nothing;
	struct err err = {0};
	struct secret_scan *scan =
		secret_scan_open(look ? look : &nothing, &err);

	assert_non_null(scan);
	return scan;
}

/* The text after `before` and in front of `after`, whole and bytewise. */
static void expect_in(struct secret_scan *scan, const char *const around[2],
		      struct bytes text, const char *name)
{
	for (size_t step = 1; step <= text.len; step += text.len - 1) {
		const char *found;

		(void)secret_scan_feed(scan, bytes_str(around[0]));
		for (size_t i = 0; i < text.len; i += step)
			(void)secret_scan_feed(scan,
					       bytes_slice(text, i, i + step));
		(void)secret_scan_feed(scan, bytes_str(around[1]));
		found = secret_scan_end(scan);
		if (name)
			assert_string_equal(found ? found : "nothing", name);
		else
			assert_string_equal(found ? found : "", "");
	}
}

static void expect(struct bytes text, const char *name)
{
	static const char *const places[][2] = {
		{"", ""}, {"token=", "!"}, {"{\"a\": \"", "\"}\n"}};
	struct secret_scan *scan = open_scan(NULL);

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		expect_in(scan, places[i], text, name);
	secret_scan_close(scan);
}

static void every_kind_is_found_and_its_near_miss_is_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct buf text;

		buf_init(&text, 4096);
		make(shapes[i].text, false, &text);
		expect(buf_view(&text), shapes[i].name);
		buf_clear(&text);
		make(shapes[i].text, true, &text);
		expect(buf_view(&text), NULL);
		buf_release(&text);
	}
}

static void there_are_at_least_80_kinds(void **state)
{
	size_t kinds = 0;

	(void)state;
	for (size_t i = 0; i < secret_kinds_count; i++)
		kinds += i == 0 || strcmp(secret_kinds[i].name,
					  secret_kinds[i - 1].name) != 0;
	assert_true(kinds >= 80);
}

/* prefix, 30 characters, their CRC-32 in base62. */
static void make_github(const char *prefix, struct buf *out)
{
	static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz";
	char check[6];
	uint32_t crc;

	assert_int_equal(buf_add_str(out, prefix), 0);
	make("{30a}", false, out);
	crc = (uint32_t)crc32(0, out->data + out->end - 30, 30);
	for (size_t i = sizeof(check); i-- > 0; crc /= 62)
		check[i] = base62[crc % 62];
	assert_int_equal(buf_add(out, bytes_from(check, sizeof(check))), 0);
}

/* As it is, and with one character of it changed. */
static void expect_checked(struct buf *text, size_t at, const char *name)
{
	expect(buf_view(text), name);
	text->data[at] = text->data[at] == '4' ? '5' : '4';
	expect(buf_view(text), NULL);
	buf_clear(text);
}

static void checksums_are_verified(void **state)
{
	static const char *const prefixes[][2] = {
		{"github token", "ghp_"}, {"github token", "gho_"},
		{"github token", "ghu_"}, {"github token", "ghs_"},
		{"npm token", "npm_"},
	};
	struct buf text;

	(void)state;
	buf_init(&text, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		for (size_t at = 4; at < 40; at += 35) {
			make_github(prefixes[i][1], &text);
			expect_checked(&text, at, prefixes[i][0]);
		}
	make("glsa_{32a}", false, &text);
	assert_int_equal(
		buf_add_format(&text, "_%08x",
			       __builtin_bswap32((uint32_t)crc32(
				       0, text.data, (unsigned)text.end))),
		0);
	expect_checked(&text, 7, "grafana token");
	buf_release(&text);
}

/* Bech32 of 32 equal groups and what their checksum is. */
static uint32_t bech32_step(uint32_t check, uint32_t value)
{
	static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
					     0x3d4233dd, 0x2a1462b3};
	uint32_t top = check >> 25;

	check = (check & 0x1ffffff) << 5 ^ value;
	for (unsigned i = 0; i < 5; i++)
		check ^= top >> i & 1 ? generator[i] : 0;
	return check;
}

static void an_age_key_has_a_checksum(void **state)
{
	static const char digits[] = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
	static const char human[] = "age-secret-key-";
	uint32_t check = 1;
	struct buf text;

	(void)state;
	buf_init(&text, 256);
	assert_int_equal(buf_add_str(&text, "AGE-SEC"
					    "RET-KEY-1"),
			 0);
	for (size_t i = 0; human[i]; i++)
		check = bech32_step(check, (uint8_t)human[i] >> 5);
	check = bech32_step(check, 0);
	for (size_t i = 0; human[i]; i++)
		check = bech32_step(check, human[i] & 31);
	for (uint32_t i = 0; i < 52; i++) {
		check = bech32_step(check, i * 7 % 32);
		assert_int_equal(
			buf_add_byte(&text, (uint8_t)digits[i * 7 % 32]), 0);
	}
	for (unsigned i = 0; i < 6; i++)
		check = bech32_step(check, 0);
	check ^= 1;
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(
			buf_add_byte(
				&text,
				(uint8_t)digits[check >> 5 * (5 - i) & 31]),
			0);
	expect_checked(&text, 30, "age key");
	buf_release(&text);
}

static void a_token_of_parts_is_looked_into(void **state)
{
	static const struct {
		const char *parts[3];
		const char *name;
	} rows[] = {
		/* {"alg":"none"}, {"typ":"x"}, and one behind another start */
		{{"eyJhbGciOiJub25l", "In0", ".eyJzdWIiOiIxMjM0NTY3"},
		 "json web token"},
		{{"eyJ0eXAi", "OiJ4In0", ".eyJzdWIiOiIxMjM0NTY3"}, NULL},
		{{"eyJ_eyJhbGciOiJub25l", "In0", ".eyJzdWIiOiIxMjM0NTY3"},
		 "json web token"},
		/* 123456789012345678, and what is no number */
		{{"MTIzNDU2Nzg5MDEy", "MzQ1Njc4.Gabc-9.",
		  "abcdefGHIJ0123456789_-klmno"},
		 "discord bot token"},
		{{"Mabcdefghijklmno", "pqrstuvw.Gabc-9.",
		  "abcdefGHIJ0123456789_-klmno"},
		 NULL},
	};
	struct buf text;

	(void)state;
	buf_init(&text, 256);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(rows[i].parts); j++)
			assert_int_equal(buf_add_str(&text, rows[i].parts[j]),
					 0);
		expect(buf_view(&text), rows[i].name);
		buf_clear(&text);
	}
	buf_release(&text);
}

static void examples_of_manuals_are_none(void **state)
{
	static const char *const rows[][2] = {
		{"AKIA", "IOSFODNN7EXAMPLE"},
		{"ghr_", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		{"glpat-", "xxxxxxxxxxxxxxxxxxxx"},
		{"sk_live_", "0000000000000000"},
	};
	struct buf text;

	(void)state;
	buf_init(&text, 256);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(buf_add_str(&text, rows[i][0]), 0);
		assert_int_equal(buf_add_str(&text, rows[i][1]), 0);
		expect(buf_view(&text), NULL);
		buf_clear(&text);
	}
	buf_release(&text);
}

static void a_placeholder_is_no_secret_and_its_neighbour_is(void **state)
{
	static const char *const around[2] = {"a ", " b"};
	struct bytes exempt;
	struct secret_look look = {.exempt = &exempt, .exempt_count = 1};
	uint8_t digest[DIGEST_LEN];
	struct secret_scan *scan;
	struct buf text;

	(void)state;
	buf_init(&text, 256);
	make_github("ghp_", &text);
	exempt = buf_view(&text);
	scan = open_scan(&look);
	expect_in(scan, around, exempt, NULL);
	secret_scan_close(scan);
	scan = open_scan(NULL);
	expect_in(scan, around, exempt, "github token");
	secret_scan_close(scan);
	/* Known by its digest alone. */
	digest_sha256(exempt, bytes_from(NULL, 0), digest);
	look = (struct secret_look){.exempt_digest = digest};
	scan = open_scan(&look);
	expect_in(scan, around, exempt, NULL);
	secret_scan_close(scan);
	digest[0] ^= 1;
	scan = open_scan(&look);
	expect_in(scan, around, exempt, "github token");
	secret_scan_close(scan);
	look = (struct secret_look){.exempt = &exempt, .exempt_count = 1};
	/* Beside another that is real. */
	assert_int_equal(buf_add_byte(&text, ' '), 0);
	make_github("gho_", &text);
	exempt = bytes_slice(buf_view(&text), 0, 40);
	scan = open_scan(&look);
	expect_in(scan, around, buf_view(&text), "github token");
	secret_scan_close(scan);
	buf_release(&text);
}

static void a_token_is_found_across_megabytes(void **state)
{
	const size_t mib = (size_t)1024 * 1024;
	auto_free uint8_t *noise = malloc(mib);
	struct secret_scan *scan = open_scan(NULL);
	struct buf text;

	(void)state;
	assert_non_null(noise);
	memset(noise, 'n', mib);
	buf_init(&text, 4 * mib);
	assert_int_equal(buf_add(&text, bytes_from(noise, mib - 17)), 0);
	make("glpat-{20w}", false, &text);
	assert_int_equal(buf_add(&text, bytes_from(noise, mib)), 0);
	assert_string_equal(secret_scan_feed(scan, buf_view(&text)),
			    "gitlab token");
	/* Found once, it stays, until the text ends. */
	assert_string_equal(secret_scan_feed(scan, bytes_str("x")),
			    "gitlab token");
	assert_string_equal(secret_scan_end(scan), "gitlab token");
	assert_null(secret_scan_end(scan));
	secret_scan_close(scan);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_found_and_its_near_miss_is_not),
		cmocka_unit_test(there_are_at_least_80_kinds),
		cmocka_unit_test(checksums_are_verified),
		cmocka_unit_test(an_age_key_has_a_checksum),
		cmocka_unit_test(a_token_of_parts_is_looked_into),
		cmocka_unit_test(examples_of_manuals_are_none),
		cmocka_unit_test(
			a_placeholder_is_no_secret_and_its_neighbour_is),
		cmocka_unit_test(a_token_is_found_across_megabytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
