#include "certs/leaf.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "common/digest.h"
#include "common/openssl_words.h"
#include "policies/host.h"

#define COMMON_NAME_MAX 64 /* RFC 5280 ub-common-name */
#define POINT_LEN	65 /* 0x04, x, y */

/* The DER of a P-256 SubjectPublicKeyInfo up to its point (RFC 5480):
 * SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING }. */
static const uint8_t p256_prefix[] = {
	0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48,
	0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
	0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
};

static int fail(struct err *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? openssl_reason(code) : NULL;

	ERR_clear_error();
	return err_set(err, ERR_LIBRARY, "%s: %s", what,
		       reason ? reason : "no reason");
}

/* ---- the template ---- */

static int add_extension(X509 *cert, const struct ca *ca, int nid,
			 const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	int ok;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, ca->cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return ok;
}

static int expiry_ms(const X509 *cert, uint64_t *wall_ms)
{
	struct tm time;

	if (!ASN1_TIME_to_tm(X509_get0_notAfter(cert), &time))
		return 0;
	*wall_ms = (uint64_t)timegm(&time) * 1000;
	return 1;
}

int leaf_template_init(struct leaf_template *template, const struct ca *ca,
		       struct err *err)
{
	X509 *cert = X509_new();

	*template = (struct leaf_template){.ca = ca, .cert = cert};
	template->group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	if (template->group && cert && X509_set_version(cert, X509_VERSION_3) &&
	    X509_set_issuer_name(cert, X509_get_subject_name(ca->cert)) &&
	    add_extension(cert, ca, NID_basic_constraints,
			  "critical,CA:FALSE") &&
	    add_extension(cert, ca, NID_key_usage,
			  "critical,digitalSignature") &&
	    add_extension(cert, ca, NID_ext_key_usage, "serverAuth") &&
	    add_extension(cert, ca, NID_authority_key_identifier,
			  "keyid:always") &&
	    expiry_ms(ca->cert, &template->ca_expires_ms))
		return 0;
	leaf_template_release(template);
	return fail(err, "make leaf template");
}

void leaf_template_release(struct leaf_template *template)
{
	X509_free(template->cert);
	EC_GROUP_free(template->group);
	*template = (struct leaf_template){0};
}

/* ---- what differs ---- */

static bool point_is_on_curve(const EC_GROUP *group, struct bytes point)
{
	EC_POINT *parsed = EC_POINT_new(group);
	/* Checks the curve's equation; P-256 has no small subgroup. */
	bool ok = parsed && EC_POINT_oct2point(group, parsed, point.data,
					       point.len, NULL);

	EC_POINT_free(parsed);
	return ok;
}

static int set_key(struct leaf_template *template, struct bytes public_key,
		   struct err *err)
{
	struct bytes prefix = bytes_from(p256_prefix, sizeof(p256_prefix));
	struct bytes point =
		bytes_slice(public_key, prefix.len, public_key.len);
	uint8_t *copy;

	if (public_key.len != prefix.len + POINT_LEN ||
	    !bytes_starts_with(public_key, prefix) || point.data[0] != 0x04)
		return err_set(err, ERR_INVALID,
			       "the public key is not one of P-256");
	if (!point_is_on_curve(template->group, point)) {
		ERR_clear_error();
		return err_set(err, ERR_INVALID,
			       "the public key is no point of P-256");
	}
	copy = OPENSSL_memdup(point.data, point.len);
	if (copy &&
	    X509_PUBKEY_set0_param(
		    X509_get_X509_PUBKEY(template->cert),
		    OBJ_nid2obj(NID_X9_62_id_ecPublicKey), V_ASN1_OBJECT,
		    OBJ_nid2obj(NID_X9_62_prime256v1), copy, (int)point.len))
		return 0;
	OPENSSL_free(copy);
	return fail(err, "set the leaf's key");
}

static bool set_serial(X509 *cert)
{
	uint8_t random[16];
	BIGNUM *number;
	bool ok;

	random_bytes(random, sizeof(random));
	number = BN_bin2bn(random, sizeof(random), NULL);
	ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return ok;
}

