/*
 * An OCI image's own settings, out of the configuration that anybody wrote
 * into it (the specification's "Image Configuration"; untrusted).
 */
#ifndef SANDBOX_HOST_STORE_SETTINGS_H
#define SANDBOX_HOST_STORE_SETTINGS_H

#include <jansson.h>

#include "common/arena.h"
#include "sandbox-host/flow/image_settings.h"

/* Take what is used out of a configuration: checked, and borrowed from it but
 * for the lists, which are in arena. What is absent or null is empty. 0, or
 * -1 with ERR_INVALID. */
int settings_take(const json_t *config, struct arena *arena,
		  struct image_settings *out, struct err *err);
/* Find the configuration of the image with this manifest ("sha256:...") in the
 * OCI layout `layout`, and write what is used of it to the current directory
 * (image_settings_write()). 0, or -1. */
int settings_keep(const char *layout, const char *digest, struct err *err);

#endif
