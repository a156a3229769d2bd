#include "sandbox-host/store/tar.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/cleanup.h"

#define EXTENDED_MAX (64 * 1024)

/* POSIX.1-1988, table 10-1. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], time[12];
	char checksum[8], type, link[100], magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is a block");

/* What stands before an entry, about it. */
struct extended {
	bool has_path, has_link, has_size;
	uint64_t size;
};

static int invalid(struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID, "tar: %s", what);
}

/* All of size bytes. 1, 0 when there is none, or -1. */
static int read_whole(struct tar *tar, void *out, size_t size, struct err *err)
{
	size_t done = 0;

	while (done < size) {
		ssize_t len =
			tar->read(tar->owner, (char *)out + done, size - done);

		if (len < 0)
			return invalid(err, "it can not be read");
		if (len == 0)
			return done == 0 ? 0 : invalid(err, "it is cut");
		done += (size_t)len;
	}
	return 1;
}

static int skip(struct tar *tar, struct err *err)
{
	char block[TAR_BLOCK];

	tar->left += tar->padding;
	tar->padding = 0;
	while (tar->left > 0) {
		size_t len =
			tar->left < sizeof(block) ? tar->left : sizeof(block);

		if (read_whole(tar, block, len, err) != 1)
			return invalid(err, "it is cut");
		tar->left -= len;
	}
	return 0;
}

ssize_t tar_content(struct tar *tar, void *out, size_t size, struct err *err)
{
	ssize_t len;

	if (tar->left == 0)
		return 0;
	if (size > tar->left)
		size = tar->left;
	len = tar->read(tar->owner, out, size);
	if (len <= 0)
		return invalid(err, "it is cut");
	tar->left -= (uint64_t)len;
	return len;
}

/* ---- numbers ---- */

/* Octal with spaces and zero bytes around it, or GNU's: the first bit set,
 * then a number, which is not negative. */
static int number(const char *field, size_t len, uint64_t *out)
{
	size_t at = 0;

	*out = 0;
	if ((uint8_t)field[0] == 0x80) {
		for (at = 1; at < len; at++) {
			if (*out >> 55)
				return -1;
			*out = *out << 8 | (uint8_t)field[at];
		}
		return 0;
	}
	while (at < len && field[at] == ' ')
		at++;
	for (; at < len && field[at] >= '0' && field[at] <= '7'; at++)
		*out = *out << 3 | (uint64_t)(field[at] - '0');
	for (; at < len; at++)
		if (field[at] != ' ' && field[at] != '\0')
			return -1;
	return 0;
}

static bool is_sum_right(const struct header *header)
{
	const uint8_t *bytes = (const uint8_t *)header;
	size_t from = offsetof(struct header, checksum);
	uint64_t wanted, sum = 0;

	for (size_t i = 0; i < sizeof(*header); i++)
		sum += i >= from && i < from + sizeof(header->checksum)
			       ? ' '
			       : bytes[i];
	return number(header->checksum, sizeof(header->checksum), &wanted) ==
		       0 &&
	       wanted == sum;
}

static bool is_empty(const struct header *header)
{
	static const struct header zero;

	return memcmp(header, &zero, sizeof(zero)) == 0;
}

/* ---- what stands before an entry ---- */

static int keep_text(char out[TAR_NAME_MAX], struct bytes text, struct err *err)
{
	if (text.len >= TAR_NAME_MAX)
		return invalid(err, "a name is too long");
	if (memchr(text.data, 0, text.len))
		return invalid(err, "a name has a zero byte in it");
	memcpy(out, text.data, text.len);
	out[text.len] = '\0';
	return 0;
}

static int read_extended(struct tar *tar, uint64_t size, uint8_t **out,
			 struct err *err)
{
	if (size > EXTENDED_MAX)
		return invalid(err, "what stands before an entry is too long");
	*out = malloc(size + 1);
	if (!*out)
		return err_set(err, ERR_TOO_LARGE, "tar: no memory");
	if (size > 0 && read_whole(tar, *out, size, err) != 1)
		return invalid(err, "it is cut");
	(*out)[size] = '\0';
	tar->left = 0;
	return skip(tar, err);
}

/* One "LENGTH KEY=VALUE\n" (POSIX.1-2001, pax). */
static int take_record(struct bytes *text, struct bytes *key,
		       struct bytes *value)
{
	struct bytes rest = *text, digits;
	uint64_t len;

	if (!bytes_split(&rest, ' ', &digits) ||
	    bytes_to_u64(digits, 6, &len) < 0 || len > text->len ||
	    len < digits.len + 3 || text->data[len - 1] != '\n')
		return -1;
	*value = bytes_slice(*text, digits.len + 1, len - 1);
	*text = bytes_slice(*text, len, text->len);
	return bytes_split(value, '=', key) ? 0 : -1;
}

static int take_pax(struct bytes text, struct tar_entry *entry,
		    struct extended *extended, struct err *err)
{
	struct bytes key, value;