static bool set_times(struct leaf_template *template,
		      const struct leaf_request *request, struct leaf *leaf)
{
	uint64_t start_ms = request->wall_ms - LEAF_START_BACK_MS;

	leaf->expires_ms = request->wall_ms + request->valid_ms;
	if (leaf->expires_ms > template->ca_expires_ms)
		leaf->expires_ms = template->ca_expires_ms;
	return ASN1_TIME_set(X509_getm_notBefore(template->cert),
			     (time_t)(start_ms / 1000)) &&
	       ASN1_TIME_set(X509_getm_notAfter(template->cert),
			     (time_t)(leaf->expires_ms / 1000));
}

/* A subject for people and old programs; nobody decides on it. */
static bool set_subject(X509 *cert, const char *name)
{
	X509_NAME *subject = X509_NAME_new();
	bool ok = subject &&
		  (strlen(name) > COMMON_NAME_MAX ||
		   X509_NAME_add_entry_by_NID(
			   subject, NID_commonName, MBSTRING_ASC,
			   (const uint8_t *)name, -1, -1, 0)) &&
		  X509_set_subject_name(cert, subject);

	X509_NAME_free(subject);
	return ok;
}

static GENERAL_NAME *general_name(const char *name, enum host_kind kind)
{
	GENERAL_NAME *general = GENERAL_NAME_new();
	ASN1_STRING *value = general ? ASN1_IA5STRING_new() : NULL;
	uint8_t address[16];
	bool ok;

	if (kind == HOST_NAME) {
		ok = value && ASN1_STRING_set(value, name, -1);
	} else {
		int family = kind == HOST_IPV4 ? AF_INET : AF_INET6;

		ASN1_STRING_free(value);
		value = ASN1_OCTET_STRING_new();
		ok = value && inet_pton(family, name, address) == 1 &&
		     ASN1_STRING_set(value, address,
				     kind == HOST_IPV4 ? 4 : 16);
	}
	if (!ok) {
		ASN1_STRING_free(value);
		GENERAL_NAME_free(general);
		return NULL;
	}
	GENERAL_NAME_set0_value(general,
				kind == HOST_NAME ? GEN_DNS : GEN_IPADD, value);
	return general;
}

/* RFC 5280 4.2.1.6: critical when the subject is empty. */
static bool set_alt_name(X509 *cert, const char *name, enum host_kind kind)
{
	int old = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1);
	GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
	GENERAL_NAME *general = names ? general_name(name, kind) : NULL;
	bool ok = general && sk_GENERAL_NAME_push(names, general) > 0;

	if (old >= 0)
		X509_EXTENSION_free(X509_delete_ext(cert, old));
	if (!ok)
		GENERAL_NAME_free(general);
	ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names,
				     strlen(name) > COMMON_NAME_MAX,
				     X509V3_ADD_APPEND) == 1;
	GENERAL_NAMES_free(names);
	return ok;
}

int leaf_mint(struct leaf_template *template,
	      const struct leaf_request *request, struct leaf *leaf,
	      struct err *err)
{
	char name[HOST_NAME_MAX_LEN + 1];
	enum host_kind kind = host_canonical(request->name, name);
	X509 *cert = template->cert;
	uint8_t *end = leaf->der;
	int len;

	assert(request->valid_ms <= LEAF_VALID_MS);
	if (kind == HOST_INVALID || !bytes_is(request->name, name))
		return err_set(err, ERR_INVALID, "the name is not canonical");
	if (set_key(template, request->public_key, err))
		return -1;
	if (!set_serial(cert) || !set_times(template, request, leaf) ||
	    !set_subject(cert, name) || !set_alt_name(cert, name, kind) ||
	    !X509_sign(cert, template->ca->key, EVP_sha256()))
		return fail(err, "sign a leaf");
	len = i2d_X509(cert, NULL);
	if (len <= 0 || (size_t)len > sizeof(leaf->der))
		return err_set(err, ERR_TOO_LARGE, "leaf of %d bytes", len);
	leaf->len = (size_t)i2d_X509(cert, &end);
	return 0;
}
