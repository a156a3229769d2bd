/*
 * The files that the vault's key may stand in, held open for writing so that
 * a confined vault can change its key: vault.key, and vault.key.next, which
 * is empty but while that happens (rotate.h says in which order).
 */
#ifndef GATEWAY_VAULT_KEY_FILES_H
#define GATEWAY_VAULT_KEY_FILES_H

#include "gateway/vault/seal.h"

struct key_files {
	int key;  /* -1: the key is not ours to write */
	int next; /* -1: the same */
};

/* Open both, making the second, for source's owner. Both stay -1 when the
 * key is a systemd credential, or may only be read. 0, or -1. */
int key_files_open(struct key_files *files, const struct seal_source *source,
		   struct err *err);
void key_files_close(struct key_files *files);

/* What stands in fd. 0, or -1: no key, or half of one. */
int key_file_read(int fd, struct secret *key, struct err *err);
/* Put key there, on disk when this returns. 0, or -1. */
int key_file_write(int fd, const struct secret *key, struct err *err);
/* Overwrite, then empty it. 0, or -1. */
int key_file_clear(int fd, struct err *err);

#endif
