#include "common/openssl_words.h"

#include <stdbool.h>

/* What is left out at the start cannot be loaded as a whole any more, only one
 * part after the other, by the oldest functions. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/err.h>

static bool is_waiting;

void openssl_words_wait(void)
{
	is_waiting = OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
					 NULL) == 1;
}

static void load(void)
{
	(void)ERR_load_ERR_strings();
	(void)ERR_load_ASN1_strings();
	(void)ERR_load_BIO_strings();
	(void)ERR_load_BN_strings();
	(void)ERR_load_CRYPTO_strings();
	(void)ERR_load_EC_strings();
	(void)ERR_load_EVP_strings();
	(void)ERR_load_OBJ_strings();
	(void)ERR_load_PEM_strings();
	(void)ERR_load_RAND_strings();
	(void)ERR_load_RSA_strings();
	(void)ERR_load_X509_strings();
	(void)ERR_load_X509V3_strings();
}

const char *openssl_reason(unsigned long code)
{
	if (is_waiting) {
		is_waiting = false;
		load();
	}
	return ERR_reason_error_string(code);
}
