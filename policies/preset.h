/*
 * Presets: policy files of our own (presets/NAME.yaml), embedded at build
 * time by cmake/EmbedPresets.cmake.
 */
#ifndef POLICIES_PRESET_H
#define POLICIES_PRESET_H

#include <stddef.h>

#include "common/bytes.h"

struct preset_file {
	const char *name;
	const char *text;
	size_t len;
};

/* Ends with a NULL name. */
extern const struct preset_file presets_embedded[];

/* The text of a preset; data NULL when there is none of that name. */
struct bytes preset_text(struct bytes name);

#endif
