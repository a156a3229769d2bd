/*
 * The words for OpenSSL's errors. It loads all of them, 50 KiB of heap, before
 * a process has its first error; here they wait until one is told of.
 */
#ifndef COMMON_OPENSSL_WORDS_H
#define COMMON_OPENSSL_WORDS_H

/* Load none yet. Before anything else that OpenSSL does in the process. */
void openssl_words_wait(void);
/* The reason of a code of OpenSSL's queue, loading the words if they wait.
 * NULL: there are none for it (a provider's own are not loaded late). */
const char *openssl_reason(unsigned long code);

#endif
