#include "gateway/dns/reply.h"

#include <resolv.h>

#define OPTION_EDE     15 /* RFC 8914 */
#define EDE_BLOCKED    15
#define FLAG_RESPONSE  0x80
#define FLAG_RECURSION 0x80 /* available, in the fourth byte */
#define KEPT_FLAGS     0x79 /* opcode and RD of the third byte */
#define COMPRESSED_MAX 4    /* names that others may point to */

struct writer {
	uint8_t *start, *at, *end;
	const uint8_t *names[COMPRESSED_MAX];
	bool is_full;
};

static uint8_t *take(struct writer *writer, size_t len)
{
	uint8_t *at = writer->at;

	if ((size_t)(writer->end - at) < len) {
		writer->is_full = true;
		return NULL;
	}
	writer->at += len;
	return at;
}

static void put16(struct writer *writer, unsigned value)
{
	uint8_t *at = take(writer, 2);

	if (at)
		ns_put16(value, at);
}

static void put32(struct writer *writer, unsigned long value)
{
	uint8_t *at = take(writer, 4);

	if (at)
		ns_put32(value, at);
}

static void put_bytes(struct writer *writer, struct bytes bytes)
{
	uint8_t *at = take(writer, bytes.len);

	if (at && bytes.len > 0)
		memcpy(at, bytes.data, bytes.len);
}

static void put_name(struct writer *writer, const char *name)
{
	int len = ns_name_compress(
		name, writer->at, (size_t)(writer->end - writer->at),
		writer->names, writer->names + COMPRESSED_MAX);

	if (len < 0)
		writer->is_full = true;
	else
		writer->at += len;
}

static void put_header(struct writer *writer, const struct dns_reply *reply,
		       const struct dns_query *query)
{
	bool has_answer = reply->address || reply->pointer;
	const uint8_t flags[] = {
		(uint8_t)(FLAG_RESPONSE | (query->header[2] & KEPT_FLAGS)),
		(uint8_t)(FLAG_RECURSION | (reply->rcode & 0x0f)),
	};

	put_bytes(writer, bytes_from(query->header, 2));
	put_bytes(writer, bytes_from(flags, sizeof(flags)));
	put16(writer, query->has_question);
	put16(writer, has_answer);
	put16(writer, 0);
	put16(writer, query->has_edns);
}

static void put_answer(struct writer *writer, const struct dns_reply *reply,
		       const struct dns_query *query)
{
	uint8_t *len_at;

	put_name(writer, query->name);
	put16(writer, query->type);
	put16(writer, ns_c_in);
	put32(writer, DNS_TTL_SECS);
	len_at = take(writer, 2);
	if (!len_at)
		return;
	if (reply->pointer)
		put_name(writer, reply->pointer);
	else
		put_bytes(writer,
			  bytes_from(reply->address, reply->address_len));
	ns_put16((unsigned)(writer->at - len_at - 2), len_at);
}

/* RFC 6891 6.1.2. */
static void put_edns(struct writer *writer, const struct dns_reply *reply)
{
	size_t text_len = reply->blocked.len;

	put_bytes(writer, bytes_from("", 1)); /* the root */
	put16(writer, ns_t_opt);
	put16(writer, DNS_ANSWER_MAX);
	put32(writer, (unsigned long)(reply->rcode >> 4) << 24);
	put16(writer, text_len > 0 ? (unsigned)(6 + text_len) : 0);
	if (text_len == 0)
		return;
	put16(writer, OPTION_EDE);
	put16(writer, (unsigned)(2 + text_len));
	put16(writer, EDE_BLOCKED);
	put_bytes(writer, reply->blocked);
}

size_t dns_reply_write(const struct dns_reply *reply,
		       const struct dns_query *query,
		       uint8_t out[DNS_ANSWER_MAX])
{
	struct writer writer = {
		.start = out,
		.at = out,
		.end = out + DNS_ANSWER_MAX,
		.names = {out, NULL},
	};

	put_header(&writer, reply, query);
	if (query->has_question) {
		put_name(&writer, query->name);
		put16(&writer, query->type);
		put16(&writer, query->class);
	}
	if (reply->address || reply->pointer)
		put_answer(&writer, reply, query);
	if (query->has_edns)
		put_edns(&writer, reply);
	return writer.is_full ? 0 : (size_t)(writer.at - writer.start);
}
