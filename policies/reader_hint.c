#include "common/cleanup.h"
#include "common/nearest.h"
#include "policies/reader.h"

/* Keys that people write a level too high or too low, and where they belong.
 * Those of several places (name, limits, read) are not here, nor what could be
 * a slip in a daemon's file (secret). */
static const struct {
	const char *key, *place;
} places[] = {
	{"rules", "network"},
	{"default", "network"},
	{"tls", "network"},
	{"addresses", "network"},
	{"script", "network"},
	{"methods", "network.rules"},
	{"paths", "network.rules"},
	{"action", "network.rules"},
	{"workspace", "filesystem"},
	{"hide", "filesystem"},
	{"protect", "filesystem"},
	{"ignore-files", "filesystem"},
	{"memory", "limits"},
	{"processes", "limits"},
	{"cpu", "limits"},
	{"disk", "limits"},
	{"pass", "environment"},
	{"set", "environment"},
	{"autonomy", "commands"},
	{"attach", "credentials"},
	{"placeholder", "credentials"},
	{"repo", "git"},
	{"push", "git"},
	{"branches", "git[].push"},
	{"verbs", "git[].push"},
};

const char *reader_place(struct reader *reader, struct bytes key)
{
	const char *place = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (bytes_is(key, places[i].key))
			place = arena_format(reader->arena,
					     "; a policy has it in \"%s\"",
					     places[i].place);
	return place ? place : "";
}

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
