#include "gateway/edge/recent.h"

#include <jansson.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"

static void copy(char *out, size_t size, struct bytes text)
{
	size_t len = text.len < size - 1 ? text.len : size - 1;

	for (size_t i = 0; i < len; i++)
		out[i] = text.data[i] >= 0x20 && text.data[i] < 0x7f
				 ? (char)text.data[i]
				 : '?';
	out[len] = '\0';
}

void recent_add(struct recent *recent, const struct record *record,
		uint64_t now_ms)
{
	struct refused *item = &recent->items[recent->count++ % RECENT_MAX];

	item->time_ms = record->time_ms ? record->time_ms : now_ms;
	item->kind = record->kind;
	item->constraint = record->constraint;
	item->port = record->port;
	copy(item->request_id, sizeof(item->request_id), record->request_id);
	copy(item->method, sizeof(item->method), record->method);
	copy(item->approval, sizeof(item->approval), record->approval);
	copy(item->rule, sizeof(item->rule), record->rule);
	copy(item->host, sizeof(item->host), record->host);
	copy(item->path, sizeof(item->path), record->path);
	copy(item->detail, sizeof(item->detail), record->detail);
}

/* NULL, which json_pack() leaves out, for an empty text. */
static const char *or_none(const char *text)
{
	return text[0] ? text : NULL;
}

static int add_line(const struct refused *item, struct buf *out)
{
	char when[CLOCK_TEXT_SIZE];
	auto_free char *text = NULL;
	json_t *line;

	clock_format(item->time_ms, when);
	line = json_pack(
		"{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:i, s:s*, s:s*, s:s*,"
		" s:s*}",
		"time", when, "activity",
		record_kind_name((enum record_kind)item->kind), "constraint",
		constraint_name((enum constraint)item->constraint),
		"request_id", or_none(item->request_id), "method",
		or_none(item->method), "host", or_none(item->host), "port",
		(int)item->port, "path", or_none(item->path), "rule",
		or_none(item->rule), "detail", or_none(item->detail),
		"proposal", or_none(item->approval));
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	if (!text || buf_add_str(out, text) < 0)
		return -1;
	return buf_add_byte(out, '\n');
}

int recent_write(const struct recent *recent, struct buf *out)
{
	size_t count = recent ? recent->count : 0;
	size_t at = count > RECENT_MAX ? count - RECENT_MAX : 0;

	for (; at < count; at++)
		if (add_line(&recent->items[at % RECENT_MAX], out) < 0)
			return -1;
	return 0;
}
