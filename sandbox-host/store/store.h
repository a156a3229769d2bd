/*
 * sallyport-store: makes trees of files out of what nobody trusts: a tar, an
 * OCI image, what a sandbox left. One process for one piece of work, started
 * by sallyport-host, without rights of its own and confined to the trees it
 * was given.
 *
 *	main   -> what is wanted, confinement, the answer
 *	tar    -> a tar's entries, strictly
 *	unpack -> a tar (gzip or not) into an empty directory
 *	copy   -> a tree into another, nothing followed
 *	oci    -> skopeo and umoci, as separate programs
 *	settings -> what an OCI image says of itself
 */
#ifndef SANDBOX_HOST_STORE_STORE_H
#define SANDBOX_HOST_STORE_STORE_H

#include "common/digest.h"
#include "common/err.h"

#define STORE_ENTRIES_MAX 2000000
#define STORE_DEPTH_MAX	  128  /* of an image */
#define COPY_DEPTH_MAX	  1024 /* each has three descriptors open */
#define STORE_TEXT_MAX	  4096

/* What may still be written. */
struct store_budget {
	uint64_t bytes, entries;
};

/* Unpack the tar that is read from `from` into the empty directory `into`.
 * Nothing appears outside of it whatever it says: ".." and names behind
 * links are refused, devices, pipes and sockets left out, owners, set-id bits
 * and extended attributes dropped. digest: of all of the file. 0, or -1. */
int unpack_tar(int from, int into, struct store_budget *budget,
	       uint8_t digest[DIGEST_LEN], struct err *err);

/* Copy what is in directory `from` into directory `into`: files (sharing
 * their blocks where the file system can), directories and links as they are;
 * devices, pipes and sockets are left out, set-id bits and extended
 * attributes dropped. is_layer: it is the upper layer of an overlay: what
 * says that a name was removed stays. 0, or -1. */
int copy_tree(int from, int into, bool is_layer, struct store_budget *budget,
	      struct err *err);

/* Take set-id bits, devices, pipes, sockets and an overlay's extended
 * attributes out of a tree. 0, or -1. */
int copy_clean(int tree, struct err *err);

/* Pull an OCI image (skopeo's words) and unpack it to "root" in the current
 * directory, which is used for all that is needed meanwhile: at most budget
 * packed, and as much unpacked (looked at while it is written, so a moment's
 * writing more). What it says of itself is left beside that
 * (settings.h). digest: "sha256:" and digits of its manifest. 0, or -1. */
int oci_pull(const char *source, const struct store_budget *budget,
	     char digest[80], struct err *err);

#endif
