#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include "common/cleanup.h"
#include "policies/inspect/prints.h"

static const char *const secrets[] = {
	"sixteen bytes /+",
	"a token of 24 bytes ~~?>",
	("the one of 100 bytes, of which the middle is looked at, whatever "
	 "stands around it, and what its kind is....."),
};

static struct secret_prints *prints_of_all(void)
{
	struct secret_prints *prints = prints_new();
	struct err err = {0};

	assert_non_null(prints);
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		assert_int_equal(prints_add(prints, bytes_str(&"s0123"[i + 1]),
					    bytes_str(secrets[i]), &err),
				 0);
	return prints;
}

/* What a text holds, fed whole and bytewise. */
static const char *seek(const struct secret_prints *prints, struct bytes text)
{
	struct prints_scan *scan = prints_scan_open(prints);
	const char *whole;
	const char *pieces = NULL;

	assert_non_null(scan);
	whole = prints_scan_feed(scan, text);
	prints_scan_reset(scan);
	for (size_t i = 0; i < text.len && !pieces; i++)
		pieces = prints_scan_feed(scan, bytes_slice(text, i, i + 1));
	assert_ptr_equal(whole, pieces);
	prints_scan_close(scan);
	return whole;
}

static void put_base64(struct bytes text, const char *url, struct buf *out)
{
	uint8_t *to = buf_reserve(out, text.len * 2 + 4);
	int len = EVP_EncodeBlock(to, text.data, (int)text.len);

	for (int i = 0; url && i < len; i++)
		if (to[i] == '+' || to[i] == '/')
			to[i] = (uint8_t)url[to[i] == '/'];
	buf_commit(out, (size_t)len);
}

static void put_hex(struct bytes text, const char *format, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++)
		assert_int_equal(buf_add_format(out, "%02x", text.data[i]), 0);
	for (size_t i = 0; *format == 'X' && i < out->end; i++)
		if (out->data[i] >= 'a')
			out->data[i] -= 32;
}

static void put_escaped(struct bytes text, const char *format, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];
		bool is_plain = (c >= 'a' && c <= 'z') ||
				(c >= '0' && c <= '9') || c == '.' || c == '~';

		if (is_plain)
			assert_int_equal(buf_add_byte(out, c), 0);
		else if (*format == 'X')
			assert_int_equal(buf_add_format(out, "%%%02X", c), 0);
		else
			assert_int_equal(buf_add_format(out, "%%%02x", c), 0);
	}
}

static void put_plain(struct bytes text, const char *format, struct buf *out)
{
	(void)format;
	assert_int_equal(buf_add(out, text), 0);
}

static const struct form {
	void (*put)(struct bytes text, const char *how, struct buf *out);
	const char *how;
} forms[] = {
	{put_plain, NULL},  {put_base64, NULL}, {put_base64, "-_"},
	{put_hex, "x"},	    {put_hex, "X"},	{put_escaped, "x"},
	{put_escaped, "X"},
};

/* The secret with `before` bytes before it and some after, written so. */
static void write_form(const struct form *form, size_t before,
		       struct bytes secret, struct buf *out)
{
	struct buf plain;

	buf_init(&plain, 1024);
	assert_int_equal(
		buf_add(&plain, bytes_slice(bytes_str("abcdefgh"), 0, before)),
		0);
	assert_int_equal(buf_add(&plain, secret), 0);
	assert_int_equal(buf_add_str(&plain, "xyz"), 0);
	form->put(buf_view(&plain), form->how, out);
	buf_release(&plain);
}

