/*
 * What is written over an image (sandbox.h, struct sandbox_root): an upper
 * layer with a place for each mount of ours, so that nothing that stands in
 * the image, nor in a layer that was there before, is ever in its way.
 */
#ifndef SANDBOX_HOST_ROOT_LAYERS_H
#define SANDBOX_HOST_ROOT_LAYERS_H

#include "sandbox-host/plan.h"

/* Make what plan's image needs in plan->image_layers; nothing when it has
 * none. What stands in the layer is untrusted: no link is followed, and what
 * is in the way is removed. 0, or -1. */
int root_layers_begin(const struct plan *plan, struct err *err);

#endif
