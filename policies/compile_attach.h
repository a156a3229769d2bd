/*
 * How a credential is attached, and its placeholder; compile_credentials.c
 * has the rest of the entry.
 */
#ifndef POLICIES_COMPILE_ATTACH_H
#define POLICIES_COMPILE_ATTACH_H

#include "policies/compile.h"

struct attach_nodes {
	const struct text_node *attach, *username, *header, *query, *sigv4;
};

/* Read `attach` and what belongs to it; hosts are read. False: told. */
bool compile_attach(struct compile *compile, const struct attach_nodes *nodes,
		    struct policy_credential *credential);

/* Read `placeholder`; attach is read. */
void compile_placeholder(struct compile *compile, const struct text_node *node,
			 struct policy_credential *credential);

/* Where two credentials could go with one request, a rule or a repository
 * must name each (node: `credentials`, may be NULL). Rules and repositories
 * are read. */
void compile_bindings(struct compile *compile, const struct text_node *node);

#endif
