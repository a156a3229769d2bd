/*
 * A DNS server on loopback that says what a table tells it to, in a thread of
 * its own. UDP alone: what is truncated stays so.
 */
#ifndef TESTS_DIALER_DNS_SERVER_H
#define TESTS_DIALER_DNS_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/dialer/address.h"
#include "tests/unit/gateway/dialer/dns_message.h"

#define DNS_ROWS_MAX 24

enum dns_mood {
	DNS_HONEST,
	DNS_SILENT,
	DNS_SILENT_IPV4, /* says nothing when asked for A */
	DNS_SILENT_IPV6, /* for AAAA */
	DNS_TRUNCATED,
	DNS_OTHER_ID,	/* the answer has another id */
	DNS_OTHER_NAME, /* the answer is to a question for another name */
	DNS_GARBAGE,
	DNS_EMPTY, /* a datagram without a byte */
	DNS_LOOP   /* a compressed name that points at itself */
};

struct dns_row {
	const char *name;
	const char *a[18];
	const char *aaaa[3];
	const char *cname; /* the answers then belong to it */
	const char *later; /* instead of a[], from the second question on */
	unsigned ttl;
	unsigned rcode;
	enum dns_mood mood;
};

struct dns_server {
	int socket;
	char address[32]; /* "127.0.0.1:port" */
	pthread_t thread;
	atomic_bool is_over;
	const struct dns_row *rows;
	size_t count;
	atomic_int asked[DNS_ROWS_MAX]; /* questions of type A */
	atomic_int unknown;		/* questions for other names */
};

static inline void dns_put_addresses(struct dns_message *message,
				     const struct dns_row *row, unsigned type,
				     bool is_first)
{
	const char *const *list = type == DNS_A ? row->a : row->aaaa;
	const char *later[] = {row->later, NULL};

	if (type == DNS_A && row->later && !is_first)
		list = later;
	for (; *list; list++) {
		uint8_t raw[16];

		assert_int_equal(inet_pton(type == DNS_A ? AF_INET : AF_INET6,
					   *list, raw),
				 1);
		dns_put_record(message, row->cname, type, row->ttl, raw,
			       type == DNS_A ? 4 : 16);
	}
}

static inline void dns_answer(struct dns_server *server, size_t index,
			      const uint8_t *query, size_t question_end,
			      unsigned type, struct dns_message *out)
{
	const struct dns_row *row = &server->rows[index];
	bool is_first = true;

	if (type == DNS_A)
		is_first = atomic_fetch_add(&server->asked[index], 1) == 0;
	*out = (struct dns_message){0};
	if (row->mood == DNS_EMPTY)
		return;
	dns_put(out, query, question_end);
	out->bytes[0] ^= row->mood == DNS_OTHER_ID ? 0xff : 0;
	out->bytes[13] ^= row->mood == DNS_OTHER_NAME ? 1 : 0;
	out->bytes[2] = row->mood == DNS_TRUNCATED ? 0x87 : 0x85;
	out->bytes[3] = (uint8_t)(0x80 | row->rcode);
	memset(out->bytes + 6, 0, 6);
	if (row->mood == DNS_GARBAGE) {
		memset(out->bytes + 12, 0xc0, out->len - 12);
		return;
	}
	if (row->mood == DNS_LOOP) {
		const uint8_t loop[] = {0xc0, (uint8_t)out->len};

		out->bytes[7] = 1;
		dns_put(out, loop, sizeof(loop));
		return;
	}
	if (row->rcode)
		return;
	if (row->cname) {
		struct dns_message target = {0};

		dns_put_name(&target, row->cname);
		dns_put_record(out, NULL, DNS_CNAME, row->ttl, target.bytes,
			       target.len);
	}
	dns_put_addresses(out, row, type, is_first);
}

static inline bool dns_is_silent(enum dns_mood mood, unsigned type)
{
	return mood == DNS_SILENT ||
	       (mood == DNS_SILENT_IPV4 && type == DNS_A) ||
	       (mood == DNS_SILENT_IPV6 && type == DNS_AAAA);
}

static inline void *dns_serve(void *owner)
{
	struct dns_server *server = owner;

	for (;;) {
		struct sockaddr_in peer;
		socklen_t peer_len = sizeof(peer);
		uint8_t query[1500];
		char name[256];
		struct dns_message out;
		unsigned type;
		size_t end, i;
		ssize_t len = recvfrom(server->socket, query, sizeof(query), 0,
				       (struct sockaddr *)&peer, &peer_len);

		if (atomic_load(&server->is_over))
			return NULL;
		if (len < 12)
			continue;
		end = dns_read_question(query, (size_t)len, name, &type);
		for (i = 0; i < server->count; i++)
			if (strcmp(server->rows[i].name, name) == 0)
				break;
		if (i == server->count) {
			atomic_fetch_add(&server->unknown, 1);
			continue;
		}
		dns_answer(server, i, query, end, type, &out);
		if (!dns_is_silent(server->rows[i].mood, type))
			(void)sendto(server->socket, out.bytes, out.len, 0,
				     (struct sockaddr *)&peer, peer_len);
	}
}

static inline void dns_begin(struct dns_server *server,
			     const struct dns_row *rows, size_t count)
{
	const struct timeval look_up = {.tv_usec = 20 * 1000};
	struct sockaddr_in local = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(local);

	assert_true(count <= DNS_ROWS_MAX);
	*server = (struct dns_server){.rows = rows, .count = count};
	server->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(server->socket >= 0);
	assert_int_equal(bind(server->socket, (struct sockaddr *)&local, len),
			 0);
	/* To see that it is over. */
	assert_int_equal(setsockopt(server->socket, SOL_SOCKET, SO_RCVTIMEO,
				    &look_up, sizeof(look_up)),
			 0);
	assert_int_equal(
		getsockname(server->socket, (struct sockaddr *)&local, &len),
		0);
	(void)snprintf(server->address, sizeof(server->address), "127.0.0.1:%u",
		       ntohs(local.sin_port));
	assert_int_equal(
		pthread_create(&server->thread, NULL, dns_serve, server), 0);
}

static inline void dns_end(struct dns_server *server)
{
	atomic_store(&server->is_over, true);
	assert_int_equal(pthread_join(server->thread, NULL), 0);
	(void)close(server->socket);
}

#endif
