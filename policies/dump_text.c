#include "policies/dump_text.h"

void dump_text_quoted(struct dump_text *dump, struct bytes text)
{
	dump_text_add(dump, "\"");
	for (size_t i = 0; i < text.len; i++)
		dump_text_add(dump,
			      text.data[i] == '"' || text.data[i] == '\\'
				      ? "\\%c"
				      : "%c",
			      text.data[i]);
	dump_text_add(dump, "\"");
}

void dump_text_from(struct dump_text *dump, const char *where, unsigned line)
{
	if (line > 0)
		dump_text_add(dump, "  # %s:%u\n", where, line);
	else
		dump_text_add(dump, "  # %s\n", where ? where : "default");
}
