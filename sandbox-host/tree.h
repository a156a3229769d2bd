/*
 * Directory trees that somebody inside made: of any depth, with any names,
 * whatever their modes, without following a link.
 */
#ifndef SANDBOX_HOST_TREE_H
#define SANDBOX_HOST_TREE_H

/* Remove path (below directory) and all below it; what can not be removed
 * stays, with a line in the log. 0, or -1. */
int tree_remove(int directory, const char *path);
/* Open name (below directory), also where its owner, who is us then, may not:
 * it is as it was when this returns. -1: errno. */
int tree_open(int directory, const char *name);

#endif
