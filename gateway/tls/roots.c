#include "gateway/tls/roots.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include "gateway/tls/library.h"

/* Where a root stands in the bundle, by the hash of its subject. */
struct root {
	unsigned long subject_hash;
	uint32_t offset;
	uint32_t len;
	bool is_loaded;
};

struct roots {
	struct bytes pem;
	X509_LOOKUP_METHOD *method;
	struct root *items;
	size_t count;
	bool is_indexed;
};

/* ---- the subject of a DER certificate, without decoding the rest ---- */

/* Step over one element of *at; *body (may be NULL) is its content, *whole
 * the element. False when there is none. */
static bool take_element(struct bytes *at, struct bytes *whole,
			 struct bytes *body, int *tag)
{
	const uint8_t *start = at->data;
	long len;
	int class;
	int result = ASN1_get_object(&start, &len, tag, &class, (long)at->len);
	size_t header = (size_t)(start - at->data);

	if ((result & 0x80) != 0 || (result & 1) != 0)
		return false;
	*whole = bytes_slice(*at, 0, header + (size_t)len);
	*body = bytes_slice(*whole, header, whole->len);
	*at = bytes_slice(*at, whole->len, at->len);
	return true;
}

/* Certificate { TBSCertificate { [0] version, serial, algorithm, issuer,
 * validity, subject... (RFC 5280 4.1). */
static X509_NAME *subject_of(struct bytes der)
{
	struct bytes whole, certificate, fields, unused;
	const uint8_t *name;
	int tag = 0;

	if (!take_element(&der, &whole, &certificate, &tag) ||
	    !take_element(&certificate, &whole, &fields, &tag) ||
	    !take_element(&fields, &whole, &unused, &tag))
		return NULL;
	/* The version is there, or the serial number was the first. */
	for (int rest = tag == V_ASN1_INTEGER ? 4 : 5; rest > 0; rest--)
		if (!take_element(&fields, &whole, &unused, &tag))
			return NULL;
	name = whole.data;
	return d2i_X509_NAME(NULL, &name, (long)whole.len);
}

/* ---- the index ---- */

/* Read the next PEM block: 1, 0 when it was no certificate, -1 at the end. */
static int next_block(BIO *bio, uint8_t **der, long *len)
{
	char *name = NULL;
	char *header = NULL;
	int result;

	if (!PEM_read_bio(bio, &name, &header, der, len))
		return -1;
	result = !strcmp(name, PEM_STRING_X509) ||
		 !strcmp(name, PEM_STRING_X509_OLD);
	OPENSSL_free(name);
	OPENSSL_free(header);
	return result;
}

static void add_to_index(struct roots *roots, struct bytes der, size_t from,
			 size_t to)
{
	X509_NAME *name = subject_of(der);

	if (name && roots->count < TLS_ROOTS_MAX)
		roots->items[roots->count++] = (struct root){
			.subject_hash =
				X509_NAME_hash_ex(name, NULL, NULL, NULL),
			.offset = (uint32_t)from,
			.len = (uint32_t)(to - from),
		};
	X509_NAME_free(name);
}

static void trim_index(struct roots *roots)
{
	struct root *items = realloc(
		roots->items, (roots->count + 1) * sizeof(*roots->items));

	if (items)
		roots->items = items;
}

static void make_index(struct roots *roots)
{
	BIO *bio = BIO_new_mem_buf(roots->pem.data, (int)roots->pem.len);
	size_t from = 0;
	int kind;

	roots->is_indexed = true;
	roots->items = calloc(TLS_ROOTS_MAX, sizeof(*roots->items));
	if (!bio || !roots->items) {
		BIO_free(bio);
		return;
	}
	do {
		uint8_t *der = NULL;
		long len = 0;
		size_t to;

		kind = next_block(bio, &der, &len);
		to = roots->pem.len - BIO_pending(bio);
		if (kind == 1)
			add_to_index(roots, bytes_from(der, (size_t)len), from,
				     to);
		from = to;
		OPENSSL_free(der);
	} while (kind >= 0);
	BIO_free(bio);
	ERR_clear_error();
	trim_index(roots);
}

/* ---- the lookup ---- */

static X509 *decode(const struct roots *roots, const struct root *root)
{
	BIO *bio =
		BIO_new_mem_buf(roots->pem.data + root->offset, (int)root->len);
	X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;

	BIO_free(bio);
	return cert;
}

/* Add the roots with that subject to the store. found->data borrows one of
 * them from the store, as X509_LOOKUP_METHOD wants it. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type,
		      const X509_NAME *name, X509_OBJECT *found)
{
	struct roots *roots = X509_LOOKUP_get_method_data(lookup);
	unsigned long hash = X509_NAME_hash_ex(name, NULL, NULL, NULL);
	int result = 0;

	if (type != X509_LU_X509)
		return 0;
	if (!roots->is_indexed)
		make_index(roots);
	for (size_t i = 0; i < roots->count; i++) {
		struct root *root = &roots->items[i];
		X509 *cert;

		if (root->subject_hash != hash || root->is_loaded)
			continue;
		cert = decode(roots, root);
		root->is_loaded = true;
		if (cert && !X509_NAME_cmp(X509_get_subject_name(cert), name) &&
		    X509_STORE_add_cert(X509_LOOKUP_get_store(lookup), cert) &&
		    !result && X509_OBJECT_set1_X509(found, cert)) {
			/* set1 counted a reference that nobody gives back. */
			X509_free(cert);
			result = 1;
		}
		X509_free(cert);
	}
	return result;
}

static void roots_free(X509_LOOKUP *lookup)
{
	struct roots *roots = X509_LOOKUP_get_method_data(lookup);

	X509_LOOKUP_meth_free(roots->method);
	free(roots->items);
	free(roots);
}

int tls_roots_add(X509_STORE *store, struct bytes pem, struct err *err)
{
	X509_LOOKUP_METHOD *method = X509_LOOKUP_meth_new("sallyport roots");
	struct roots *roots = calloc(1, sizeof(*roots));
	X509_LOOKUP *lookup = NULL;

	if (method && roots &&
	    X509_LOOKUP_meth_set_get_by_subject(method, by_subject))
		lookup = X509_STORE_add_lookup(store, method);
	if (!lookup) {
		X509_LOOKUP_meth_free(method);
		free(roots);
		return tls_library_error(err, "set up the roots");
	}
	*roots = (struct roots){.pem = pem, .method = method};
	(void)X509_LOOKUP_set_method_data(lookup, roots);
	(void)X509_LOOKUP_meth_set_free(method, roots_free);
	return 0;
}
