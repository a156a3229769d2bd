/*
 * The last refusals of this session, for whoever asks inside the sandbox:
 * bounded, oldest first out, nothing in it that the sandbox was not told.
 */
#ifndef GATEWAY_EDGE_RECENT_H
#define GATEWAY_EDGE_RECENT_H

#include "common/buf.h"
#include "gateway/flow/record.h"

#define RECENT_MAX	 64
#define RECENT_LINE_MAX	 4096
#define RECENT_TEXT_MAX	 256 /* bytes of any one text */
#define RECENT_SHORT_MAX 48

struct refused {
	uint64_t time_ms;
	uint8_t kind;
	uint16_t constraint;
	uint16_t port;
	char request_id[RECENT_SHORT_MAX];
	char method[RECENT_SHORT_MAX];
	char approval[RECENT_SHORT_MAX];
	char rule[RECENT_TEXT_MAX];
	char host[RECENT_TEXT_MAX];
	char path[RECENT_TEXT_MAX];
	char detail[RECENT_TEXT_MAX];
};

struct recent {
	struct refused items[RECENT_MAX];
	size_t count; /* of all there ever were */
};

/* Remember a record of a refusal; what is longer or unprintable is cut or
 * shown as '?'. */
void recent_add(struct recent *recent, const struct record *record,
		uint64_t now_ms);
/* Append them to out, the oldest first, one JSON object a line. recent may
 * be NULL. 0, or -1 when out has no room. */
int recent_write(const struct recent *recent, struct buf *out);

#endif
