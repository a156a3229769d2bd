#include "tests/replay/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/pktline.h"

#define SCRIPT_STEPS_MAX 2000
#define SCRIPT_DEPTH_MAX 4
#define BLOCK_MAX	 (8 << 20)
#define LINE_MAX_LEN	 8192

void script_fail(const struct cue *step, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)fprintf(stderr, "%s:%u: ", step->file, step->line);
	(void)vfprintf(stderr, format, args);
	(void)fputc('\n', stderr);
	va_end(args);
	exit(EXIT_FAILURE);
}

/* ---- text with escapes ---- */

static void add_many(struct buf *out, unsigned long count, char c)
{
	while (count-- > 0)
		(void)buf_add_byte(out, (uint8_t)c);
}

static void expand(const struct cue *step, struct bytes text, struct buf *out);

static void add_packet(const struct cue *step, struct bytes text,
		       struct buf *out)
{
	auto_type(buf_release) struct buf payload;

	buf_init(&payload, BLOCK_MAX);
	expand(step, text, &payload);
	if (pktline_add(out, buf_view(&payload)) < 0)
		script_fail(step, "no pkt-line");
}

/* \o{..}, \p{..}, \{..}: what stands in the braces, *text after them. */
static struct bytes take_braces(const struct cue *step, struct bytes *text)
{
	ptrdiff_t end = bytes_find(*text, '}', 0);
	struct bytes inner;

	if (text->len == 0 || text->data[0] != '{' || end < 1)
		script_fail(step, "braces are missing");
	inner = bytes_slice(*text, 1, (size_t)end);
	*text = bytes_slice(*text, (size_t)end + 1, text->len);
	return inner;
}

static void add_pack(struct buf *out)
{
	static const uint8_t head[] = "PACK\0\0\0\2\0\0\0\1";

	(void)buf_add(out, bytes_from(head, 12));
	add_many(out, 20, 'z');
}

static void escape(const struct cue *step, char kind, struct bytes *text,
		   struct buf *out)
{
	struct bytes inner;
	uint8_t byte;

	switch (kind) {
	case 'r':
		(void)buf_add_byte(out, '\r');
		break;
	case 'n':
		(void)buf_add_byte(out, '\n');
		break;
	case '0':
		(void)buf_add_byte(out, '\0');
		break;
	case '\\':
		(void)buf_add_byte(out, '\\');
		break;
	case 'x':
		if (bytes_from_hex(bytes_slice(*text, 0, 2), &byte) < 0)
			script_fail(step, "\\x needs two digits");
		(void)buf_add_byte(out, byte);
		*text = bytes_slice(*text, 2, text->len);
		break;
	case 'k':
		add_pack(out);
		break;
	case 'o':
		inner = take_braces(step, text);
		add_many(out, 40, (char)inner.data[0]);
		break;
	case 'p':
		add_packet(step, take_braces(step, text), out);
		break;
	case '{':
		*text = bytes_from(text->data - 1, text->len + 1);
		inner = take_braces(step, text);
		add_many(out, strtoul((const char *)inner.data, NULL, 10),
			 (char)inner.data[inner.len - 1]);
		break;
	default:
		script_fail(step, "\\%c is unknown", kind);
	}
}

static void expand(const struct cue *step, struct bytes text, struct buf *out)
{
	while (text.len > 0) {
		char c = (char)text.data[0];

		text = bytes_slice(text, 1, text.len);
		if (c != '\\') {
			(void)buf_add_byte(out, (uint8_t)c);
		} else if (text.len > 0) {
			c = (char)text.data[0];
			text = bytes_slice(text, 1, text.len);
			escape(step, c, &text, out);
		}
	}
}

/* ---- lines ---- */

static void add_pkt_block(struct cue *step, struct bytes text)
{
	auto_type(buf_release) struct buf payload = {0};

	if (bytes_is(text, "0000") || bytes_is(text, "0001")) {
		(void)buf_add(&step->block, text);
		return;
	}
	buf_init(&payload, BLOCK_MAX);
	if (text.len > 0 && text.data[0] >= '1' && text.data[0] <= '3')
		(void)buf_add_byte(&payload, text.data[0] - '0');
	expand(step, bytes_slice(text, text.data[0] == ' ' ? 1 : 2, text.len),
	       &payload);
	if (pktline_add(&step->block, buf_view(&payload)) < 0)
		script_fail(step, "no pkt-line");
}

