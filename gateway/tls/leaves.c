#include "gateway/tls/leaves.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/tls/library.h"

static void leaf_close(struct tls_leaves *leaves, struct tls_leaf *leaf)
{
	leaves->open_count -= leaf->count > 0;
	for (size_t i = 0; i < leaf->count; i++)
		X509_free(leaf->chain[i]);
	leaf->count = 0;
}

static void leaf_release(struct tls_leaves *leaves, struct tls_leaf *leaf)
{
	leaf_close(leaves, leaf);
	free(leaf->der);
	*leaf = (struct tls_leaf){0};
}

void tls_leaves_init(struct tls_leaves *leaves)
{
	*leaves = (struct tls_leaves){0};
}

void tls_leaves_release(struct tls_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++)
		leaf_release(leaves, &leaves->items[i]);
	free(leaves->items);
	*leaves = (struct tls_leaves){0};
}

/* Where the next leaf goes: over its older self, a free place, or the one
 * that was not used for longest. */
static struct tls_leaf *place_for(struct tls_leaves *leaves, struct bytes name,
				  bool is_refusal)
{
	struct tls_leaf *oldest = NULL;

	for (size_t i = 0; i < leaves->count; i++) {
		struct tls_leaf *leaf = &leaves->items[i];

		if (bytes_is(name, leaf->name) &&
		    leaf->is_refusal == is_refusal)
			return leaf;
		if (!oldest || leaf->used < oldest->used)
			oldest = leaf;
	}
	if (leaves->count == TLS_LEAVES_MAX)
		return oldest;
	if (!leaves->items)
		leaves->items = calloc(TLS_LEAVES_MAX, sizeof(*leaves->items));
	return leaves->items ? &leaves->items[leaves->count++] : NULL;
}

static X509 *decode(struct bytes der)
{
	const uint8_t *at = der.data;
	X509 *cert = d2i_X509(NULL, &at, (long)der.len);

	if (cert && at != der.data + der.len) {
		X509_free(cert);
		cert = NULL;
	}
	return cert;
}

/* ---- which are open ---- */

static void close_least_used(struct tls_leaves *leaves)
{
	struct tls_leaf *oldest = NULL;

	for (size_t i = 0; i < leaves->count; i++) {
		struct tls_leaf *leaf = &leaves->items[i];

		if (leaf->count && (!oldest || leaf->used < oldest->used))
			oldest = leaf;
	}
	if (oldest)
		leaf_close(leaves, oldest);
}

static bool leaf_open(struct tls_leaves *leaves, struct tls_leaf *leaf)
{
	struct bytes der = bytes_from(leaf->der, leaf->leaf_len + leaf->ca_len);

	if (leaf->count)
		return true;
	leaf->chain[0] = decode(bytes_slice(der, 0, leaf->leaf_len));
	leaf->chain[1] =
		leaf->ca_len ? decode(bytes_slice(der, leaf->leaf_len, der.len))
			     : NULL;
	if (!leaf->chain[0] || (leaf->ca_len && !leaf->chain[1])) {
		X509_free(leaf->chain[0]);
		X509_free(leaf->chain[1]);
		return false;
	}
	if (leaves->open_count == TLS_LEAVES_OPEN_MAX)
		close_least_used(leaves);
	leaf->count = leaf->ca_len ? 2 : 1;
	leaves->open_count++;
	return true;
}

const struct tls_leaf *tls_leaves_find(struct tls_leaves *leaves,
				       struct bytes name, bool is_refusal,
				       uint64_t wall_ms)
{
	for (size_t i = 0; i < leaves->count; i++) {
		struct tls_leaf *leaf = &leaves->items[i];

		if (!bytes_is(name, leaf->name) ||
		    (leaf->is_refusal && !is_refusal) ||
		    leaf->expires_ms < wall_ms + TLS_LEAF_REST_MS)
			continue;
		leaf->used = ++leaves->turn;
		return leaf_open(leaves, leaf) ? leaf : NULL;
	}
	return NULL;
}

/* ---- keeping ---- */

/* Who trusts a root has it (RFC 8446 4.4.2): it is neither kept nor sent. 1,
 * 0, or -1: it is no certificate. */
static int is_root(struct bytes der)
{
	X509 *cert = decode(der);
	int result = cert ? X509_self_signed(cert, 0) == 1 : -1;

	X509_free(cert);
	return result;
}

static bool copy_der(struct tls_leaf *leaf, const struct tls_leaf_der *der)
{
	int root = is_root(der->ca);

	if (root < 0)
		return false;
	leaf->leaf_len = der->leaf.len;
	leaf->ca_len = root ? 0 : der->ca.len;
	leaf->der = malloc(leaf->leaf_len + leaf->ca_len + 1);
	if (!leaf->der)
		return false;
	if (leaf->leaf_len)
		memcpy(leaf->der, der->leaf.data, leaf->leaf_len);
	if (leaf->ca_len)
		memcpy(leaf->der + leaf->leaf_len, der->ca.data, leaf->ca_len);
	return true;
}

const struct tls_leaf *tls_leaves_add(struct tls_leaves *leaves,
				      struct bytes name, bool is_refusal,
				      const struct tls_leaf_der *der,
				      struct err *err)
{
	struct tls_leaf leaf = {.is_refusal = is_refusal};
	struct tls_leaf *place = NULL;

	if (name.len > HOST_NAME_MAX_LEN) {
		(void)err_set(err, ERR_INVALID, "the name is too long");
		return NULL;
	}
	memcpy(leaf.name, name.data, name.len);
	leaf.expires_ms = der->expires_ms;
	leaf.used = ++leaves->turn;
	if (copy_der(&leaf, der) && leaf_open(leaves, &leaf))
		place = place_for(leaves, name, is_refusal);
	if (!place) {
		leaf_release(leaves, &leaf);
		(void)tls_library_error(err, "keep a minted certificate");
		return NULL;
	}
	leaf_release(leaves, place);
	*place = leaf;
	return place;
}
