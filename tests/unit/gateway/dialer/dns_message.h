/*
 * DNS messages as the tests' server writes and reads them.
 */
#ifndef TESTS_DIALER_DNS_MESSAGE_H
#define TESTS_DIALER_DNS_MESSAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/bytes.h"

#define DNS_A	  1
#define DNS_CNAME 5
#define DNS_AAAA  28

struct dns_message {
	uint8_t bytes[1500];
	size_t len;
};

static inline void dns_put(struct dns_message *message, const void *bytes,
			   size_t len)
{
	assert_true(message->len + len <= sizeof(message->bytes));
	memcpy(message->bytes + message->len, bytes, len);
	message->len += len;
}

static inline void dns_put16(struct dns_message *message, unsigned number)
{
	const uint8_t bytes[] = {(uint8_t)(number >> 8), (uint8_t)number};

	dns_put(message, bytes, sizeof(bytes));
}

static inline void dns_put_name(struct dns_message *message, const char *name)
{
	struct bytes rest = bytes_str(name), label;
	bool more;

	do {
		uint8_t len;

		more = bytes_split(&rest, '.', &label);
		len = (uint8_t)label.len;
		dns_put(message, &len, 1);
		dns_put(message, label.data, label.len);
	} while (more);
	dns_put(message, "", 1);
}

/* owner: NULL: the name in question. */
static inline void dns_put_record(struct dns_message *message,
				  const char *owner, unsigned type,
				  unsigned ttl, const void *data, size_t len)
{
	if (owner)
		dns_put_name(message, owner);
	else
		dns_put16(message, 0xc00c);
	dns_put16(message, type);
	dns_put16(message, 1);
	dns_put16(message, ttl >> 16);
	dns_put16(message, ttl);
	dns_put16(message, (unsigned)len);
	dns_put(message, data, len);
	message->bytes[7]++;
}

/* The question's name as text, and its end. */
static inline size_t dns_read_question(const uint8_t *query, size_t len,
				       char name[256], unsigned *type)
{
	size_t at = 12, out = 0;

	while (at < len && query[at] != 0) {
		size_t label = query[at++];

		assert_true(at + label < len && out + label + 1 < 256);
		if (out)
			name[out++] = '.';
		memcpy(name + out, query + at, label);
		out += label;
		at += label;
	}
	name[out] = '\0';
	assert_true(at + 5 <= len);
	*type = (unsigned)query[at + 1] << 8 | query[at + 2];
	return at + 5;
}

#endif
