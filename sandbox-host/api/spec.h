/*
 * The body of POST /sandboxes (untrusted JSON) as a request to the daemon.
 * Nothing is asked or opened here; what it means for the host (does the image
 * exist, may the directory be a volume) is the daemon's to say.
 */
#ifndef SANDBOX_HOST_API_SPEC_H
#define SANDBOX_HOST_API_SPEC_H

#include <jansson.h>

#include "sandbox-host/flow/api_config.h"

#define SPEC_FAULT_MAX	   256
#define SPEC_TIMEOUT_MAX_S (10ull * 365 * 24 * 3600)
#define SPEC_RULES_MAX	   4096
#define SPEC_IMAGE_HOST	   "host" /* the host's own root */

/* Why it was refused. */
struct spec_fault {
	unsigned status; /* 422: not of the shape; 400: no such value; 501 */
	char text[SPEC_FAULT_MAX];
};
int spec_refuse(struct spec_fault *fault, unsigned status, const char *format,
		...) __attribute__((format(printf, 3, 4)));

/* Read root. What *request is made of borrows from root and arena. now_ms is
 * the wall clock. 0, or -1 with *fault. */
int spec_read(struct arena *arena, const struct api_config *config,
	      const json_t *root, uint64_t now_ms,
	      struct sandbox_request *request, struct spec_fault *fault);

/* networkPolicy as the text of a policy, in arena: its rules in order on
 * every port, then its defaultAction. 0, or -1 with *fault. */
int spec_network(struct arena *arena, const json_t *network,
		 struct bytes *policy, struct spec_fault *fault);

/* "500m", "2", "1.5Gi" in thousandths. 0, or -1: it is none. */
int spec_quantity(struct bytes text, uint64_t *thousandths);

/* A label as Kubernetes has them: key [prefix/]name, value of at most 63
 * characters. 0, or -1 with *fault. */
int spec_label(struct bytes key, struct bytes value, struct spec_fault *fault);

#endif