	while (text.len > 0) {
		if (take_record(&text, &key, &value) < 0)
			return invalid(err, "an extended header is damaged");
		if (bytes_is(key, "path")) {
			extended->has_path = true;
			if (keep_text(entry->path, value, err) < 0)
				return -1;
		} else if (bytes_is(key, "linkpath")) {
			extended->has_link = true;
			if (keep_text(entry->link, value, err) < 0)
				return -1;
		} else if (bytes_is(key, "size")) {
			extended->has_size = true;
			if (bytes_to_u64(value, 19, &extended->size) < 0)
				return invalid(err, "a size is none");
		} else if (bytes_starts_with(key, bytes_str("GNU.sparse."))) {
			return invalid(err, "sparse files are not taken");
		}
	}
	return 0;
}

/* 1: it was such, -1, or 0: it is an entry. */
static int take_extended(struct tar *tar, char type, uint64_t size,
			 struct tar_entry *entry, struct extended *extended,
			 struct err *err)
{
	auto_free uint8_t *text = NULL;
	struct bytes view;

	if (!strchr("xgLK", type) || !type)
		return 0;
	if (read_extended(tar, size, &text, err) < 0)
		return -1;
	view = bytes_from(text, size);
	/* For all entries: nothing in it is of use. */
	if (type == 'g')
		return 1;
	if (type == 'x')
		return take_pax(view, entry, extended, err) < 0 ? -1 : 1;
	while (view.len > 0 && view.data[view.len - 1] == '\0')
		view.len--;
	if (type == 'L')
		extended->has_path = true;
	else
		extended->has_link = true;
	return keep_text(type == 'L' ? entry->path : entry->link, view, err) < 0
		       ? -1
		       : 1;
}

/* ---- entries ---- */

static struct bytes text_of(const char *field, size_t max)
{
	return bytes_from((const uint8_t *)field, strnlen(field, max));
}

static int take_names(const struct header *header, struct tar_entry *entry,
		      const struct extended *extended, struct err *err)
{
	struct bytes name = text_of(header->name, sizeof(header->name));
	struct bytes prefix = text_of(header->prefix, sizeof(header->prefix));
	bool has_prefix = !memcmp(header->magic, "ustar", 6) && prefix.len > 0;
	size_t at = 0;

	if (!extended->has_path) {
		if (has_prefix) {
			memcpy(entry->path, prefix.data, prefix.len);
			entry->path[prefix.len] = '/';
			at = prefix.len + 1;
		}
		memcpy(entry->path + at, name.data, name.len);
		entry->path[at + name.len] = '\0';
	}
	if (!extended->has_link)
		(void)keep_text(entry->link,
				text_of(header->link, sizeof(header->link)),
				err);
	return entry->path[0] ? 0 : invalid(err, "an entry has no name");
}

static int kind_of(char type, struct tar_entry *entry, struct err *err)
{
	size_t len = strlen(entry->path);

	switch (type) {
	case '\0':
	case '0':
	case '7':
		/* As the oldest ones say it. */
		entry->kind =
			entry->path[len - 1] == '/' ? TAR_DIRECTORY : TAR_FILE;
		return 0;
	case '1':
		entry->kind = TAR_HARD_LINK;
		return 0;
	case '2':
		entry->kind = TAR_SYMLINK;
		return 0;
	case '5':
		entry->kind = TAR_DIRECTORY;
		return 0;
	case '3':
	case '4':
	case '6':
		entry->kind = TAR_OTHER;
		return 0;
	default:
		return invalid(err, "an entry is of a kind that is not taken");
	}
}

static int take_entry(struct tar *tar, const struct header *header,
		      uint64_t size, const struct extended *extended,
		      struct tar_entry *entry, struct err *err)
{
	uint64_t mode, time;

	if (take_names(header, entry, extended, err) < 0 ||
	    kind_of(header->type, entry, err) < 0)
		return -1;
	if (number(header->mode, sizeof(header->mode), &mode) < 0 ||
	    number(header->time, sizeof(header->time), &time) < 0)
		return invalid(err, "a number is none");
	entry->mode = (unsigned)mode & 07777;
	entry->time = time < INT64_MAX ? (int64_t)time : 0;
	/* A link has none, whatever it says. */
	if (entry->kind == TAR_SYMLINK || entry->kind == TAR_HARD_LINK)
		size = 0;
	entry->size = entry->kind == TAR_FILE ? size : 0;
	tar->left = size;
	tar->padding = (unsigned)(-size % TAR_BLOCK);
	return 1;
}

int tar_next(struct tar *tar, struct tar_entry *entry, struct err *err)
{
	struct extended extended = {0};
	struct header header;

	entry->path[0] = entry->link[0] = '\0';
	if (skip(tar, err) < 0)
		return -1;
	for (;;) {
		int got = read_whole(tar, &header, sizeof(header), err);
		uint64_t size;

		if (got <= 0 || is_empty(&header))
			return got < 0 ? -1 : 0;
		if (!is_sum_right(&header))
			return invalid(err, "a header is damaged");
		if (number(header.size, sizeof(header.size), &size) < 0 ||
		    size > INT64_MAX)
			return invalid(err, "a size is none");
		tar->padding = (unsigned)(-size % TAR_BLOCK);
		got = take_extended(tar, header.type, size, entry, &extended,
				    err);
		if (got < 0)
			return -1;
		if (got == 0)
			return take_entry(tar, &header,
					  extended.has_size ? extended.size
							    : size,
					  &extended, entry, err);
	}
}
