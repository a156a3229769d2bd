/*
 * Certificates for tests, good and bad. Each starts from a good recipe and
 * has one thing wrong.
 */
#ifndef TESTS_FORGE_H
#define TESTS_FORGE_H

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "common/buf.h"
#include "tests/unit/gateway/tls/forge_version.h"

#define FORGE_HOST "good.test"
#define FORGE_DAY  86400

struct recipe {
	const char *cn;	 /* NULL: an empty subject */
	const char *san; /* NULL: none; likewise below */
	const char *basic;
	const char *usage;
	const char *ext_usage;
	const char *serial; /* decimal */
	const char *key;    /* "P-256", "P-224", "RSA:2048"... */
	const EVP_MD *digest;
	long version;
	long from_days, to_days; /* relative to now */
	const char *names;	 /* name constraints */
	const char *policies;	 /* policy constraints */
	const char *comment;	 /* what nobody must know */
};

static inline struct recipe recipe_good(void)
{
	return (struct recipe){
		.cn = FORGE_HOST,
		.san = "DNS:" FORGE_HOST,
		.basic = "critical,CA:FALSE",
		.usage = "critical,digitalSignature",
		.ext_usage = "serverAuth",
		.serial = "4660",
		.key = "P-256",
		.digest = EVP_sha256(),
		.version = X509_VERSION_3,
		.from_days = -1,
		.to_days = 30,
	};
}

static inline struct recipe recipe_root(const char *cn)
{
	struct recipe root = recipe_good();

	root.cn = cn;
	root.san = NULL;
	root.basic = "critical,CA:TRUE";
	root.usage = "critical,keyCertSign";
	root.ext_usage = NULL;
	return root;
}

struct forged {
	X509 *cert;
	EVP_PKEY *key;
};

static inline void forged_release(struct forged *forged)
{
	X509_free(forged->cert);
	EVP_PKEY_free(forged->key);
}

static inline EVP_PKEY *forge_key(const char *kind)
{
	if (!strncmp(kind, "RSA:", 4))
		return EVP_RSA_gen((size_t)strtoul(kind + 4, NULL, 10));
	if (!strcmp(kind, "ED25519"))
		return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	return EVP_EC_gen(kind);
}

static inline void forge_extension(X509 *cert, X509 *issuer, int nid,
				   const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	if (!value)
		return;
	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(cert, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static inline void forge_fields(X509 *cert, const struct recipe *recipe)
{
	X509_NAME *name = X509_get_subject_name(cert);
	BIGNUM *serial = NULL;

	assert_int_equal(X509_set_version(cert, recipe->version), 1);
	assert_true(BN_dec2bn(&serial, recipe->serial) > 0);
	assert_non_null(
		BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert)));
	BN_free(serial);
	if (recipe->cn)
		assert_int_equal(
			X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
						   (const uint8_t *)recipe->cn,
						   -1, -1, 0),
			1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert),
					recipe->from_days * FORGE_DAY));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert),
					recipe->to_days * FORGE_DAY));
}

/* Make a certificate; by NULL: self-signed. */
static inline struct forged forge(const struct recipe *recipe,
				  const struct forged *by)
{
	struct forged forged = {X509_new(), forge_key(recipe->key)};
	X509 *issuer = by ? by->cert : forged.cert;

	assert_non_null(forged.key);
	forge_fields(forged.cert, recipe);
	assert_int_equal(X509_set_issuer_name(forged.cert,
					      X509_get_subject_name(issuer)),
			 1);
	assert_int_equal(X509_set_pubkey(forged.cert, forged.key), 1);
	forge_extension(forged.cert, issuer, NID_basic_constraints,
			recipe->basic);
	forge_extension(forged.cert, issuer, NID_key_usage, recipe->usage);
	forge_extension(forged.cert, issuer, NID_ext_key_usage,
			recipe->ext_usage);
	forge_extension(forged.cert, issuer, NID_subject_alt_name, recipe->san);
	forge_extension(forged.cert, issuer, NID_name_constraints,
			recipe->names);
	forge_extension(forged.cert, issuer, NID_policy_constraints,
			recipe->policies);
	/* OpenSSL 3.0 loses constraints of a certificate without any. */
	forge_extension(forged.cert, issuer, NID_certificate_policies,
			recipe->policies ? "DER:30:07:30:05:06:03:2A:03:04"
					 : NULL);
	forge_extension(forged.cert, issuer, NID_netscape_comment,
			recipe->comment);
	forge_extension(forged.cert, issuer, NID_subject_key_identifier,
			"hash");
	forge_extension(forged.cert, issuer, NID_authority_key_identifier,
			"keyid");
	assert_true(X509_sign(forged.cert, by ? by->key : forged.key,
			      recipe->digest) > 0);
	if (recipe->version != X509_VERSION_3)
		forge_version(&forged.cert, recipe->version,
			      by ? by->key : forged.key, recipe->digest);
	return forged;
}

/* Append as PEM to out. */
static inline void forge_pem(const X509 *cert, struct buf *out)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	assert_int_equal(PEM_write_bio_X509(bio, cert), 1);
	len = BIO_get_mem_data(bio, &text);
	assert_int_equal(buf_add(out, bytes_from(text, (size_t)len)), 0);
	BIO_free(bio);
}

#endif
