#include "gateway/control/secret_files.h"

#include <stdlib.h>

/* Where its value stands. NULL: memory is out. */
static struct bytes file_of(const struct config_source *source,
			    struct arena *arena)
{
	const char *directory = getenv("CREDENTIALS_DIRECTORY");

	if (source->kind == SOURCE_FILE)
		return source->path;
	return bytes_str(arena_format(arena, "%s/%.*s",
				      directory ? directory : "",
				      BYTES_ARGS(source->path)));
}

int secret_files_list(const struct gateway_config *config, struct arena *arena,
		      struct secret_files *list)
{
	list->count = 0;
	for (size_t i = 0; i < config->sources_count; i++) {
		const struct config_source *source = &config->sources[i];
		struct msg_secret_file *file = &list->items[list->count];

		if (source->kind != SOURCE_FILE &&
		    source->kind != SOURCE_CREDENTIAL)
			continue;
		file->path = file_of(source, arena);
		if (!file->path.data)
			return -1;
		list->count++;
	}
	return 0;
}
