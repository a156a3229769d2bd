#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox-host/agent/parts.h"

static enum file_type type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return FILE_REGULAR;
	if (S_ISDIR(mode))
		return FILE_DIRECTORY;
	return S_ISLNK(mode) ? FILE_SYMLINK : FILE_OTHER;
}

/* 0 before the epoch: no clock of ours was there. */
static uint64_t to_ms(struct statx_timestamp time)
{
	return time.tv_sec < 0
		       ? 0
		       : (uint64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void fill(const struct statx *st, struct entry_text *text,
		 struct file_entry *entry)
{
	owner_name(st->stx_uid, text->owner);
	owner_group(st->stx_gid, text->group);
	*entry = (struct file_entry){
		.type = (uint8_t)type_of(st->stx_mode),
		.size = st->stx_size,
		.mode = st->stx_mode & 07777,
		.owner = bytes_str(text->owner),
		.group = bytes_str(text->group),
		.modified_ms = to_ms(st->stx_mtime),
		.created_ms = to_ms(st->stx_mask & STATX_BTIME ? st->stx_btime
							       : st->stx_ctime),
	};
}

int entry_read(int directory, const char *path, struct entry_text *text,
	       struct file_entry *entry)
{
	struct statx st;
	ssize_t len;

	if (statx(directory, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &st) < 0)
		return -1;
	fill(&st, text, entry);
	if (entry->type != FILE_SYMLINK)
		return 0;
	len = readlinkat(directory, path, text->target,
			 sizeof(text->target) - 1);
	if (len < 0)
		return -1;
	entry->target = bytes_from(text->target, (size_t)len);
	return 0;
}

int entry_read_open(int fd, struct entry_text *text, struct file_entry *entry)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) <
	    0)
		return -1;
	fill(&st, text, entry);
	return 0;
}
