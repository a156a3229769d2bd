/*
 * A push as plain data: a set of ref updates and what the client can hear.
 * Parsed by the edge (gateway/git/commands), decided there, sent to the
 * courier as struct leg_push, written again from this. The client's own
 * bytes never travel on.
 */
#ifndef GATEWAY_FLOW_PUSH_H
#define GATEWAY_FLOW_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "policies/facts.h"
#include "policies/verdict.h"

#define PUSH_COMMANDS_BYTES_MAX (4 * 1024 * 1024) /* git.md */
#define PUSH_UPDATES_MAX	10000
#define PUSH_OID_HEX_MAX	64 /* sha256; sha1 has 40 */
#define PUSH_OPTIONS_MAX	64
#define PUSH_OPTION_LEN_MAX	1024

struct push_update {
	struct bytes old_oid; /* lower-case hex, 40 or 64 digits */
	struct bytes new_oid;
	struct bytes ref;
	enum push_verb verb;
	struct verdict verdict;
	bool needs_proof; /* allowed only as a proven fast-forward */
};

enum push_report { REPORT_NONE, REPORT_STATUS, REPORT_STATUS_V2 };

struct push {
	struct push_update *updates;
	size_t update_count;
	size_t oid_hex_len; /* 40 or 64 */
	enum push_report report;
	bool has_side_band; /* side-band-64k */
	bool is_atomic;
	bool is_quiet;
	struct bytes agent;
	struct bytes *shallow; /* oids of "shallow" lines */
	size_t shallow_count;
	bool has_pack;	       /* some update is not a delete */
	bool has_options;      /* a list of push options, maybe an empty one */
	struct bytes *options; /* of one line each, no control bytes */
	size_t option_count;
};

#endif
