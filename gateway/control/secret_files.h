/*
 * The files that secrets stand in by the configuration: their paths, which
 * whoever has a session is told, so that its sandbox shows none of them. What
 * is in them is not read here.
 */
#ifndef GATEWAY_CONTROL_SECRET_FILES_H
#define GATEWAY_CONTROL_SECRET_FILES_H

#include "common/arena.h"
#include "gateway/flow/config.h"
#include "gateway/flow/messages.h"

#define SECRET_FILES_ARENA_MAX (SOURCES_MAX * SECRET_FILE_PATH_MAX)

struct secret_files {
	struct msg_secret_file items[SOURCES_MAX];
	size_t count;
};

/* Borrows from the configuration and the arena. 0, or -1 when memory is out. */
int secret_files_list(const struct gateway_config *config, struct arena *arena,
		      struct secret_files *list);

#endif
