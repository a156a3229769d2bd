#include "gateway/packcheck/finding.h"

#include <stdarg.h>
#include <stdio.h>

void finding_set(struct finding *finding, enum constraint constraint,
		 const char *format, ...)
{
	va_list list;

	if (finding->constraint != CONSTRAINT_none)
		return;
	finding->constraint = constraint;
	va_start(list, format);
	(void)vsnprintf(finding->text, sizeof(finding->text), format, list);
	va_end(list);
}

const char *finding_name(struct bytes name, char out[FINDING_NAME_MAX])
{
	static const struct bytes dots = BYTES_LITERAL("...");
	size_t len = 0;

	if (name.len >= FINDING_NAME_MAX) {
		memcpy(out, dots.data, dots.len);
		len = dots.len;
		name = bytes_slice(name, name.len - FINDING_NAME_MAX + len + 1,
				   name.len);
	}
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.data[i];

		out[len++] = c < 0x20 || c > 0x7e ? '?' : (char)c;
	}
	out[len] = '\0';
	return out;
}

const char *finding_id(const git_oid *oid, char out[FINDING_ID_LEN + 1])
{
	return git_oid_tostr(out, FINDING_ID_LEN + 1, oid);
}
