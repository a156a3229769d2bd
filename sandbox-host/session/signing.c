#include "sandbox-host/session/signing.h"

#include <limits.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/gateway.h"

static int read_program(struct arena *arena, struct bytes *program,
			struct err *err)
{
	auto_type(buf_release) struct buf content;
	char path[PATH_MAX];

	buf_init(&content, SIGNING_FILE_MAX);
	if (gateway_find_program(SIGNING_PROGRAM, path, err) < 0 ||
	    file_read_path(path, &content, err) < 0)
		return -1;
	*program = arena_copy(arena, buf_view(&content));
	return program->data ? 0 : err_set(err, ERR_TOO_LARGE, "no memory");
}

int signing_files(json_t *signing, struct arena *arena,
		  struct sandbox_spec *spec, struct err *err)
{
	static const char *const names[] = {SIGNING_PROGRAM, SIGNING_KEY,
					    SIGNING_ALLOWED};
	struct sandbox_file *files =
		arena_array(arena, ARRAY_SIZE(names), sizeof(*files));
	const char *key = json_text(signing, "public_key");
	const char *why = json_text(signing, "why");
	const char *email = json_text(signing, "email");

	if (!files)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (read_program(arena, &files[0].content, err) < 0)
		return -1;
	files[0].is_program = true;
	/* What signs is the gateway's business: this may be another one by
	 * then. */
	files[1].content =
		bytes_str(key[0] ? arena_format(arena, "%s %s\n", key, email)
				 : arena_format(arena, "# no key: %s\n", why));
	files[2].content = bytes_str(
		key[0] ? arena_format(arena, "%s namespaces=\"git\" %s\n",
				      email, key)
		       : arena_format(arena, "# no key: %s\n", why));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		files[i].name = names[i];
	spec->files = files;
	spec->file_count = ARRAY_SIZE(names);
	return 0;
}
