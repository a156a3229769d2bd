/*
 * One entry of network.rules; compile_rules.c has the lists of them.
 */
#ifndef POLICIES_COMPILE_RULE_H
#define POLICIES_COMPILE_RULE_H

#include "policies/compile.h"

/* Read the index-th rule of its text into rule, which is zeroed. */
void compile_rule(struct compile *compile, const struct text_node *node,
		  size_t index, struct policy_rule *rule);

/* Its `websocket`. */
void compile_websocket(struct compile *compile, const struct text_node *node,
		       struct policy_rule *rule);

#endif
