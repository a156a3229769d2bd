#include "common/fields.h"

const struct field *fields_find(const struct fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (bytes_is_nocase(fields->items[i].name, name))
			return &fields->items[i];
	return NULL;
}

size_t fields_count_of(const struct fields *fields, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < fields->count; i++)
		count += bytes_is_nocase(fields->items[i].name, name);
	return count;
}

void fields_remove(struct fields *fields, const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < fields->count; i++)
		if (!bytes_is_nocase(fields->items[i].name, name))
			fields->items[kept++] = fields->items[i];
	fields->count = kept;
}

int fields_add(struct fields *fields, struct bytes name, struct bytes value)
{
	if (fields->count >= fields->room)
		return -1;
	fields->items[fields->count++] = (struct field){name, value};
	return 0;
}
