#include "gateway/http/framing.h"

#include <assert.h>

#include "gateway/http/classes.h"

/* Where a chunked body stands; the other framings use START and DONE. */
enum body_state {
	STATE_START,	 /* before the first digit of a size */
	STATE_SIZE,	 /* in it */
	STATE_EXTENSION, /* after the ';' */
	STATE_SIZE_LF,
	STATE_DATA,
	STATE_DATA_CR,
	STATE_DATA_LF,
	STATE_TRAILER,
	STATE_DONE,
	STATE_INVALID
};

/* What llhttp saw in one run of bytes. */
struct seen {
	struct bytes payload;
	bool header;  /* the end of a chunk's line */
	bool chunk;   /* the end of a chunk */
	bool message; /* the end of the body */
};

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
	struct seen *seen = parser->data;

	seen->payload = bytes_from(at, len);
	return 0;
}

static int on_chunk_header(llhttp_t *parser)
{
	struct seen *seen = parser->data;

	seen->header = true;
	return 0;
}

static int on_chunk_complete(llhttp_t *parser)
{
	struct seen *seen = parser->data;

	seen->chunk = true;
	return 0;
}

static int on_message_complete(llhttp_t *parser)
{
	struct seen *seen = parser->data;

	seen->message = true;
	return 0;
}

static const llhttp_settings_t settings = {
	.on_body = on_body,
	.on_chunk_header = on_chunk_header,
	.on_chunk_complete = on_chunk_complete,
	.on_message_complete = on_message_complete,
};

/* Let llhttp read bytes; what it saw. False when it refuses them. */
static bool feed(struct body_decoder *decoder, struct bytes bytes,
		 struct seen *seen)
{
	*seen = (struct seen){.header = false};
	decoder->parser.data = seen;
	return llhttp_execute(&decoder->parser, (const char *)bytes.data,
			      bytes.len) == HPE_OK;
}

void body_decoder_init(struct body_decoder *decoder, enum framing framing,
		       uint64_t body_len)
{
	/* llhttp reads bodies only behind a head: this one. */
	static const struct bytes head = BYTES_LITERAL(
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
	struct seen seen;
	bool is_ready;

	/* All but what reads chunks: half a KiB that few bodies need. */
	memset(decoder, 0, offsetof(struct body_decoder, parser));
	decoder->keep = NULL;
	decoder->framing = framing;
	if (framing == FRAMING_LENGTH)
		decoder->left = body_len;
	if (framing == FRAMING_NONE ||
	    (framing == FRAMING_LENGTH && body_len == 0))
		decoder->state = STATE_DONE;
	if (framing != FRAMING_CHUNKED)
		return;
	llhttp_init(&decoder->parser, HTTP_REQUEST, &settings);
	is_ready = feed(decoder, head, &seen);
	assert(is_ready);
}

static void refuse(struct body_decoder *decoder, const char *reason)
{
	decoder->state = STATE_INVALID;
	decoder->reason = reason;
}

/* Take bytes off the front. */
static struct bytes take(struct bytes *input, size_t len)
{
	struct bytes front = bytes_slice(*input, 0, len);

	*input = bytes_slice(*input, len, input->len);
	return front;
}

static bool is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
	       (c >= 'A' && c <= 'F');
}

static void step_size(struct body_decoder *decoder, struct bytes *input)
{
	struct bytes digits;
	struct seen seen;
	size_t n = 0;

	while (n < input->len && n <= CHUNK_DIGITS_MAX &&
	       is_hex(input->data[n]))
		n++;
	decoder->line_bytes += (unsigned)n;
	if (decoder->line_bytes > CHUNK_DIGITS_MAX) {
		refuse(decoder, "a chunk size has more than 16 digits");
		return;
	}
	digits = take(input, n);
	if (n > 0 && !feed(decoder, digits, &seen))
		refuse(decoder, "a chunk size is not valid");
	else if (n > 0)
		decoder->state = STATE_SIZE;
}

/* After the digits: the line's end, or an extension. */
static void step_size_end(struct body_decoder *decoder, struct bytes *input)
{
	struct seen seen;
	uint8_t c = input->data[0];
	struct bytes byte = take(input, 1);

	decoder->line_bytes =
		decoder->state == STATE_SIZE ? 0 : decoder->line_bytes;
	if (decoder->state == STATE_START)
		refuse(decoder, "a chunk size is not hexadecimal");
	else if (c == '\r' && feed(decoder, byte, &seen))
		decoder->state = STATE_SIZE_LF;
	else if (c == ';' && decoder->state == STATE_SIZE)
		decoder->state = STATE_EXTENSION;
	else
		refuse(decoder, "a chunk size does not end with CRLF");
}

/* Extensions are dropped: llhttp does not see them. */
static void step_extension(struct body_decoder *decoder, struct bytes *input)
{
	size_t n = 0;

	while (n < input->len && n < CHUNK_EXTENSION_MAX &&
	       http_classes[input->data[n]] & CLASS_VALUE)
		n++;
	take(input, n);
	decoder->line_bytes += (unsigned)n;
	if (decoder->line_bytes >= CHUNK_EXTENSION_MAX)
		refuse(decoder, "a chunk extension is too long");
	else if (input->len > 0)
		step_size_end(decoder, input);
}

static void step_size_lf(struct body_decoder *decoder, struct bytes *input)
{
	struct seen seen;

	if (!feed(decoder, take(input, 1), &seen) || !seen.header) {
		refuse(decoder, "a chunk size does not end with CRLF");
		return;
	}
	decoder->left = decoder->parser.content_length;
	decoder->line_bytes = 0;
	decoder->state = decoder->left > 0 ? STATE_DATA : STATE_TRAILER;
	if (decoder->left == 0)
		guard_init(&decoder->trailer, GUARD_TRAILER);
}

