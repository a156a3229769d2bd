#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "common/base64.h"
#include "common/cleanup.h"
#include "common/digest.h"
#include "gateway/vault/ssh_key.h"

/* Keys of nobody, by ssh-keygen and openssl genpkey. */
static const char openssh[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
			      "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAA"
			      "AAABAAAAMwAAAAtzc2gtZW\n"
			      "QyNTUxOQAAACA5SRTzOANnPLueR99l0W5eyZoYFpBcXFOkBz"
			      "vjRa/K5wAAAJAcJ44CHCeO\n"
			      "AgAAAAtzc2gtZWQyNTUxOQAAACA5SRTzOANnPLueR99l0W5e"
			      "yZoYFpBcXFOkBzvjRa/K5w\n"
			      "AAAEAC5oUT+sgllb+xbz6CDmUvDttjSDXBev+"
			      "Hugoh0zx22jlJFPM4A2c8u55H32XRbl7J\n"
			      "mhgWkFxcU6QHO+NFr8rnAAAABmEgdGVzdAECAwQFBgc=\n"
			      "-----END OPENSSH PRIVATE KEY-----\n";
static const char openssh_locked[] = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
				     "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAA"
				     "AAGYmNyeXB0AAAAGAAAABCod5+AuQ\n"
				     "wZ5HcHmB593zTRAAAAEAAAAAEAAAAzAAAAC3NzaC1"
				     "lZDI1NTE5AAAAIKc3HHA9vMQakmgi\n"
				     "7fYVvOq7Jw6HNZAAMdhv42h7uwDoAAAAkPVa8awkY"
				     "q4tzUQ3QuOPDD0CowYlctl1aPVA8I\n"
				     "CQGJyQdEuQo4g5anzeBWir+fVdM0blRKS+"
				     "T8TZOlNwi4MnUq52soI4tls/Yh6HqW4ixrcg\n"
				     "udVbWSDnNa89mDdUQ2vFpuTRFWEn7OP8hKO6yv8hr"
				     "9psV3EBC8rkqm/kuLKld3Y4DduTjG\n"
				     "grk6iDFubDpTcBDA==\n"
				     "-----END OPENSSH PRIVATE KEY-----\n";
static const char openssh_ecdsa[] =
	"-----BEGIN OPENSSH PRIVATE KEY-----\n"
	"b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAaAAAABNlY2RzYS"
	"\n"
	"1zaGEyLW5pc3RwMjU2AAAACG5pc3RwMjU2AAAAQQSOcjwr7nMfgTAb5Cm/"
	"DtcSpR1MOw9N\n"
	"pO9G840nMvrjlQMIoKSNPklQUUXWW6K7U/"
	"onnWnMVpEI78L6NA08hGX8AAAAoMQgTr3EIE\n"
	"69AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBI5yPCvucx+"
	"BMBvk\n"
	"Kb8O1xKlHUw7D02k70bzjScy+uOVAwigpI0+SVBRRdZbortT+"
	"iedacxWkQjvwvo0DTyEZf\n"
	"wAAAAhAO+zXr8FSC2fBaO83swdz1pwIzdRqj7SSfQbXm/4f/ClAAAAAAECAwQFBgc=\n"
	"-----END OPENSSH PRIVATE KEY-----\n";
static const char pkcs8[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEIOY/AWeSBmmsLj0XzvI+NY7QUsAW7JEfiAwMMSJdzVyq\n"
	"-----END PRIVATE KEY-----\n";
static const char pkcs8_locked[] =
	"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
	"MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgLO3HHiBuSrwICCAAw\n"
	"DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEIdvKWEOHGrxHFu6KtExI/IEQOnO\n"
	"weWobf2xI8JUTTIliyIcWJOdshMYaJL+w4uR4Pb1FRqHFoM6I63W99dUr1WTgnY4\n"
	"VHCYyzk4iQ/bT3J8hI8=\n"
	"-----END ENCRYPTED PRIVATE KEY-----\n";
static const char pkcs8_x25519[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VuBCIEIHDTU4CdxFcbCzHBePzQFaYSjNxYNpa0HnonVEk1PHVs\n"
	"-----END PRIVATE KEY-----\n";
#define OPENSSH_PUBLIC                                                         \
	"ssh-ed25519 "                                                         \
	"AAAAC3NzaC1lZDI1NTE5AAAAIDlJFPM4A2c8u55H32XRbl7JmhgWkFxcU6QHO+NFr8rn"
#define PKCS8_PUBLIC                                                           \
	"ssh-ed25519 "                                                         \
	"AAAAC3NzaC1lZDI1NTE5AAAAIHF0HmzxJeHqPgT2QflfIPGwJeFJ1WyOTLvR41uXEeC2"
static const char object[] = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
			     "author A <a@b> 1700000000 +0000\n"
			     "committer A <a@b> 1700000000 +0000\n"
			     "\n"
			     "a message\n";
/* What ssh-keygen -Y sign -n git makes of it with the first key. */
static const char signature[] =
	"U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOUkU8zgDZzy7nkffZdFu"
	"XsmaGBaQXFxTpAc740WvyucAAAADZ2l0AAAAAAAAAAZzaGE1MTIAAABTAAAAC3Nz"
	"aC1lZDI1NTE5AAAAQHrb6olI77Jo8A9Ki3lXzA8wy+67fWlXrr3WFpNfHpI5IYkd"
	"X601E86g2RIqsLtXYfi88/wnUzRsOda6bkojtQ8=";

static void keys_are_read_as_people_have_them(void **state)
{
	static const struct {
		const char *text, *public_key;
	} rows[] = {
		{openssh, OPENSSH_PUBLIC},
		{pkcs8, PKCS8_PUBLIC},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[SIGN_KEY_MAX + 1];
		struct ssh_key key;
		struct err err;

		assert_int_equal(
			ssh_key_read(&key, bytes_str(rows[i].text), &err), 0);
		ssh_key_write(&key, text);
		assert_string_equal(text, rows[i].public_key);
		ssh_key_release(&key);
	}
	/* `secret put` takes the last LF away. */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes whole = bytes_str(rows[i].text);
		struct ssh_key key;
		struct err err;

		assert_int_equal(
			ssh_key_read(&key, bytes_slice(whole, 0, whole.len - 1),
				     &err),
			0);
		ssh_key_release(&key);
	}
}

static void what_is_unfit_is_told_why(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{openssh_locked, "it has a passphrase"},
		{openssh_ecdsa, "no Ed25519 key"},
		{pkcs8_locked, "it has a passphrase"},
		{pkcs8_x25519, "no Ed25519 key"},
		{"", "no private key"},
		{"ghp_0123456789abcdef", "no private key"},
		{OPENSSH_PUBLIC, "no private key"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\n", "no private key"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
		 "-----END OPENSSH PRIVATE KEY-----\n",
		 "no private key"},
		{"-----BEGIN PRIVATE KEY-----\nAAAA\n"
		 "-----END PRIVATE KEY-----\n",
		 "no private key"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ssh_key key;
		struct err err;

		assert_int_equal(
			ssh_key_read(&key, bytes_str(rows[i].text), &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		if (!strstr(err.text, rows[i].told))
			fail_msg("%s: %s", rows[i].text, err.text);
		assert_null(key.seed.data);
	}
}

/* Whatever is altered of the file is seen, or does not matter. */
static void a_damaged_file_is_no_key(void **state)
{
	size_t len = strlen(openssh);
	char *text = strdup(openssh);
	size_t read = 0;

	(void)state;
	for (size_t i = 0; i < len; i++) {
		struct ssh_key key;
		char out[SIGN_KEY_MAX + 1];
		struct err err;

		text[i] = text[i] == 'A' ? 'B' : 'A';
		if (ssh_key_read(&key, bytes_str(text), &err) == 0) {
			ssh_key_write(&key, out);
			assert_string_equal(out, OPENSSH_PUBLIC);
			ssh_key_release(&key);
			read++;
		}
		text[i] = openssh[i];
	}
	/* Its comment, checks that are the same twice, the outer public key,
	 * what stands behind the end. */
	assert_true(read < len / 2);
	free(text);
}

static void a_signature_is_that_of_ssh_keygen(void **state)
{
	uint8_t digest[DIGEST_SHA512_LEN];
	char text[BASE64_LEN(SIGN_BLOB_MAX) + 1];
	struct ssh_key key;
	struct buf blob;
	struct err err;

	(void)state;
	digest_sha512(bytes_str(object), digest);
	buf_init(&blob, SIGN_BLOB_MAX);
	assert_int_equal(ssh_key_read(&key, bytes_str(openssh), &err), 0);
	assert_int_equal(ssh_key_sign(&key, digest, &blob, &err), 0);
	base64_encode(buf_view(&blob), text);
	assert_string_equal(text, signature);
	ssh_key_release(&key);
	buf_release(&blob);
}

static void each_key_that_is_made_is_another(void **state)
{
	char one[SIGN_KEY_MAX + 1], two[SIGN_KEY_MAX + 1];
	struct ssh_key key;
	struct err err;

	(void)state;
	assert_int_equal(ssh_key_make(&key, &err), 0);
	ssh_key_write(&key, one);
	ssh_key_release(&key);
	assert_int_equal(ssh_key_make(&key, &err), 0);
	ssh_key_write(&key, two);
	ssh_key_release(&key);
	assert_string_not_equal(one, two);
	assert_int_equal(
		strncmp(one, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI", 37), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_read_as_people_have_them),
		cmocka_unit_test(what_is_unfit_is_told_why),
		cmocka_unit_test(a_damaged_file_is_no_key),
		cmocka_unit_test(a_signature_is_that_of_ssh_keygen),
		cmocka_unit_test(each_key_that_is_made_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
