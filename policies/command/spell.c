#include "policies/command/spell.h"

#include "common/utf8.h"

enum spelling { SPELL_PLAIN, SPELL_QUOTED, SPELL_ESCAPED };

static bool is_plain(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c != '\0' && strchr("_@%+=:,./-", c));
}

static uint32_t code_of(struct bytes character)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = character.data[0] & masks[character.len];

	for (size_t i = 1; i < character.len; i++)
		code = code << 6 | (character.data[i] & 0x3f);
	return code;
}

/* Not a control, and nothing that hides or turns around what follows it. */
static bool is_shown(struct bytes character)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},
		{0x61c, 0x61c},	  {0x180e, 0x180e}, {0x2000, 0x200f},
		{0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},
		{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0x10ffff},
		{0xd800, 0xf8ff},
	};
	uint32_t code = code_of(character);

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (code >= hidden[i].first && code <= hidden[i].last)
			return false;
	return true;
}

/* The length of the character at the start, if it can be shown; else 0. */
static size_t shown_len(struct bytes rest)
{
	size_t len = utf8_len(rest);

	return len > 0 && is_shown(bytes_slice(rest, 0, len)) ? len : 0;
}

static enum spelling spelling_of(struct bytes word)
{
	enum spelling spelling = word.len > 0 ? SPELL_PLAIN : SPELL_QUOTED;

	for (size_t i = 0; i < word.len;) {
		size_t len = shown_len(bytes_slice(word, i, word.len));

		if (len == 0)
			return SPELL_ESCAPED;
		if (!is_plain(word.data[i]))
			spelling = SPELL_QUOTED;
		i += len;
	}
	return spelling;
}

static int add_quoted(struct bytes word, struct buf *out)
{
	if (buf_add_byte(out, '\'') < 0)
		return -1;
	for (size_t i = 0; i < word.len; i++)
		if (word.data[i] == '\'' ? buf_add_str(out, "'\\''") < 0
					 : buf_add_byte(out, word.data[i]) < 0)
			return -1;
	return buf_add_byte(out, '\'');
}

/* $'...' of bash. */
static int add_escaped(struct bytes word, struct buf *out)
{
	if (buf_add_str(out, "$'") < 0)
		return -1;
	for (size_t i = 0; i < word.len;) {
		struct bytes rest = bytes_slice(word, i, word.len);
		size_t len = shown_len(rest);
		int done;

		if (len == 0)
			done = buf_add_format(out, "\\x%02x", word.data[i]);
		else if (word.data[i] == '\'' || word.data[i] == '\\')
			done = buf_add_format(out, "\\%c", word.data[i]);
		else
			done = buf_add(out, bytes_slice(rest, 0, len));
		if (done < 0)
			return -1;
		i += len > 0 ? len : 1;
	}
	return buf_add_byte(out, '\'');
}

static int add_word(struct bytes word, struct buf *out)
{
	switch (spelling_of(word)) {
	case SPELL_PLAIN:
		return buf_add(out, word);
	case SPELL_QUOTED:
		return add_quoted(word, out);
	case SPELL_ESCAPED:
	default:
		return add_escaped(word, out);
	}
}

int command_spell(const char *const *words, size_t count, struct bytes cwd,
		  struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		if ((i > 0 && buf_add_byte(out, ' ') < 0) ||
		    add_word(bytes_str(words[i]), out) < 0)
			return -1;
	if (cwd.len == 0)
		return 0;
	return buf_add_str(out, " # in ") < 0 ? -1 : add_word(cwd, out);
}
