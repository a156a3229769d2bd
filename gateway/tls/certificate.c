#include "gateway/tls/certificate.h"

#include <openssl/err.h>
#include <openssl/pem.h>

/* OpenSSL would ask the terminal for it. */
static int no_password(char *out, int size, int is_writing, void *owner)
{
	(void)out;
	(void)size;
	(void)is_writing;
	(void)owner;
	return 0;
}

static void read_chain(struct certificate *certificate, struct bytes pem)
{
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);

	while (bio && certificate->count < CERTIFICATE_CHAIN_MAX) {
		X509 *one = PEM_read_bio_X509(bio, NULL, no_password, NULL);

		if (!one)
			break;
		certificate->chain[certificate->count++] = one;
	}
	(void)BIO_free(bio);
}

static void read_key(struct certificate *certificate, struct bytes pem)
{
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);

	if (bio)
		certificate->key =
			PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	(void)BIO_free(bio);
}

int certificate_read(struct certificate *certificate, struct bytes pem,
		     struct err *err)
{
	bool fits;

	*certificate = (struct certificate){.count = 0};
	if (pem.len == 0)
		return err_set(err, ERR_INVALID, "the certificate is empty");
	read_chain(certificate, pem);
	read_key(certificate, pem);
	fits = certificate->count > 0 && certificate->key &&
	       X509_check_private_key(certificate->chain[0],
				      certificate->key) == 1;
	ERR_clear_error();
	if (fits)
		return 0;
	return err_set(err, ERR_INVALID,
		       certificate->count == 0 || !certificate->key
			       ? "the secret is not a certificate and its "
				 "private key in PEM"
			       : "the private key is not the certificate's");
}

void certificate_release(struct certificate *certificate)
{
	for (size_t i = 0; i < certificate->count; i++)
		X509_free(certificate->chain[i]);
	EVP_PKEY_free(certificate->key);
	*certificate = (struct certificate){.count = 0};
}