static bool add_block(struct cue *step, struct bytes line)
{
	struct bytes text = bytes_slice(line, 2, line.len);

	switch (line.data[0]) {
	case '|':
		expand(step, text, &step->block);
		(void)buf_add_str(&step->block, "\r\n");
		break;
	case '~':
		expand(step, text, &step->block);
		(void)buf_add_str(&step->block, "\n");
		break;
	case '>':
		expand(step, text, &step->block);
		break;
	case '=':
		add_pkt_block(step, bytes_slice(line, 1, line.len));
		break;
	default:
		return false;
	}
	step->has_block = true;
	return true;
}

static void split_words(struct script *script, struct cue *step,
			struct bytes line)
{
	while (line.len > 0) {
		struct bytes word;
		bool is_quoted = line.data[0] == '"';

		if (line.data[0] == '#')
			return;
		line = bytes_slice(line, is_quoted, line.len);
		(void)bytes_split(&line, is_quoted ? '"' : ' ', &word);
		if (word.data + word.len == line.data + line.len)
			line.len = 0;
		line = bytes_trim(line);
		if (step->word_count == STEP_WORDS_MAX)
			script_fail(step, "too many words");
		step->words[step->word_count++] =
			arena_str(&script->arena, word);
	}
}

static void load(struct script *script, const char *path, unsigned depth);

static void take_line(struct script *script, struct cue *step,
		      struct bytes line, unsigned depth)
{
	char path[LINE_MAX_LEN];
	const char *slash = strrchr(step->file, '/');

	split_words(script, step, line);
	if (step->word_count == 0)
		return;
	if (strcmp(step->words[0], "use") != 0) {
		script->count++;
		return;
	}
	(void)snprintf(path, sizeof(path), "%.*s%s",
		       slash ? (int)(slash - step->file) + 1 : 0, step->file,
		       step->word_count > 1 ? step->words[1] : "");
	load(script, path, depth + 1);
}

static void load(struct script *script, const char *path, unsigned depth)
{
	char line[LINE_MAX_LEN];
	unsigned number = 0;
	FILE *file = fopen(path, "r");
	const char *name = arena_str(&script->arena, bytes_str(path));

	if (!file || depth > SCRIPT_DEPTH_MAX) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	while (fgets(line, sizeof(line), file)) {
		struct cue *step = &script->steps[script->count];
		struct bytes text = bytes_str(line);

		number++;
		if (text.len && text.data[text.len - 1] == '\n')
			text.len--;
		if (script->count + 1 >= SCRIPT_STEPS_MAX)
			script_fail(step, "too many steps");
		if (text.len == 0 ||
		    (script->count > 0 && add_block(step - 1, text)))
			continue;
		*step = (struct cue){.file = name, .line = number};
		buf_init(&step->block, BLOCK_MAX);
		take_line(script, step, bytes_trim(text), depth);
	}
	(void)fclose(file);
}

void script_load(struct script *script, const char *path)
{
	arena_init(&script->arena, BLOCK_MAX);
	script->count = 0;
	script->steps = calloc(SCRIPT_STEPS_MAX, sizeof(*script->steps));
	if (!script->steps)
		exit(EXIT_FAILURE);
	load(script, path, 0);
}

/* ---- comparing ---- */

bool text_matches(struct bytes pattern, struct bytes text)
{
	static const struct bytes any = BYTES_LITERAL("<*>");
	ptrdiff_t at = bytes_find_bytes(pattern, any, 0);
	struct bytes head;

	if (at < 0)
		return bytes_equal(pattern, text);
	head = bytes_slice(pattern, 0, (size_t)at);
	if (!bytes_starts_with(text, head))
		return false;
	text = bytes_slice(text, head.len, text.len);
	pattern = bytes_slice(pattern, head.len + any.len, pattern.len);
	/* The rest must start somewhere; what stands to the next "<*>" is
	 * taken at its first place, or at the end when there is no next. */
	at = bytes_find_bytes(pattern, any, 0);
	if (at < 0)
		return bytes_ends_with(text, pattern);
	head = bytes_slice(pattern, 0, (size_t)at);
	at = bytes_find_bytes(text, head, 0);
	return at >= 0 &&
	       text_matches(pattern, bytes_slice(text, (size_t)at, text.len));
}

void bytes_show(const char *title, struct bytes bytes)
{
	(void)fprintf(stderr, "---- %s (%zu bytes)\n", title, bytes.len);
	for (size_t i = 0; i < bytes.len && i < 4000; i++) {
		uint8_t c = bytes.data[i];

		if (c == '\n')
			(void)fputs("\\n\n", stderr);
		else if (c == '\r')
			(void)fputs("\\r", stderr);
		else if (c < 0x20 || c > 0x7e)
			(void)fprintf(stderr, "\\x%02x", c);
		else
			(void)fputc(c, stderr);
	}
	(void)fputs("\n----\n", stderr);
}
