/*
 * `sallyport policy show`: a policy with the rules of its presets.
 */
#ifndef CLI_POLICY_SHOW_H
#define CLI_POLICY_SHOW_H

#include "cli/cli.h"
#include "common/arena.h"
#include "common/buf.h"
#include "policies/text.h"

#define SHOW_BYTES_MAX (4 * 1024 * 1024)

/* Append to out a policy that means the same as root, a policy that compiles:
 * its own keys, and in place of `extends` the rules of those presets, behind
 * its own, called PRESET.NAME. trees has the presets'. 0, or -1. */
int show_write(const struct text_node *root, struct arena *trees,
	       struct buf *out, struct err *err);

/* An exit_code. */
int policy_show(struct cli *cli);

#endif
