#include "common/nearest.h"
#include "policies/reader.h"

const char *reader_hint(struct reader *reader, struct bytes word,
			const char *const *names, size_t count)
{
	const char *name = nearest(word, names, count);
	const char *hint = NULL;

	if (name)
		hint = arena_format(reader->arena, "; did you mean \"%s\"?",
				    name);
	return hint ? hint : "";
}

const char *reader_words(struct reader *reader, const char *const *names,
			 size_t count)
{
	const char *list = count ? names[0] : "";

	for (size_t i = 1; list && i < count; i++)
		list = arena_format(reader->arena, "%s%s%s", list,
				    i + 1 == count ? " or " : ", ", names[i]);
	return list ? list : "";
}
