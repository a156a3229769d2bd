/*
 * Messages about secrets that come from elsewhere: see messages.h, source.h.
 */
#ifndef GATEWAY_FLOW_MESSAGES_TOKENS_H
#define GATEWAY_FLOW_MESSAGES_TOKENS_H

#include "gateway/flow/source.h"

#define EXCHANGE_VALUE_MAX (16 * 1024)

/* vault -> warden, and exchange -> dialer: the one of the configuration. */
struct msg_source_ref {
	struct bytes name;
};
extern const struct wire_schema msg_source_ref_schema;

/* vault -> exchange: buy a token at the endpoint of a source. */
struct msg_exchange {
	struct bytes name;	 /* of the source */
	struct bytes proof;	 /* "id:password", or a signed JWT */
	struct bytes refresh;	 /* refresh token; empty: client credentials */
	struct bytes repository; /* "owner/name": what an app's is for */
	const struct source_permission *permissions; /* of an app's token */
	size_t permissions_count;
};
extern const struct wire_schema msg_exchange_schema;
struct msg_exchanged {
	struct bytes token;
	struct bytes refresh; /* another refresh token; empty: none came */
	uint64_t lifetime_ms; /* 0: it was not said */
};
extern const struct wire_schema msg_exchanged_schema;

/* vault -> exchange: an app's token, to be worth nothing any more. */
struct msg_token_end {
	struct bytes name; /* of the source */
	struct bytes token;
};
extern const struct wire_schema msg_token_end_schema;

/* vault -> control: what is known of each source, and no value. */
enum source_state {
	SOURCE_IDLE,   /* nothing is held of it now */
	SOURCE_HELD,   /* a value, or tokens, until until_ms */
	SOURCE_FAILED, /* nothing is held, and the last try failed */
	SOURCE_STATE_MAX
};
#define SOURCE_WHY_MAX 240
struct msg_source_entry {
	struct bytes name;
	uint8_t kind;	   /* enum source_kind */
	uint8_t state;	   /* enum source_state */
	uint32_t held;	   /* values: of a GitHub App, tokens */
	uint64_t until_ms; /* wall clock: when the last of them ends; or 0 */
	struct bytes why;  /* the last try failed: printable; or empty */
};
struct msg_source_list {
	const struct msg_source_entry *sources;
	size_t sources_count;
};
extern const struct wire_schema msg_source_list_schema;

#endif
