#include "certs/ca.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/digest.h"
#include "common/openssl_words.h"
#include "common/secret.h"

#define KEY_FILE	"ca.key"
#define CERT_FILE	"ca.pem"
#define NEW_SUFFIX	".new"
#define FILE_NAME_MAX	32
#define KEY_BYTES_MAX	8192
#define CERT_BYTES_MAX	8192
#define SECURE_HEAP	(64 * 1024)
#define SECURE_HEAP_MIN 16
#define DAY_SECS	86400

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

int ca_protect_memory(struct err *err)
{
	if (CRYPTO_secure_malloc_initialized())
		return 0;
	if (CRYPTO_secure_malloc_init(SECURE_HEAP, SECURE_HEAP_MIN) == 0)
		return fail(err, "lock memory for keys");
	return 0;
}

/* ---- making ---- */

static int add_extension(X509 *cert, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	int ok;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension && X509_add_ext(cert, extension, -1);
	X509_EXTENSION_free(extension);
	return ok;
}

static int set_serial(X509 *cert)
{
	uint8_t random[16];
	BIGNUM *number;
	int ok;

	random_bytes(random, sizeof(random));
	number = BN_bin2bn(random, sizeof(random), NULL);
	ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
	BN_free(number);
	return ok;
}

static int set_subject(X509 *cert, uint64_t wall_ms)
{
	X509_NAME *name = X509_get_subject_name(cert);
	char text[64];
	unsigned tag;

	/* Two installations, or a new CA after an old one, must not have
	 * the same name: programs look issuers up by it. */
	random_bytes(&tag, sizeof(tag));
	(void)snprintf(text, sizeof(text), CA_COMMON_NAME " %llx-%08x",
		       (unsigned long long)(wall_ms / 1000), tag);
	return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
					  (const uint8_t *)"Sallyport", -1, -1,
					  0) &&
	       X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
					  (const uint8_t *)text, -1, -1, 0) &&
	       X509_set_issuer_name(cert, name);
}

static int fill_certificate(X509 *cert, EVP_PKEY *key, uint64_t wall_ms)
{
	time_t now = (time_t)(wall_ms / 1000);

	return X509_set_version(cert, X509_VERSION_3) && set_serial(cert) &&
	       set_subject(cert, wall_ms) && X509_set_pubkey(cert, key) &&
	       ASN1_TIME_set(X509_getm_notBefore(cert), now - DAY_SECS) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert),
			     now + (time_t)CA_DAYS * DAY_SECS) &&
	       add_extension(cert, NID_basic_constraints,
			     "critical,CA:TRUE,pathlen:0") &&
	       add_extension(cert, NID_key_usage, "critical,keyCertSign") &&
	       /* No authority's: of a root it would be empty (RFC 5280
		* 4.2.1.1), and mbedTLS 3 then refuses the certificate. */
	       add_extension(cert, NID_subject_key_identifier, "hash") &&
	       X509_sign(cert, key, EVP_sha256());
}

/* Fill in what follows from cert. */
static int take_der(struct ca *ca, struct err *err)
{
	uint8_t *end = ca->der;
	int len = i2d_X509(ca->cert, NULL);

	if (len <= 0 || (size_t)len > sizeof(ca->der))
		return err_set(err, ERR_TOO_LARGE, "CA certificate of %d bytes",
			       len);
	ca->der_len = (size_t)i2d_X509(ca->cert, &end);
	return 0;
}

static int make_certificate(struct ca *ca, uint64_t wall_ms, struct err *err)
{
	ca->cert = X509_new();
	if (!ca->cert || !fill_certificate(ca->cert, ca->key, wall_ms))
		return fail(err, "make CA certificate");
	return take_der(ca, err);
}

int ca_make(uint64_t wall_ms, struct ca *ca, struct err *err)
{
	*ca = (struct ca){0};
	ca->key = EVP_EC_gen("P-256");
	if (!ca->key)
		return fail(err, "make CA key");
	if (make_certificate(ca, wall_ms, err)) {
		ca_release(ca);
		return -1;
	}
	return 0;
}

void ca_release(struct ca *ca)
{
	EVP_PKEY_free(ca->key);
	X509_free(ca->cert);
	*ca = (struct ca){0};
}

/* ---- files ---- */

static int write_all(int fd, struct bytes bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.data, bytes.len);

		if (n <= 0)
			return -1;
		bytes = bytes_slice(bytes, (size_t)n, bytes.len);
	}
	return fsync(fd);
}

/* Write name so that it is there whole or not at all. */
static int store_file(int dir_fd, const char *name, mode_t mode,
		      struct bytes bytes, struct err *err)
{
	char temporary[FILE_NAME_MAX];
	auto_fd int fd = -1;

