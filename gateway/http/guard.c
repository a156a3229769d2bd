#include "gateway/http/guard.h"

#include "common/words.h"
#include "gateway/http/classes.h"
#include "gateway/http/guard_fields.h"

enum guard_state {
	STATE_START,	   /* before the first byte of the start line */
	STATE_START_LINE,  /* in it */
	STATE_START_LF,	   /* after its CR */
	STATE_FIELD_START, /* before the first byte of a line */
	STATE_NAME,
	STATE_VALUE,
	STATE_FIELD_LF, /* after the CR of a field line */
	STATE_END_LF,	/* after the CR of the empty line */
	STATE_COMPLETE,
	STATE_INVALID
};

void guard_init(struct guard *guard, enum guard_kind kind)
{
	*guard = (struct guard){
		.kind = kind,
		.bytes_max = kind == GUARD_TRAILER ? GUARD_TRAILER_MAX
						   : HEAD_BYTES_MAX,
		.fields_max = HEAD_FIELDS_MAX,
		.state =
			kind == GUARD_TRAILER ? STATE_FIELD_START : STATE_START,
	};
}

static void refuse(struct guard *guard, const char *reason)
{
	guard->state = STATE_INVALID;
	guard->fault.reason = reason;
	guard->fault.constraint = guard->kind == GUARD_RESPONSE
					  ? CONSTRAINT_response_malformed
					  : CONSTRAINT_request_malformed;
}

static void refuse_size(struct guard *guard, const char *reason)
{
	refuse(guard, reason);
	if (guard->kind != GUARD_RESPONSE)
		guard->fault.constraint = CONSTRAINT_request_too_large;
}

/* Why a byte that may not stand in a line is refused. */
static const char *bad_byte(uint8_t c)
{
	if (c == '\n')
		return "a line ends with LF and no CR";
	return "a line has a control byte";
}

/* From here on positions count from the start of the message; p points to
 * where the byte at guard->scanned is, end past the last one. Each scan_x
 * takes bytes as far as its state goes and returns where it stopped. */

static const uint8_t *scan_line(struct guard *guard, const uint8_t *p,
				const uint8_t *end)
{
	/* What is printable is of the class. */
	p += words_printable(bytes_from(p, (size_t)(end - p)));
	while (p < end && http_classes[*p] & CLASS_VALUE)
		p++;
	if (p == end)
		return p;
	if (*p != '\r') {
		refuse(guard, bad_byte(*p));
		return p;
	}
	guard->state =
		guard->state == STATE_VALUE ? STATE_FIELD_LF : STATE_START_LF;
	return p + 1;
}

static const uint8_t *scan_name(struct guard *guard, const uint8_t *p,
				const uint8_t *end)
{
	const uint8_t *from = p;

	while (p < end && http_classes[*p] & CLASS_TOKEN)
		p++;
	guard->colon += (size_t)(p - from);
	if (p == end)
		return p;
	if (*p != ':') {
		refuse(guard, "a field name has a byte that it may not have");
		return p;
	}
	guard->state = STATE_VALUE;
	return p + 1;
}

static const uint8_t *scan_field_start(struct guard *guard, const uint8_t *p)
{
	if (*p == '\r') {
		guard->state = STATE_END_LF;
		return p + 1;
	}
	if (*p == ' ' || *p == '\t')
		refuse(guard, "a line is folded");
	else if (*p == ':')
		refuse(guard, "a field has no name");
	else if (*p == '\n')
		refuse(guard, bad_byte(*p));
	else if (guard->fields == guard->fields_max)
		refuse_size(guard, "there are too many fields");
	else
		guard->state = STATE_NAME;
	guard->colon = 0;
	return p;
}

static const uint8_t *scan_start(struct guard *guard, const uint8_t *p)
{
	if (!(http_classes[*p] & CLASS_TOKEN))
		refuse(guard, "the first byte is not of HTTP/1.1");
	else
		guard->state = STATE_START_LINE;
	return p;
}

/* A line is complete but for its LF; line is without its CR. Trailers have
 * none to look at. */
static const char *check_line(struct guard *guard, struct bytes line)
{
	if (guard->kind == GUARD_TRAILER)
		return NULL;
	if (guard->state == STATE_START_LF)
		return guard->kind == GUARD_REQUEST
			       ? guard_request_line(&guard->facts, line)
			       : guard_status_line(&guard->facts, line);
	return guard_field(
		&guard->facts, guard->kind, bytes_slice(line, 0, guard->colon),
		bytes_trim(bytes_slice(line, guard->colon + 1, line.len)));
}

