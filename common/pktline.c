#include "common/pktline.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define HEADER_LEN 4
/* side-band-64k: the band's byte counts towards the packet. */
#define BAND_PAYLOAD_MAX (PKTLINE_PAYLOAD_MAX - 1)

static int digit_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum pktline_kind pktline_next(struct bytes input, struct bytes *payload,
			       size_t *used)
{
	size_t len = 0;

	*payload = bytes_from(NULL, 0);
	*used = 0;
	for (size_t i = 0; i < HEADER_LEN; i++) {
		int value;

		if (i == input.len)
			return PKTLINE_MORE;
		value = digit_value(input.data[i]);
		if (value < 0)
			return PKTLINE_INVALID;
		len = len << 4 | (size_t)value;
	}
	if (len == 3 || len > PKTLINE_MAX)
		return PKTLINE_INVALID;
	if (len > input.len)
		return PKTLINE_MORE;
	*used = len < HEADER_LEN ? HEADER_LEN : len;
	if (len == 0)
		return PKTLINE_FLUSH;
	if (len == 1)
		return PKTLINE_DELIM;
	if (len == 2)
		return PKTLINE_END;
	*payload = bytes_slice(input, HEADER_LEN, len);
	return PKTLINE_DATA;
}

/* The header of a packet with len bytes after it, at to[HEADER_LEN]. */
static void put_header(uint8_t *to, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	len += HEADER_LEN;
	for (size_t i = 0; i < HEADER_LEN; i++)
		to[i] = (uint8_t)digits[len >> (12 - 4 * i) & 15];
}

int pktline_add(struct buf *out, struct bytes payload)
{
	uint8_t header[HEADER_LEN];

	if (payload.len > PKTLINE_PAYLOAD_MAX ||
	    buf_room(out) < HEADER_LEN + payload.len ||
	    !buf_reserve(out, HEADER_LEN + payload.len))
		return -1;
	put_header(header, payload.len);
	(void)buf_add(out, bytes_from(header, sizeof(header)));
	return buf_add(out, payload);
}

int pktline_add_format(struct buf *out, const char *format, ...)
{
	va_list args;
	uint8_t *to;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || len > PKTLINE_PAYLOAD_MAX ||
	    buf_room(out) < HEADER_LEN + (size_t)len)
		return -1;
	to = buf_reserve(out, HEADER_LEN + (size_t)len + 1);
	if (!to)
		return -1;
	put_header(to, (size_t)len);
	va_start(args, format);
	(void)vsnprintf((char *)to + HEADER_LEN, (size_t)len + 1, format, args);
	va_end(args);
	buf_commit(out, HEADER_LEN + (size_t)len);
	return 0;
}

int pktline_add_flush(struct buf *out)
{
	return buf_add_str(out, "0000");
}

int pktline_add_delim(struct buf *out)
{
	return buf_add_str(out, "0001");
}

int pktline_add_band(struct buf *out, unsigned band, struct bytes payload)
{
	size_t packets = payload.len / BAND_PAYLOAD_MAX +
			 (payload.len % BAND_PAYLOAD_MAX > 0);
	size_t need = payload.len + packets * (HEADER_LEN + 1);

	assert(band >= 1 && band <= 3);
	if (need == 0)
		return 0;
	if (buf_room(out) < need || !buf_reserve(out, need))
		return -1;
	while (payload.len > 0) {
		struct bytes part = bytes_slice(payload, 0, BAND_PAYLOAD_MAX);
		uint8_t header[HEADER_LEN + 1];

		put_header(header, part.len + 1);
		header[HEADER_LEN] = (uint8_t)band;
		(void)buf_add(out, bytes_from(header, sizeof(header)));
		(void)buf_add(out, part);
		payload = bytes_slice(payload, part.len, payload.len);
	}
	return 0;
}
