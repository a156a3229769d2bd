#include "certs/bundle.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "common/cleanup.h"
#include "common/openssl_words.h"

#define MAC_ITERATIONS 10000
#define FRIENDLY_NAME  "sallyport"
/* Oracle's attribute "trusted for": without it Java takes a certificate for
 * a mere link of some chain. Its value here: any purpose. */
#define TRUSTED_KEY_USAGE "2.16.840.1.113894.746875.1.1"
#define ANY_KEY_USAGE	  "2.5.29.37.0"

static int fail(struct err *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? openssl_reason(code) : NULL;

	ERR_clear_error();
	return err_set(err, ERR_LIBRARY, "%s: %s", what,
		       reason ? reason : "no reason");
}

static void bio_release(BIO **bio)
{
	BIO_free(*bio);
}

/* Append what bio holds. */
static int take(BIO *bio, struct buf *out, struct err *err)
{
	char *data = NULL;
	long len = BIO_get_mem_data(bio, &data);

	if (buf_add(out, bytes_from(data, (size_t)len)))
		return err_set(err, ERR_TOO_LARGE, "a bundle of %ld bytes",
			       len);
	return 0;
}

int bundle_pem(const struct ca *ca, struct buf *out, struct err *err)
{
	auto_type(bio_release) BIO *bio = BIO_new(BIO_s_mem());

	if (!bio || !PEM_write_bio_X509(bio, ca->cert))
		return fail(err, "write PEM");
	return take(bio, out, err);
}

/* One certificate bag, told to be trusted. */
static PKCS12_SAFEBAG *make_bag(X509 *cert)
{
	PKCS12_SAFEBAG *bag = PKCS12_SAFEBAG_create_cert(cert);
	ASN1_OBJECT *usage = OBJ_txt2obj(ANY_KEY_USAGE, 1);
	bool ok = bag && usage &&
		  PKCS12_add_friendlyname_utf8(bag, FRIENDLY_NAME, -1) &&
		  PKCS12_add1_attr_by_txt(bag, TRUSTED_KEY_USAGE, V_ASN1_OBJECT,
					  (const uint8_t *)usage, -1);

	ASN1_OBJECT_free(usage);
	if (ok)
		return bag;
	PKCS12_SAFEBAG_free(bag);
	return NULL;
}

/* The bag is public: it is not encrypted, only sealed with the password. */
static PKCS12 *make_store(X509 *cert)
{
	STACK_OF(PKCS12_SAFEBAG) *bags = sk_PKCS12_SAFEBAG_new_null();
	STACK_OF(PKCS7) *safes = NULL;
	PKCS12_SAFEBAG *bag = bags ? make_bag(cert) : NULL;
	PKCS12 *store = NULL;

	if (bag && sk_PKCS12_SAFEBAG_push(bags, bag) <= 0) {
		PKCS12_SAFEBAG_free(bag);
		bag = NULL;
	}
	if (bag && PKCS12_add_safe(&safes, bags, -1, 0, NULL))
		store = PKCS12_add_safes(safes, 0);
	if (store && !PKCS12_set_mac(store, BUNDLE_PASSWORD, -1, NULL, 0,
				     MAC_ITERATIONS, EVP_sha256())) {
		PKCS12_free(store);
		store = NULL;
	}
	sk_PKCS7_pop_free(safes, PKCS7_free);
	sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	return store;
}

int bundle_pkcs12(const struct ca *ca, struct buf *out, struct err *err)
{
	auto_type(bio_release) BIO *bio = BIO_new(BIO_s_mem());
	PKCS12 *store = make_store(ca->cert);
	bool ok = bio && store && i2d_PKCS12_bio(bio, store);

	PKCS12_free(store);
	return ok ? take(bio, out, err) : fail(err, "write PKCS#12");
}