	(void)snprintf(temporary, sizeof(temporary), "%s" NEW_SUFFIX, name);
	(void)unlinkat(dir_fd, temporary, 0);
	fd = openat(dir_fd, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || write_all(fd, bytes) ||
	    renameat(dir_fd, temporary, dir_fd, name) || fsync(dir_fd))
		return err_system(err, "write %s", name);
	return 0;
}

static int store_key(int dir_fd, EVP_PKEY *key, struct err *err)
{
	auto_type(bio_release) BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	long len;

	if (!bio ||
	    !PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL))
		return fail(err, "encode CA key");
	len = BIO_get_mem_data(bio, &text);
	return store_file(dir_fd, KEY_FILE, 0600, bytes_from(text, (size_t)len),
			  err);
}

static int store_certificate(int dir_fd, X509 *cert, struct err *err)
{
	auto_type(bio_release) BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long len;

	if (!bio || !PEM_write_bio_X509(bio, cert))
		return fail(err, "encode CA certificate");
	len = BIO_get_mem_data(bio, &text);
	return store_file(dir_fd, CERT_FILE, 0644,
			  bytes_from(text, (size_t)len), err);
}

/* 1: loaded; 0: there is no such file; -1. */
static int load_key(int dir_fd, EVP_PKEY **key, struct err *err)
{
	auto_type(secret_release) struct secret text;
	auto_type(bio_release) BIO *bio = NULL;
	auto_fd int fd = -1;
	struct stat status;
	char group[32] = "";

	secret_init(&text);
	fd = openat(dir_fd, KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &status))
		return err_system(err, "open " KEY_FILE);
	if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
		return err_set(err, ERR_INVALID,
			       KEY_FILE " is open to others: mode %03o",
			       status.st_mode & 0777);
	if (secret_read_fd(&text, fd, KEY_BYTES_MAX, err))
		return err_prefix(err, KEY_FILE);
	bio = BIO_new_mem_buf(text.data, (int)text.len);
	*key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	if (!*key)
		return fail(err, "read " KEY_FILE);
	if (!EVP_PKEY_get_group_name(*key, group, sizeof(group), NULL) ||
	    strcmp(group, "prime256v1"))
		return err_set(err, ERR_INVALID, KEY_FILE " is not P-256");
	return 1;
}

/* As load_key(). */
static int load_certificate(int dir_fd, X509 **cert, struct err *err)
{
	auto_type(bio_release) BIO *bio = NULL;
	auto_fd int fd = -1;
	char text[CERT_BYTES_MAX];
	ssize_t len;

	fd = openat(dir_fd, CERT_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (len < 0)
		return err_system(err, "read " CERT_FILE);
	bio = BIO_new_mem_buf(text, (int)len);
	*cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	if (!*cert)
		return fail(err, "read " CERT_FILE);
	return 1;
}

static int check(const struct ca *ca, uint64_t wall_ms, struct err *err)
{
	time_t now = (time_t)(wall_ms / 1000);

	if (!X509_check_private_key(ca->cert, ca->key)) {
		ERR_clear_error();
		return err_set(err, ERR_INVALID,
			       CERT_FILE " is not of " KEY_FILE);
	}
	if (X509_check_ca(ca->cert) != 1)
		return err_set(err, ERR_INVALID, CERT_FILE " is not a CA");
	if (X509_cmp_time(X509_get0_notBefore(ca->cert), &now) > 0)
		return err_set(err, ERR_INVALID,
			       CERT_FILE " is not valid yet: see the clock");
	if (X509_cmp_time(X509_get0_notAfter(ca->cert), &now) < 0)
		return err_set(err, ERR_INVALID, CERT_FILE " has expired");
	return 0;
}

static int load_or_make(int dir_fd, uint64_t wall_ms, struct ca *ca,
			struct err *err)
{
	int has_key = load_key(dir_fd, &ca->key, err);
	int has_cert =
		has_key < 0 ? -1 : load_certificate(dir_fd, &ca->cert, err);

	if (has_key < 0 || has_cert < 0)
		return -1;
	if (has_cert && !has_key)
		return err_set(err, ERR_MISSING,
			       CERT_FILE " is there without " KEY_FILE);
	if (has_cert)
		return take_der(ca, err) ? -1 : check(ca, wall_ms, err);
	if (!has_key) {
		ca->key = EVP_EC_gen("P-256");
		if (!ca->key)
			return fail(err, "make CA key");
		if (store_key(dir_fd, ca->key, err))
			return -1;
	}
	return make_certificate(ca, wall_ms, err)
		       ? -1
		       : store_certificate(dir_fd, ca->cert, err);
}

int ca_open(int dir_fd, uint64_t wall_ms, struct ca *ca, struct err *err)
{
	*ca = (struct ca){0};
	if (load_or_make(dir_fd, wall_ms, ca, err)) {
		ca_release(ca);
		return -1;
	}
	return 0;
}
