/*
 * Images: roots of their own for sandboxes, by the names of host.yaml. A
 * directory is used where it stands; what is unpacked stands in the store
 * (images/NAME/root, with its digest and, of an OCI image, what it says of
 * itself, flow/image_settings.h).
 */
#ifndef SANDBOX_HOST_DAEMON_IMAGES_H
#define SANDBOX_HOST_DAEMON_IMAGES_H

#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/flow/messages_store.h"

#define IMAGE_ROOT "root" /* in the store, below images/NAME */

struct image_root {
	char path[PATH_MAX];	 /* empty: the host's own */
	char settings[PATH_MAX]; /* a file that may be there; or empty */
	bool is_read_only;
};

/* Make the store's directories, and clear what was not finished. 0, or -1. */
int images_open(struct daemon *daemon, struct err *err);
/* Find an image; name may be empty. 0, or -1 with ERR_INVALID: there is none,
 * or it was not pulled. err may be NULL. */
int images_find(const struct daemon *daemon, struct bytes name,
		struct image_root *root, struct err *err);

rpc_answer_fn answer_images, answer_image_pull, answer_image_remove;

#endif
