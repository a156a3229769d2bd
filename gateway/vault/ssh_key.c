#include "gateway/vault/ssh_key.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "common/base64.h"
#include "common/cleanup.h"
#include "gateway/vault/ssh_private.h"

#define KEY_TYPE      "ssh-ed25519"
#define SIGNATURE_LEN 64
#define PREAMBLE      "SSHSIG"
#define VERSION	      1
#define NAMESPACE     "git"
#define HASH	      "sha512"
#define PUBLIC_ROOM   64  /* a public key has 51 bytes */
#define BLOB_ROOM     128 /* what is signed has 93, a signature 83 */

void ssh_key_init(struct ssh_key *key)
{
	*key = (struct ssh_key){0};
	secret_init(&key->seed);
}

void ssh_key_release(struct ssh_key *key)
{
	secret_release(&key->seed);
}

static void free_pkey(EVP_PKEY **pkey)
{
	EVP_PKEY_free(*pkey);
}

static EVP_PKEY *pkey_of(const struct ssh_key *key)
{
	return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
					    key->seed.data, key->seed.len);
}

/* The seed is there. */
static int derive(struct ssh_key *key, struct err *err)
{
	auto_type(free_pkey) EVP_PKEY *pkey = pkey_of(key);
	size_t len = sizeof(key->public_key);

	if (pkey && EVP_PKEY_get_raw_public_key(pkey, key->public_key, &len) &&
	    len == sizeof(key->public_key))
		return 0;
	return err_set(err, ERR_LIBRARY, "use an Ed25519 key");
}

int ssh_key_make(struct ssh_key *key, struct err *err)
{
	ssh_key_init(key);
	if (secret_random(&key->seed, SSH_SEED_LEN, err) < 0)
		return -1;
	if (derive(key, err) == 0)
		return 0;
	ssh_key_release(key);
	return -1;
}

int ssh_key_read(struct ssh_key *key, struct bytes text, struct err *err)
{
	uint8_t told[SSH_PUBLIC_LEN];
	bool has_told;

	ssh_key_init(key);
	if (ssh_private_read(text, &key->seed, told, &has_told, err) < 0)
		return -1;
	if (derive(key, err) == 0) {
		if (!has_told || !memcmp(told, key->public_key, sizeof(told)))
			return 0;
		(void)err_set(err, ERR_INVALID,
			      "its public half belongs to another key");
	}
	ssh_key_release(key);
	return -1;
}

/* ---- what SSH writes (RFC 4251 5) ---- */

static int put_number(struct buf *out, uint32_t number)
{
	const uint8_t bytes[] = {(uint8_t)(number >> 24),
				 (uint8_t)(number >> 16),
				 (uint8_t)(number >> 8), (uint8_t)number};

	return buf_add(out, bytes_from(bytes, sizeof(bytes)));
}

static int put_string(struct buf *out, struct bytes text)
{
	return put_number(out, (uint32_t)text.len) < 0 ? -1
						       : buf_add(out, text);
}

static int put_words(struct buf *out, struct bytes type, struct bytes value)
{
	return put_string(out, type) < 0 ? -1 : put_string(out, value);
}

static int put_public(struct buf *out, const struct ssh_key *key)
{
	return put_words(out, bytes_str(KEY_TYPE),
			 bytes_from(key->public_key, sizeof(key->public_key)));
}

void ssh_key_write(const struct ssh_key *key, char out[SIGN_KEY_MAX + 1])
{
	auto_type(buf_release) struct buf blob;
	char text[BASE64_LEN(PUBLIC_ROOM) + 1] = "";

	buf_init(&blob, PUBLIC_ROOM);
	if (put_public(&blob, key) == 0)
		base64_encode(buf_view(&blob), text);
	(void)snprintf(out, SIGN_KEY_MAX + 1, "%s %s", KEY_TYPE, text);
}

/* Namespace, what is reserved, and the name of the hash. */
static int put_kind(struct buf *out)
{
	return put_words(out, bytes_str(NAMESPACE), bytes_str("")) < 0
		       ? -1
		       : put_string(out, bytes_str(HASH));
}

static int sign(const struct ssh_key *key, struct bytes what,
		uint8_t signature[SIGNATURE_LEN])
{
	auto_type(free_pkey) EVP_PKEY *pkey = pkey_of(key);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	size_t len = SIGNATURE_LEN;
	bool is_signed =
		pkey && context &&
		EVP_DigestSignInit(context, NULL, NULL, NULL, pkey) == 1 &&
		EVP_DigestSign(context, signature, &len, what.data, what.len) ==
			1 &&
		len == SIGNATURE_LEN;

	EVP_MD_CTX_free(context);
	return is_signed ? 0 : -1;
}

int ssh_key_sign(const struct ssh_key *key,
		 const uint8_t digest[SIGN_DIGEST_LEN], struct buf *blob,
		 struct err *err)
{
	auto_type(buf_release) struct buf what, public_key, signature;
	uint8_t bytes[SIGNATURE_LEN];

	buf_init(&what, BLOB_ROOM);
	buf_init(&public_key, PUBLIC_ROOM);
	buf_init(&signature, BLOB_ROOM);
	if (buf_add_str(&what, PREAMBLE) < 0 || put_kind(&what) < 0 ||
	    put_string(&what, bytes_from(digest, SIGN_DIGEST_LEN)) < 0 ||
	    sign(key, buf_view(&what), bytes) < 0 ||
	    put_public(&public_key, key) < 0 ||
	    put_words(&signature, bytes_str(KEY_TYPE),
		      bytes_from(bytes, sizeof(bytes))) < 0 ||
	    buf_add_str(blob, PREAMBLE) < 0 || put_number(blob, VERSION) < 0 ||
	    put_string(blob, buf_view(&public_key)) < 0 || put_kind(blob) < 0 ||
	    put_string(blob, buf_view(&signature)) < 0)
		return err_set(err, ERR_LIBRARY, "sign with an Ed25519 key");
	return 0;
}
