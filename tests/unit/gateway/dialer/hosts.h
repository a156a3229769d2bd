/*
 * The operator's names, as a configuration has them.
 */
#ifndef TESTS_DIALER_HOSTS_H
#define TESTS_DIALER_HOSTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/flow/config.h"

/* Encoded, until the next call. */
static inline struct bytes encode_hosts(const struct config_dns_host *hosts,
					size_t count)
{
	static uint8_t encoded[1024];
	auto_type(buf_release) struct buf out;
	struct err err;

	buf_init(&out, sizeof(encoded));
	assert_int_equal(wire_encode(&config_dns_hosts_schema,
				     &(struct config_dns_hosts){hosts, count},
				     &out, &err),
			 0);
	memcpy(encoded, buf_view(&out).data, buf_len(&out));
	return bytes_from(encoded, buf_len(&out));
}

#endif