static void expect_form(const struct secret_prints *prints, size_t which,
			const struct form *form, size_t before)
{
	struct buf secret;
	struct buf out;
	char name[8];

	buf_init(&secret, 1024);
	buf_init(&out, 4096);
	assert_int_equal(buf_add_str(&secret, secrets[which]), 0);
	write_form(form, before, buf_view(&secret), &out);
	assert_true(snprintf(name, sizeof(name), "%s", &"s0123"[which + 1]) >
		    0);
	assert_string_equal(seek(prints, buf_view(&out)), name);
	buf_clear(&out);
	secret.data[secret.end / 2] ^= 1;
	write_form(form, before, buf_view(&secret), &out);
	assert_null(seek(prints, buf_view(&out)));
	buf_release(&out);
	buf_release(&secret);
}

static void a_secret_is_found_in_every_form(void **state)
{
	struct secret_prints *prints = prints_of_all();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		for (size_t j = 0; j < ARRAY_SIZE(forms); j++)
			for (size_t before = 0; before < 4; before++)
				expect_form(prints, i, &forms[j], before);
	prints_free(prints);
}

static void prints_survive_their_bytes(void **state)
{
	struct secret_prints *made = prints_of_all();
	struct secret_prints *prints;
	struct err err = {0};
	struct buf bytes;

	(void)state;
	buf_init(&bytes, PRINTS_BYTES_MAX);
	assert_int_equal(prints_write(made, &bytes), 0);
	/* No form of a secret stands in them. */
	assert_null(seek(made, buf_view(&bytes)));
	prints_free(made);
	prints = prints_read(buf_view(&bytes), &err);
	assert_non_null(prints);
	for (size_t j = 0; j < ARRAY_SIZE(forms); j++)
		expect_form(prints, 2, &forms[j], 1);
	prints_free(prints);
	for (size_t len = 0; len < bytes.end; len++) {
		prints = prints_read(bytes_from(bytes.data, len), &err);
		assert_null(prints);
		assert_int_equal(err.code, ERR_INVALID);
	}
	assert_int_equal(buf_add_byte(&bytes, 0), 0);
	assert_null(prints_read(buf_view(&bytes), &err));
	buf_release(&bytes);
}

static void who_keeps_prints_may_still_look(void **state)
{
	static const char secret[] = "a very long secret indeed";
	struct secret_prints *prints = prints_new(), *kept;
	struct err err = {0};
	struct prints_scan *scan;

	(void)state;
	assert_int_equal(
		prints_add(prints, bytes_str("s"), bytes_str(secret), &err), 0);
	kept = prints_keep(prints);
	scan = prints_scan_open(kept);
	assert_non_null(scan);
	prints_free(prints);
	assert_string_equal(prints_scan_feed(scan, bytes_str(secret)), "s");
	prints_scan_close(scan);
	prints_free(kept);
	assert_null(prints_keep(NULL));
	prints_free(NULL);
}

static void prints_are_bounded(void **state)
{
	struct secret_prints *prints = prints_new();
	char secret[] = "a very long secret 00?";
	struct err err = {0};
	struct buf bytes;

	(void)state;
	assert_int_equal(
		prints_add(prints, bytes_str(""), bytes_str(secret), &err), -1);
	/* Too short to be kept from guessing: left out, and not counted. */
	assert_int_equal(prints_add(prints, bytes_str("s"),
				    bytes_str("fifteen bytes ."), &err),
			 0);
	assert_null(seek(prints, bytes_str("a fifteen bytes . b")));
	for (int i = 0; i < PRINTS_SECRETS_MAX; i++) {
		secret[20] = (char)('0' + i);
		assert_int_equal(prints_add(prints, bytes_str("s"),
					    bytes_str(secret), &err),
				 0);
	}
	assert_int_equal(
		prints_add(prints, bytes_str("s"), bytes_str(secret), &err),
		-1);
	buf_init(&bytes, PRINTS_BYTES_MAX);
	assert_int_equal(prints_write(prints, &bytes), 0);
	buf_release(&bytes);
	prints_free(prints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_found_in_every_form),
		cmocka_unit_test(prints_survive_their_bytes),
		cmocka_unit_test(who_keeps_prints_may_still_look),
		cmocka_unit_test(prints_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
