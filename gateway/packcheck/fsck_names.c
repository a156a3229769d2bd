#include <git2/sys/path.h>

#include "gateway/packcheck/fsck.h"
#include "gateway/packcheck/tree.h"

#define PADDING 64

static const struct bytes git = BYTES_LITERAL(".git");

/* Characters that HFS+ does not see in a name, as three bytes of UTF-8. */
static bool is_unseen(struct bytes text)
{
	uint32_t code;

	if (text.len < 3 || (text.data[0] & 0xf0) != 0xe0 ||
	    (text.data[1] & 0xc0) != 0x80 || (text.data[2] & 0xc0) != 0x80)
		return false;
	code = (uint32_t)(text.data[0] & 0x0f) << 12 |
	       (uint32_t)(text.data[1] & 0x3f) << 6 | (text.data[2] & 0x3f);
	return (code >= 0x200c && code <= 0x200f) ||
	       (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x206a && code <= 0x206f) || code == 0xfeff;
}

static bool is_git_on_hfs(struct bytes name)
{
	uint8_t seen[4];
	size_t len = 0;

	for (size_t i = 0; i < name.len; i++) {
		if (is_unseen(bytes_slice(name, i, name.len))) {
			i += 2;
			continue;
		}
		if (len == sizeof(seen))
			return false;
		seen[len++] = name.data[i];
	}
	return bytes_equal_nocase(bytes_from(seen, len), git);
}

/* NTFS drops spaces and dots at the end, and takes ':' for a stream. */
static bool is_git_on_ntfs(struct bytes name)
{
	struct bytes part;

	(void)bytes_split(&name, ':', &part);
	while (part.len > 0 && (part.data[part.len - 1] == ' ' ||
				part.data[part.len - 1] == '.'))
		part.len--;
	return bytes_equal_nocase(part, git) ||
	       bytes_equal_nocase(part, bytes_str("git~1"));
}

const char *fsck_name(struct bytes name)
{
	struct bytes rest = name, part;
	bool more = true;

	if (bytes_is(name, ".") || bytes_is(name, ".."))
		return "a name that is no name";
	if (is_git_on_hfs(name))
		return "a name that is .git";
	/* On Windows a path goes on behind it. */
	while (more) {
		more = bytes_split(&rest, '\\', &part);
		if (is_git_on_ntfs(part) ||
		    (part.len < name.len && bytes_is(part, "..")))
			return "a name that is .git";
	}
	return NULL;
}

/* libgit2 1.5 reads behind a name that is shorter than what it looks for:
 * there is room behind this one. */
bool fsck_is_modules(struct bytes name)
{
	static char room[TREE_NAME_MAX + PADDING];

	if (name.len == 0 || name.len > TREE_NAME_MAX)
		return false;
	memcpy(room, name.data, name.len);
	memset(room + name.len, 0, PADDING);
	return git_path_is_gitfile(room, name.len, GIT_PATH_GITFILE_GITMODULES,
				   GIT_PATH_FS_GENERIC) > 0;
}
