#include "gateway/tls/leaves.h"

#include <stdlib.h>
#include <string.h>

#include "gateway/tls/library.h"

static void leaf_release(struct tls_leaf *leaf)
{
	for (size_t i = 0; i < leaf->count; i++)
		X509_free(leaf->chain[i]);
	*leaf = (struct tls_leaf){0};
}

void tls_leaves_init(struct tls_leaves *leaves)
{
	*leaves = (struct tls_leaves){0};
}

void tls_leaves_release(struct tls_leaves *leaves)
{
	for (size_t i = 0; i < leaves->count; i++)
		leaf_release(&leaves->items[i]);
	free(leaves->items);
	*leaves = (struct tls_leaves){0};
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
		return leaf;
	}
	return NULL;
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

/* Who trusts a root has it (RFC 8446 4.4.2): it is neither kept nor sent. */
static void leave_out_root(struct tls_leaf *leaf)
{
	if (X509_self_signed(leaf->chain[1], 0) != 1)
		return;
	X509_free(leaf->chain[1]);
	leaf->chain[1] = NULL;
	leaf->count = 1;
}

static bool decode_chain(struct tls_leaf *leaf, const struct tls_leaf_der *der)
{
	leaf->count = 2;
	leaf->chain[0] = decode(der->leaf);
	leaf->chain[1] = decode(der->ca);
	if (!leaf->chain[0] || !leaf->chain[1])
		return false;
	leave_out_root(leaf);
	return true;
}

const struct tls_leaf *tls_leaves_add(struct tls_leaves *leaves,
				      struct bytes name, bool is_refusal,
				      const struct tls_leaf_der *der,
				      struct err *err)
{
	struct tls_leaf leaf = {.is_refusal = is_refusal};
	struct tls_leaf *place;

	if (name.len > HOST_NAME_MAX_LEN) {
		(void)err_set(err, ERR_INVALID, "the name is too long");
		return NULL;
	}
	memcpy(leaf.name, name.data, name.len);
	leaf.expires_ms = der->expires_ms;
	leaf.used = ++leaves->turn;
	place = decode_chain(&leaf, der) ? place_for(leaves, name, is_refusal)
					 : NULL;
	if (!place) {
		leaf_release(&leaf);
		(void)tls_library_error(err, "keep a minted certificate");
		return NULL;
	}
	leaf_release(place);
	*place = leaf;
	return place;
}
