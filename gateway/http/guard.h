/*
 * The guard: looks at every byte of a message head before llhttp does, and
 * refuses what llhttp would let through (security.md, "Parsers"). One
 * scanner for requests, responses and the trailers of a chunked body.
 *
 *	struct guard guard;
 *	size_t head_len;
 *
 *	guard_init(&guard, GUARD_REQUEST);
 *	... each time bytes were added to the input:
 *	switch (guard_scan(&guard, buf_view(&input), &head_len)) {
 *	case GUARD_MORE:	wait
 *	case GUARD_INVALID:	refuse with guard.fault, close
 *	case GUARD_COMPLETE:	head_request(...), buf_consume(head_len)
 *	}
 *
 * The input must start at the same byte in every call and only grow; no
 * byte is looked at twice. What it accepts: CRLF lines, none empty but the
 * last, none starting with SP or HTAB; no control byte but HTAB, no DEL;
 * `METHOD SP target SP HTTP/1.x`, `HTTP/1.x SP 3DIGIT [SP reason]`; names
 * of tchar followed by ':'; one Host (none is fine for HTTP/1.0 when the
 * target names the host, as in Python's CONNECT); Content-Length once, 1..15
 *digits without leading zero; Transfer-Encoding once, `chunked`, never with
 * Content-Length or HTTP/1.0; no name that looks like one of the guarded
 * ones (`Content_Length`); Connection of known options only; Expect
 * `100-continue` only. Owned by the connection; no allocation.
 */
#ifndef GATEWAY_HTTP_GUARD_H
#define GATEWAY_HTTP_GUARD_H

#include "gateway/flow/message.h"
#include "policies/constraint.h"

#define GUARD_METHOD_MAX 32

/* Why bytes of a message were refused. reason is a literal: one line, no
 * byte of the message. */
struct http_fault {
	enum constraint constraint; /* request_malformed, request_too_large,
				       path_ambiguous, method_unknown,
				       upgrade_not_supported or
				       response_malformed; internal when
				       memory is out */
	const char *reason;
};

enum guard_kind { GUARD_REQUEST, GUARD_RESPONSE, GUARD_TRAILER };

enum guard_result { GUARD_MORE, GUARD_COMPLETE, GUARD_INVALID };

/* What the guard read in the fields that delimit the message. */
struct guard_facts {
	bool is_http10;
	bool names_host; /* a request's target is not in origin-form */
	unsigned hosts;	 /* how many Host fields */
	bool has_length;
	uint64_t length;
	bool is_chunked;
	bool says_close;      /* Connection: close */
	bool says_keep_alive; /* Connection: keep-alive */
	bool has_upgrade;     /* Upgrade, or Connection: upgrade */
	bool says_upgrade;    /* Connection: upgrade */
	unsigned upgrades;    /* how many Upgrade fields */
	bool is_websocket;    /* the last of them is "websocket" */
	bool expects_continue;
};

struct guard {
	struct http_fault fault; /* set by GUARD_INVALID */
	struct guard_facts facts;
	size_t scanned;	   /* bytes before it are done with */
	size_t line_start; /* of the line that scanned is in */
	size_t colon;	   /* length of that line's name, so far */
	size_t fields;	   /* complete field lines */
	/* Of the head; whoever owns it may lower them before it begins. */
	size_t bytes_max, fields_max;
	enum guard_kind kind;
	bool may_switch; /* a response: 101 was asked for; its reader's */
	unsigned state;	 /* of the scanner; guard.c */
};

void guard_init(struct guard *guard, enum guard_kind kind);

/* Scan the bytes of input (untrusted) that were not scanned yet.
 * GUARD_COMPLETE: *head_len is the length of the head with its final empty
 * line; what follows was not looked at. GUARD_INVALID: guard->fault; the
 * stream cannot be trusted any further. */
enum guard_result guard_scan(struct guard *guard, struct bytes input,
			     size_t *head_len);

/* The same for a trailer section (guard_init with GUARD_TRAILER), of which
 * every call brings only what is new: *input is advanced past what was
 * scanned. Only the grammar and GUARD_TRAILER_MAX are checked, since the
 * fields are dropped. */
enum guard_result guard_scan_trailer(struct guard *guard, struct bytes *input);

/* Is it a token (RFC 9110 5.6.2), not empty? */
bool http_is_token(struct bytes text);
/* Is it fit as a field value: HTAB, 0x20-0x7e, 0x80-0xff only? */
bool http_is_value(struct bytes text);
/* Is it fit as a request target: 0x21-0x7e but '#' and '\', not empty? */
bool http_is_target(struct bytes text);

#endif
