/*
 * What an image says of itself: what it runs, with which variables, where and
 * as whom. sallyport-store takes it out of an OCI image's configuration while
 * it is pulled, and leaves it beside the unpacked tree; each supervisor reads
 * it there. Neither believes it: it is checked when it is written, and again
 * when it is read.
 */
#ifndef SANDBOX_HOST_FLOW_IMAGE_SETTINGS_H
#define SANDBOX_HOST_FLOW_IMAGE_SETTINGS_H

#include "common/wire.h"
#include "sandbox-host/flow/sandbox_spec.h"

#define IMAGE_SETTINGS_NAME  "settings" /* of the file, beside the root */
#define IMAGE_SETTINGS_MAX   (256 * 1024)
#define IMAGE_ENTRYPOINT_MAX 256 /* words */
#define IMAGE_ENV_MAX	     256
#define IMAGE_TEXT_MAX	     (32 * 1024) /* of a word, and of a variable */
#define IMAGE_USER_MAX	     255

/* No text has a control character, words and values but for tabs and ends of
 * lines. */
struct image_settings {
	const struct text_item *entrypoint; /* Entrypoint, then Cmd */
	size_t entrypoint_count;	    /* 0: none */
	const struct text_item *env; /* "NAME=VALUE"; names are printable */
	size_t env_count;
	struct bytes directory; /* absolute; or empty */
	struct bytes user; /* "name", "1000", "1000:100"; printable; or empty */
};
extern const struct wire_schema image_settings_schema;

/* Does it keep to what is said above? 0, or -1 with ERR_INVALID. */
int image_settings_check(const struct image_settings *settings,
			 struct err *err);
/* Make the file in the current directory, which has none. 0, or -1. */
int image_settings_write(const struct image_settings *settings,
			 struct err *err);
/* Read the file at path (untrusted); all of *settings is in arena. 0, also
 * where there is none: *settings is empty then. Or -1. */
int image_settings_read(const char *path, struct arena *arena,
			struct image_settings *settings, struct err *err);

#endif
