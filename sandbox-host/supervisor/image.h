/*
 * What a sandbox's image says of itself (flow/image_settings.h), and what of
 * it is kept.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_IMAGE_H
#define SANDBOX_HOST_SUPERVISOR_IMAGE_H

#include "sandbox-host/flow/image_settings.h"
#include "sandbox-host/sandbox.h"

#define IMAGE_NOTES_MAX 3

struct supervisor;

struct image {
	struct image_settings says;	    /* in the supervisor's arena */
	const char *notes[IMAGE_NOTES_MAX]; /* to be told of it */
	size_t note_count;
};

/* Read what the image says of itself, to supervisor->image.says. 0, or -1. */
int image_read(struct supervisor *supervisor, struct err *err);
/* The variables of it that a sandbox may have, in supervisor->arena; the
 * others are noted. 0, or -1. */
int image_variables(struct supervisor *supervisor,
		    const struct sandbox_variable **list, size_t *count,
		    struct err *err);
/* Say in spec where commands begin, and note what of the image can not be
 * kept. 0, or -1. */
int image_spec(struct supervisor *supervisor, struct sandbox_spec *spec,
	       struct err *err);
/* Put what was noted among the events: the daemon hears it. */
void image_tell(struct supervisor *supervisor);
/* What the sandbox begins with: the request's words, or else the image's; none
 * where it is another's. Borrows. */
struct exec_request image_entrypoint(const struct supervisor *supervisor);

#endif
