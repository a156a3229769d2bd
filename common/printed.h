/*
 * What a program prints on its standard output and nothing else: it is no
 * success when not all of it could be written.
 */
#ifndef COMMON_PRINTED_H
#define COMMON_PRINTED_H

/* All was printed: the exit code, 0; or 1, and why is told on stderr as
 * "PROGRAM: the standard output: ...". */
int printed_end(const char *program);

#endif