/* message is where the message starts, NULL for trailers. */
static const uint8_t *scan_lf(struct guard *guard, const uint8_t *p,
			      const uint8_t *message)
{
	struct bytes line = {NULL, 0};
	const char *reason = NULL;

	if (*p != '\n') {
		refuse(guard, "a CR is not followed by LF");
		return p;
	}
	if (guard->state == STATE_END_LF) {
		reason = guard_whole(&guard->facts, guard->kind);
		guard->state = STATE_COMPLETE;
	} else {
		if (message)
			line = bytes_from(message + guard->line_start,
					  (size_t)(p - 1 - message) -
						  guard->line_start);
		reason = check_line(guard, line);
		guard->fields += guard->state == STATE_FIELD_LF;
		guard->state = STATE_FIELD_START;
	}
	if (reason)
		refuse(guard, reason);
	return p + 1;
}

static const uint8_t *scan_state(struct guard *guard, const uint8_t *p,
				 const uint8_t *end, const uint8_t *message)
{
	switch ((enum guard_state)guard->state) {
	case STATE_START:
		return scan_start(guard, p);
	case STATE_START_LINE:
	case STATE_VALUE:
		return scan_line(guard, p, end);
	case STATE_FIELD_START:
		return scan_field_start(guard, p);
	case STATE_NAME:
		return scan_name(guard, p, end);
	case STATE_START_LF:
	case STATE_FIELD_LF:
	case STATE_END_LF:
		return scan_lf(guard, p, message);
	case STATE_COMPLETE:
	case STATE_INVALID:
		break;
	}
	return end;
}

/* The end of what may be looked at: a byte past the line's and the
 * section's bounds at most, so that a flood costs no more than that. */
static const uint8_t *clamp(const struct guard *guard, const uint8_t *p,
			    const uint8_t *end)
{
	size_t room = guard->bytes_max + 1 - guard->scanned;
	size_t line = HEAD_LINE_MAX + 1 - (guard->scanned - guard->line_start);

	if (line < room)
		room = line;
	return (size_t)(end - p) > room ? p + room : end;
}

static void check_sizes(struct guard *guard)
{
	if (guard->scanned - guard->line_start > HEAD_LINE_MAX)
		refuse_size(guard, "a line is longer than 8 KiB");
	else if (guard->scanned > guard->bytes_max)
		refuse_size(guard, "the head is longer than its bound");
}

/* To the line's end or stop, whichever is first: within a line what clamp()
 * says stays the same. */
static const uint8_t *scan_states(struct guard *guard, const uint8_t *p,
				  const uint8_t *stop, const uint8_t *message)
{
	do {
		p = scan_state(guard, p, stop, message);
	} while (p < stop && guard->state != STATE_FIELD_START &&
		 guard->state < STATE_COMPLETE);
	return p;
}

static const uint8_t *scan(struct guard *guard, const uint8_t *p,
			   const uint8_t *end, const uint8_t *message)
{
	while (p < end && guard->state < STATE_COMPLETE) {
		const uint8_t *from = p;

		p = scan_states(guard, p, clamp(guard, p, end), message);
		guard->scanned += (size_t)(p - from);
		if (guard->state != STATE_INVALID)
			check_sizes(guard);
		if (guard->state == STATE_FIELD_START && p != from)
			guard->line_start = guard->scanned;
	}
	return p;
}

static enum guard_result result_of(const struct guard *guard)
{
	if (guard->state == STATE_COMPLETE)
		return GUARD_COMPLETE;
	return guard->state == STATE_INVALID ? GUARD_INVALID : GUARD_MORE;
}

enum guard_result guard_scan(struct guard *guard, struct bytes input,
			     size_t *head_len)
{
	if (guard->scanned < input.len)
		scan(guard, input.data + guard->scanned, input.data + input.len,
		     input.data);
	*head_len = guard->scanned;
	return result_of(guard);
}

enum guard_result guard_scan_trailer(struct guard *guard, struct bytes *input)
{
	if (input->len > 0) {
		const uint8_t *p = scan(guard, input->data,
					input->data + input->len, NULL);

		*input = bytes_slice(*input, (size_t)(p - input->data),
				     input->len);
	}
	return result_of(guard);
}