static void step_data(struct body_decoder *decoder, struct bytes *input,
		      struct bytes *payload)
{
	size_t n = decoder->left < input->len ? decoder->left : input->len;
	struct bytes data = take(input, n);
	struct seen seen;

	if (!feed(decoder, data, &seen) || seen.payload.data != data.data ||
	    seen.payload.len != data.len) {
		refuse(decoder, "a chunk can be read in two ways");
		return;
	}
	*payload = data;
	decoder->left -= n;
	decoder->total += n;
	if (decoder->left == 0)
		decoder->state = STATE_DATA_CR;
}

static void step_data_end(struct body_decoder *decoder, struct bytes *input)
{
	bool is_cr = decoder->state == STATE_DATA_CR;
	bool fits = input->data[0] == (is_cr ? '\r' : '\n');
	struct seen seen;

	if (!fits || !feed(decoder, take(input, 1), &seen) ||
	    seen.chunk == is_cr)
		refuse(decoder, "a chunk is not followed by CRLF");
	else
		decoder->state = is_cr ? STATE_DATA_LF : STATE_START;
}

/* llhttp sees an empty section: whoever keeps trailers reads them alone. */
static void step_trailer(struct body_decoder *decoder, struct bytes *input)
{
	static const struct bytes end = BYTES_LITERAL("\r\n");
	struct bytes before = *input;
	enum guard_result result = guard_scan_trailer(&decoder->trailer, input);
	struct seen seen;

	before.len -= input->len;
	if (decoder->keep && result != GUARD_INVALID &&
	    buf_add(decoder->keep, before) < 0) {
		refuse(decoder, "the trailers are too large");
		return;
	}
	switch (result) {
	case GUARD_MORE:
		break;
	case GUARD_INVALID:
		refuse(decoder, decoder->trailer.fault.reason);
		break;
	case GUARD_COMPLETE:
		if (feed(decoder, end, &seen) && seen.message)
			decoder->state = STATE_DONE;
		else
			refuse(decoder, "the body can be read in two ways");
		break;
	}
}

static void step_chunked(struct body_decoder *decoder, struct bytes *input,
			 struct bytes *payload)
{
	switch ((enum body_state)decoder->state) {
	case STATE_START:
	case STATE_SIZE:
		if (is_hex(input->data[0]))
			step_size(decoder, input);
		else
			step_size_end(decoder, input);
		break;
	case STATE_EXTENSION:
		step_extension(decoder, input);
		break;
	case STATE_SIZE_LF:
		step_size_lf(decoder, input);
		break;
	case STATE_DATA:
		step_data(decoder, input, payload);
		break;
	case STATE_DATA_CR:
	case STATE_DATA_LF:
		step_data_end(decoder, input);
		break;
	case STATE_TRAILER:
		step_trailer(decoder, input);
		break;
	case STATE_DONE:
	case STATE_INVALID:
		break;
	}
}

/* length and to-close: the bytes are the payload. */
static void step_plain(struct body_decoder *decoder, struct bytes *input,
		       struct bytes *payload)
{
	size_t n = input->len;

	if (decoder->framing == FRAMING_LENGTH && decoder->left < n)
		n = decoder->left;
	*payload = take(input, n);
	decoder->total += n;
	if (decoder->framing != FRAMING_LENGTH)
		return;
	decoder->left -= n;
	if (decoder->left == 0)
		decoder->state = STATE_DONE;
}

enum body_result body_decode(struct body_decoder *decoder, struct bytes *input,
			     struct bytes *payload)
{
	*payload = bytes_from(NULL, 0);
	while (input->len > 0 && payload->len == 0 &&
	       decoder->state < STATE_DONE) {
		if (decoder->framing == FRAMING_CHUNKED)
			step_chunked(decoder, input, payload);
		else
			step_plain(decoder, input, payload);
	}
	if (decoder->state == STATE_DONE)
		return BODY_END;
	return decoder->state == STATE_INVALID ? BODY_INVALID : BODY_MORE;
}

bool body_decoder_may_end(const struct body_decoder *decoder)
{
	return decoder->state == STATE_DONE ||
	       decoder->framing == FRAMING_TO_CLOSE;
}

enum framing framing_for_client(const struct response *response,
				const struct request *request)
{
	if (response->framing != FRAMING_CHUNKED &&
	    response->framing != FRAMING_TO_CLOSE)
		return response->framing;
	return request->is_http10 ? FRAMING_TO_CLOSE : FRAMING_CHUNKED;
}

size_t chunk_header(uint64_t len, char out[CHUNK_HEADER_MAX])
{
	static const char digits[] = "0123456789abcdef";
	size_t count = 1, i;

	assert(len > 0);
	while (count < CHUNK_DIGITS_MAX && len >> (4 * count))
		count++;
	for (i = 0; i < count; i++)
		out[i] = digits[len >> (4 * (count - 1 - i)) & 15];
	out[i++] = '\r';
	out[i++] = '\n';
	return i;
}

int body_encode(struct buf *out, enum framing framing, struct bytes payload)
{
	char header[CHUNK_HEADER_MAX];
	size_t len;

	if (framing != FRAMING_CHUNKED || payload.len == 0)
		return buf_add(out, payload);
	len = chunk_header(payload.len, header);
	if (len + payload.len + sizeof(CHUNK_TAIL) - 1 > buf_room(out))
		return -1;
	if (buf_add(out, bytes_from(header, len)) < 0 ||
	    buf_add(out, payload) < 0)
		return -1;
	return buf_add_str(out, CHUNK_TAIL);
}

int body_encode_end(struct buf *out, enum framing framing)
{
	return framing == FRAMING_CHUNKED ? buf_add_str(out, CHUNK_LAST) : 0;
}
