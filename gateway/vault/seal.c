#include "gateway/vault/seal.h"

#include <openssl/evp.h>
#include <stdint.h>

#include "common/cleanup.h"
#include "common/digest.h"

#define FORMAT	  1
#define NONCE_LEN 12
#define TAG_LEN	  16
#define NONCE_AT  1
#define TAG_AT	  (NONCE_AT + NONCE_LEN)
#define TEXT_AT	  (TAG_AT + TAG_LEN)

_Static_assert(TEXT_AT == SEAL_OVERHEAD, "the overhead is what it says");

static void free_cipher(EVP_CIPHER_CTX **cipher)
{
	EVP_CIPHER_CTX_free(*cipher);
}

/* Format, version and name: what must not be exchanged. The name comes last,
 * so that no two places look alike. */
static int add_place(EVP_CIPHER_CTX *cipher, const struct seal_place *place)
{
	uint8_t head[9] = {FORMAT};
	int len;

	for (size_t i = 0; i < 8; i++)
		head[1 + i] = (uint8_t)(place->version >> (8 * i));
	return EVP_CipherUpdate(cipher, NULL, &len, head, sizeof(head)) &&
			       EVP_CipherUpdate(cipher, NULL, &len,
						place->name.data,
						(int)place->name.len)
		       ? 0
		       : -1;
}

static EVP_CIPHER_CTX *begin(const struct secret *key,
			     const struct seal_place *place,
			     const uint8_t nonce[NONCE_LEN], int sealing)
{
	EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();

	if (cipher && key->len == SEAL_KEY_LEN && place->name.len > 0 &&
	    EVP_CipherInit_ex(cipher, EVP_aes_256_gcm(), NULL, key->data, nonce,
			      sealing) &&
	    add_place(cipher, place) == 0)
		return cipher;
	EVP_CIPHER_CTX_free(cipher);
	return NULL;
}

int seal_close(const struct secret *key, const struct seal_place *place,
	       struct bytes plain, struct buf *sealed, struct err *err)
{
	__attribute__((cleanup(free_cipher))) EVP_CIPHER_CTX *cipher = NULL;
	uint8_t *out;
	int len = 0, rest = 0;

	if (plain.len > SECRET_LEN_MAX)
		return err_set(err, ERR_TOO_LARGE, "seal: it is too long");
	out = buf_reserve(sealed, SEAL_OVERHEAD + plain.len);
	if (!out)
		return err_set(err, ERR_TOO_LARGE, "seal: no room");
	out[0] = FORMAT;
	random_bytes(out + NONCE_AT, NONCE_LEN);
	cipher = begin(key, place, out + NONCE_AT, 1);
	if (!cipher ||
	    (plain.len && !EVP_CipherUpdate(cipher, out + TEXT_AT, &len,
					    plain.data, (int)plain.len)) ||
	    !EVP_CipherFinal_ex(cipher, out + TEXT_AT + len, &rest) ||
	    !EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, TAG_LEN,
				 out + TAG_AT))
		return err_set(err, ERR_LIBRARY, "seal: OpenSSL failed");
	buf_commit(sealed, SEAL_OVERHEAD + plain.len);
	return 0;
}

/* Decrypt into plain, which has room for the text. */
static int decrypt(EVP_CIPHER_CTX *cipher, struct bytes sealed, uint8_t *plain)
{
	uint8_t tag[TAG_LEN];
	int text_len = (int)(sealed.len - SEAL_OVERHEAD);
	int len = 0, rest = 0;

	memcpy(tag, sealed.data + TAG_AT, TAG_LEN);
	if ((text_len && !EVP_CipherUpdate(cipher, plain, &len,
					   sealed.data + TEXT_AT, text_len)) ||
	    !EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, TAG_LEN, tag) ||
	    !EVP_CipherFinal_ex(cipher, tag, &rest))
		return -1;
	return 0;
}

int seal_open(const struct secret *key, const struct seal_place *place,
	      struct bytes sealed, struct secret *plain, struct err *err)
{
	__attribute__((cleanup(free_cipher))) EVP_CIPHER_CTX *cipher = NULL;
	struct bytes text;

	secret_release(plain);
	if (sealed.len < SEAL_OVERHEAD || sealed.data[0] != FORMAT ||
	    sealed.len - SEAL_OVERHEAD > SECRET_LEN_MAX)
		return err_set(err, ERR_INVALID, "unseal: it was altered");
	cipher = begin(key, place, sealed.data + NONCE_AT, 0);
	if (!cipher)
		return err_set(err, ERR_LIBRARY, "unseal: OpenSSL failed");
	/* The ciphertext makes the room that the text then takes. */
	text = bytes_slice(sealed, TEXT_AT, sealed.len);
	if (secret_set(plain, text, err) < 0)
		return -1;
	if (decrypt(cipher, sealed, plain->data) < 0) {
		secret_release(plain);
		return err_set(err, ERR_INVALID, "unseal: it was altered");
	}
	return 0;
}
