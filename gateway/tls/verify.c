#include "gateway/tls/verify.h"

#include <openssl/evp.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "common/cleanup.h"

#define SIGNATURE_BITS_MIN 112 /* SHA-1 and MD5 have less (SP 800-57) */

static bool version_is_3(X509 *leaf)
{
	return X509_get_version(leaf) == X509_VERSION_3;
}

static bool extensions_are_readable(X509 *leaf)
{
	return (X509_get_extension_flags(leaf) & EXFLAG_INVALID) == 0;
}

static bool serial_is_positive(X509 *leaf)
{
	const ASN1_INTEGER *serial = X509_get0_serialNumber(leaf);
	int64_t value;

	if (serial->type == V_ASN1_NEG_INTEGER)
		return false;
	/* What does not fit 64 bits is not zero. */
	return !ASN1_INTEGER_get_int64(&value, serial) || value != 0;
}

/* In DER a number whose top bit is set takes one more octet. */
static bool serial_is_short(X509 *leaf)
{
	const ASN1_INTEGER *serial = X509_get0_serialNumber(leaf);
	bool is_padded = serial->length > 0 && (serial->data[0] & 0x80) != 0;

	return serial->length + is_padded <= TLS_LEAF_SERIAL_MAX;
}

static bool key_is_strong(X509 *leaf)
{
	EVP_PKEY *key = X509_get0_pubkey(leaf);

	if (!key)
		return false;
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_RSA:
	case EVP_PKEY_RSA_PSS:
		return EVP_PKEY_get_bits(key) >= TLS_LEAF_RSA_BITS_MIN;
	case EVP_PKEY_EC:
		return EVP_PKEY_get_bits(key) >= TLS_LEAF_EC_BITS_MIN;
	case EVP_PKEY_ED25519:
	case EVP_PKEY_ED448:
		return true;
	default:
		return false;
	}
}

static bool signature_is_strong(X509 *leaf)
{
	int bits = 0;

	return X509_get_signature_info(leaf, NULL, NULL, &bits, NULL) &&
	       bits >= SIGNATURE_BITS_MIN;
}

static bool has_alt_name(X509 *leaf)
{
	GENERAL_NAMES *names =
		X509_get_ext_d2i(leaf, NID_subject_alt_name, NULL, NULL);
	bool has = names && sk_GENERAL_NAME_num(names) > 0;

	GENERAL_NAMES_free(names);
	return has;
}

static bool is_not_ca(X509 *leaf)
{
	/* X509_check_ca() overlooks CA:TRUE without keyCertSign. */
	return X509_check_ca(leaf) == 0 &&
	       (X509_get_extension_flags(leaf) & EXFLAG_CA) == 0;
}

static bool is_for_servers(X509 *leaf)
{
	return (X509_get_extension_flags(leaf) & EXFLAG_XKUSAGE) != 0 &&
	       (X509_get_extended_key_usage(leaf) & XKU_SSL_SERVER) != 0;
}

static bool key_may_be_used(X509 *leaf)
{
	const uint32_t wanted =
		KU_DIGITAL_SIGNATURE | KU_KEY_ENCIPHERMENT | KU_KEY_AGREEMENT;

	/* All bits are set when there is no key usage. */
	return (X509_get_key_usage(leaf) & wanted) != 0;
}

static bool has_begun(X509 *leaf)
{
	return X509_cmp_current_time(X509_get0_notBefore(leaf)) < 0;
}

static bool has_not_ended(X509 *leaf)
{
	return X509_cmp_current_time(X509_get0_notAfter(leaf)) > 0;
}

int tls_verify_leaf(X509 *leaf, void *owner, struct err *err)
{
	static const struct {
		bool (*holds)(X509 *leaf);
		const char *failure;
	} checks[] = {
		{version_is_3, "not version 3"},
		{extensions_are_readable, "malformed extensions"},
		{serial_is_positive, "serial number is not positive"},
		{serial_is_short, "serial number is longer than 20 octets"},
		{key_is_strong, "key is too weak or of an unknown kind"},
		{signature_is_strong, "signature is too weak (SHA-1 or older)"},
		{has_alt_name, "no subjectAltName"},
		{is_not_ca, "a CA's certificate used as a server's"},
		{is_for_servers, "no extended key usage serverAuth"},
		{key_may_be_used, "key usage does not allow TLS"},
		{has_begun, "not valid yet"},
		{has_not_ended, "expired"},
	};

	(void)owner;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (!checks[i].holds(leaf))
			return err_set(err, ERR_INVALID,
				       "the server's certificate: %s",
				       checks[i].failure);
	return 0;
}
