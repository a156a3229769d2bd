#include "gateway/vault/ssh_private.h"

#include <openssl/pem.h>

#include "common/base64.h"
#include "common/cleanup.h"

#define SEED_LEN   32
#define PUBLIC_LEN 32
#define FILE_MAX   4096 /* decoded; one without a comment has 240 */

static const struct bytes begin =
	BYTES_LITERAL("-----BEGIN OPENSSH PRIVATE KEY-----");
static const struct bytes end =
	BYTES_LITERAL("-----END OPENSSH PRIVATE KEY-----");

static int unfit(struct err *err, const char *why)
{
	return err_set(err, ERR_INVALID, "%s", why);
}

static int unfit_kind(struct err *err)
{
	return unfit(err, "it is no Ed25519 key (ssh-keygen -t ed25519)");
}

static int unfit_file(struct err *err)
{
	return unfit(err, "it is no private key as ssh-keygen writes it");
}

/* ---- PKCS#8 ---- */

/* Nobody is there to be asked for a passphrase. */
static int no_passphrase(char *out, int size, int writing, void *owner)
{
	(void)out;
	(void)size;
	(void)writing;
	*(bool *)owner = true;
	return -1;
}

static int read_pkcs8(struct bytes text, struct secret *seed, struct err *err)
{
	bool is_locked = false;
	BIO *bio = BIO_new_mem_buf(text.data, (int)text.len);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase,
						      &is_locked)
			    : NULL;
	uint8_t raw[SEED_LEN];
	size_t len = sizeof(raw);
	int result;

	BIO_free(bio);
	if (is_locked)
		result = unfit(err, "it has a passphrase");
	else if (!key)
		result = unfit(err, "it is no private key, neither of OpenSSH "
				    "nor in PKCS#8 (PEM)");
	else if (EVP_PKEY_get_base_id(key) != EVP_PKEY_ED25519 ||
		 !EVP_PKEY_get_raw_private_key(key, raw, &len) ||
		 len != sizeof(raw))
		result = unfit_kind(err);
	else
		result = secret_set(seed, bytes_from(raw, len), err);
	secret_wipe(raw, sizeof(raw));
	EVP_PKEY_free(key);
	return result;
}

/* ---- OpenSSH ---- */

/* A number or a string of the file, which is cut off it. */
static bool take_number(struct bytes *rest, uint32_t *number)
{
	const uint8_t *at = rest->data;

	if (rest->len < 4)
		return false;
	*number = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
		  (uint32_t)at[2] << 8 | at[3];
	*rest = bytes_slice(*rest, 4, rest->len);
	return true;
}

static bool take_string(struct bytes *rest, struct bytes *text)
{
	uint32_t len;

	if (!take_number(rest, &len) || len > rest->len)
		return false;
	*text = bytes_slice(*rest, 0, len);
	*rest = bytes_slice(*rest, len, rest->len);
	return true;
}

/* 1, 2, 3, ... to the end of a block of eight. */
static bool is_padding(struct bytes rest)
{
	for (size_t i = 0; i < rest.len; i++)
		if (rest.data[i] != i + 1)
			return false;
	return rest.len < 8;
}

/* What stands in the part that a passphrase would lock. */
static int read_inner(struct bytes inner, struct secret *seed,
		      uint8_t told[PUBLIC_LEN], struct err *err)
{
	struct bytes kind, public_key, private_key, comment;
	uint32_t check, again;

	if (!take_number(&inner, &check) || !take_number(&inner, &again) ||
	    check != again || !take_string(&inner, &kind))
		return unfit_file(err);
	if (!bytes_is(kind, "ssh-ed25519"))
		return unfit_kind(err);
	/* The private part is the seed, then the public key once more. */
	if (!take_string(&inner, &public_key) ||
	    !take_string(&inner, &private_key) ||
	    !take_string(&inner, &comment) || !is_padding(inner) ||
	    public_key.len != PUBLIC_LEN ||
	    private_key.len != SEED_LEN + PUBLIC_LEN)
		return unfit_file(err);
	memcpy(told, public_key.data, PUBLIC_LEN);
	return secret_set(seed, bytes_slice(private_key, 0, SEED_LEN), err);
}

static int read_file(struct bytes file, struct secret *seed,
		     uint8_t told[PUBLIC_LEN], struct err *err)
{
	static const struct bytes magic =
		BYTES_LITERAL("openssh-key-v1\0"); /* with the NUL */
	struct bytes cipher, kdf, options, public_key, inner;
	uint32_t keys;

	if (!bytes_starts_with(file, magic))
		return unfit_file(err);
	file = bytes_slice(file, magic.len, file.len);
	if (!take_string(&file, &cipher) || !take_string(&file, &kdf) ||
	    !take_string(&file, &options) || !take_number(&file, &keys))
		return unfit_file(err);
	if (!bytes_is(cipher, "none") || !bytes_is(kdf, "none"))
		return unfit(err, "it has a passphrase");
	if (keys != 1 || !take_string(&file, &public_key) ||
	    !take_string(&file, &inner) || file.len > 0)
		return unfit_file(err);
	return read_inner(inner, seed, told, err);
}

/* Its lines as one text, then decoded. The length, or -1. */
static ptrdiff_t decode(struct bytes lines, uint8_t file[FILE_MAX])
{
	uint8_t text[BASE64_LEN(FILE_MAX)];
	ptrdiff_t decoded = -1;
	size_t len = 0;

	for (size_t i = 0; i < lines.len && len < sizeof(text); i++)
		if (lines.data[i] != '\n' && lines.data[i] != '\r')
			text[len++] = lines.data[i];
	if (len < sizeof(text))
		decoded = base64_decode(bytes_from(text, len), file, FILE_MAX);
	secret_wipe(text, sizeof(text));
	return decoded;
}

static int read_openssh(struct bytes text, struct secret *seed,
			uint8_t told[PUBLIC_LEN], struct err *err)
{
	ptrdiff_t stop = bytes_find_bytes(text, end, begin.len);
	uint8_t file[FILE_MAX];
	ptrdiff_t len;
	int result;

	if (stop < 0)
		return unfit_file(err);
	len = decode(bytes_slice(text, begin.len, (size_t)stop), file);
	result = len < 0 ? unfit_file(err)
			 : read_file(bytes_from(file, (size_t)len), seed, told,
				     err);
	secret_wipe(file, sizeof(file));
	return result;
}

int ssh_private_read(struct bytes text, struct secret *seed,
		     uint8_t told[PUBLIC_LEN], bool *has_told, struct err *err)
{
	*has_told = bytes_starts_with(text, begin);
	if (*has_told)
		return read_openssh(text, seed, told, err);
	return read_pkcs8(text, seed, err);
}
