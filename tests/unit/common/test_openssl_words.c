#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "common/openssl_words.h"

/* The code of what OpenSSL finds wrong with a certificate that is none. */
static unsigned long code_of_a_failure(void)
{
	BIO *bio = BIO_new_mem_buf("no certificate", -1);
	unsigned long code;

	assert_null(PEM_read_bio_X509(bio, NULL, NULL, NULL));
	BIO_free(bio);
	code = ERR_peek_last_error();
	ERR_clear_error();
	return code;
}

static void words_wait_for_the_first_question(void **state)
{
	unsigned long code;

	(void)state;
	openssl_words_wait();
	code = code_of_a_failure();
	assert_null(ERR_reason_error_string(code));
	assert_string_equal(openssl_reason(code), "no start line");
	assert_string_equal(openssl_reason(code), "no start line");
	assert_null(openssl_reason(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_wait_for_the_first_question),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
