#include "policies/preset.h"

struct bytes preset_text(struct bytes name)
{
	const struct preset_file *file = presets_embedded;

	for (; file->name; file++)
		if (bytes_is(name, file->name))
			return bytes_from(file->text, file->len);
	return bytes_from(NULL, 0);
}
