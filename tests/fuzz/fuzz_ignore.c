/*
 * Ignore files and globs from anybody, up to the first zero byte, against a
 * path, behind it: an escaped text is a glob for itself alone, and what hides
 * a directory hides all below it.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "policies/glob.h"
#include "sandbox-host/ignore.h"

#define TEXT_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int on_text(void *owner, struct bytes text)
{
	struct glob_fault fault;
	struct glob glob;

	(void)owner;
	if (glob_parse(&glob, text, GLOB_POLICY, &fault) == 0)
		(void)glob_matches(&glob, text);
	return 0;
}

static void check_escaped(struct bytes text)
{
	char escaped[2 * TEXT_MAX + 1], plain[2 * TEXT_MAX + 1];
	struct glob_fault fault;
	struct glob glob;

	if (text.len > TEXT_MAX / 2)
		return;
	glob_escape(text, escaped);
	assert(!glob_is_one(bytes_str(escaped)));
	glob_unescape(bytes_str(escaped), plain);
	assert(bytes_equal(bytes_str(plain), text));
	assert(glob_parse(&glob, bytes_str(escaped), GLOB_POLICY, &fault) == 0);
	assert(glob_matches(&glob, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct bytes path = bytes_from(data, len);
	struct bytes text;
	struct glob_fault fault;
	struct ignore ignore = {0};
	unsigned faults = 0;
	char whole[TEXT_MAX];

	(void)bytes_split(&path, '\0', &text);
	if (bytes_find(path, '\0', 0) >= 0)
		return 0;
	check_escaped(text);
	(void)glob_expand(text, on_text, NULL, &fault);
	snprintf(whole, sizeof(whole), "/w/%.*s",
		 (int)(path.len < TEXT_MAX / 2 ? path.len : TEXT_MAX / 2),
		 (const char *)path.data);
	if (ignore_add(&ignore, "/w", 0, text, &faults, NULL) == 0 &&
	    ignore_covers(&ignore, whole, true)) {
		memcpy(whole + strlen(whole), "/below", sizeof("/below"));
		assert(ignore_covers(&ignore, whole, false));
	}
	ignore_release(&ignore);
	return 0;
}
