#include "common/cleanup.h"
#include "gateway/git/fetch.h"
#include "gateway/git/packets.h"
#include "gateway/git/refs.h"

#define NUMBER_DIGITS_MAX 18

void fetch_request_init(struct fetch_request *fetch, int version)
{
	*fetch = (struct fetch_request){.version = version};
	buf_init(&fetch->line, PACKETS_HELD_MAX);
}

void fetch_request_release(struct fetch_request *fetch)
{
	buf_release(&fetch->line);
}

static int refuse(struct fetch_request *fetch, enum constraint constraint,
		  const char *reason)
{
	fetch->verdict = (struct verdict){.kind = VERDICT_DENY,
					  .constraint = constraint,
					  .reason = bytes_str(reason)};
	return -1;
}

static int malformed(struct fetch_request *fetch)
{
	return refuse(fetch, CONSTRAINT_request_malformed,
		      "a line of the fetch is not known");
}

/* What may follow the first word of an argument. */
enum value_kind { VALUE_NONE, VALUE_OID, VALUE_NUMBER, VALUE_TEXT };

struct argument {
	const char *word;
	enum value_kind value;
};

static const struct argument ls_refs_arguments[] = {
	{"peel", VALUE_NONE},	{"symrefs", VALUE_NONE},
	{"unborn", VALUE_NONE}, {"ref-prefix", VALUE_TEXT},
	{NULL, VALUE_NONE},
};

static const struct argument fetch_arguments[] = {
	{"want", VALUE_OID},
	{"have", VALUE_OID},
	{"done", VALUE_NONE},
	{"thin-pack", VALUE_NONE},
	{"no-progress", VALUE_NONE},
	{"include-tag", VALUE_NONE},
	{"ofs-delta", VALUE_NONE},
	{"shallow", VALUE_OID},
	{"deepen", VALUE_NUMBER},
	{"deepen-relative", VALUE_NONE},
	{"deepen-since", VALUE_NUMBER},
	{"deepen-not", VALUE_TEXT},
	{"filter", VALUE_TEXT},
	{"want-ref", VALUE_TEXT},
	{"sideband-all", VALUE_NONE},
	{"wait-for-done", VALUE_NONE},
	{NULL, VALUE_NONE},
};

static const struct argument v0_arguments[] = {
	{"want", VALUE_OID},	    {"have", VALUE_OID},
	{"done", VALUE_NONE},	    {"shallow", VALUE_OID},
	{"deepen", VALUE_NUMBER},   {"deepen-since", VALUE_NUMBER},
	{"deepen-not", VALUE_TEXT}, {"filter", VALUE_TEXT},
	{NULL, VALUE_NONE},
};

static bool value_fits(enum value_kind kind, struct bytes value)
{
	uint64_t number;

	switch (kind) {
	case VALUE_OID:
		return git_oid_is_valid(value, 0);
	case VALUE_NUMBER:
		return bytes_to_u64(value, NUMBER_DIGITS_MAX, &number) == 0;
	case VALUE_TEXT:
		return packets_is_text(value, PKTLINE_MAX);
	case VALUE_NONE:
		break;
	}
	return false;
}

static bool is_known(const struct argument *table, struct bytes line)
{
	struct bytes value;

	for (; table->word; table++) {
		if (table->value == VALUE_NONE) {
			if (bytes_is(line, table->word))
				return true;
		} else if (packets_word(line, table->word, &value)) {
			return value_fits(table->value, value);
		}
	}
	return false;
}

static int pass(struct fetch_request *fetch, struct bytes payload,
		struct buf *out)
{
	struct bytes oid;

	fetch->wants += packets_word(payload, "want", &oid);
	if (pktline_add(out, payload) < 0)
		return refuse(fetch, CONSTRAINT_request_too_large,
			      "no room for the fetch");
	return 0;
}

/* ---- v2 ---- */

static int take_command(struct fetch_request *fetch, struct bytes payload,
			struct buf *out)
{
	struct bytes line = packets_line(payload);

	if (bytes_is(line, "command=ls-refs"))
		fetch->command = FETCH_LS_REFS;
	else if (bytes_is(line, "command=fetch"))
		fetch->command = FETCH_FETCH;
	else
		return refuse(fetch, CONSTRAINT_git_not_allowed,
			      "only the commands ls-refs and fetch are served");
	fetch->state = FETCH_CAPABILITIES;
	return pass(fetch, payload, out);
}

static int take_capability(struct fetch_request *fetch, struct bytes payload,
			   struct buf *out)
{
	struct bytes line = packets_line(payload);

	/* For upstream's log only, and ours has its own. */
	if (bytes_starts_with(line, bytes_str("session-id=")))
		return 0;
	if (bytes_is(line, "object-format=sha1") ||
	    bytes_is(line, "object-format=sha256") ||
	    (bytes_starts_with(line, bytes_str("agent=")) &&
	     packets_is_token(line, PKTLINE_MAX)))
		return pass(fetch, payload, out);
	return refuse(fetch, CONSTRAINT_git_not_allowed,
		      "a capability of the fetch is not known");
}

static int take_argument(struct fetch_request *fetch, struct bytes payload,
			 struct buf *out)
{
	struct bytes line = packets_line(payload), uris;

	if (packets_word(line, "packfile-uris", &uris))
		return refuse(fetch, CONSTRAINT_git_not_allowed,
			      "packs from other hosts are not served");
	if (!is_known(fetch->command == FETCH_LS_REFS ? ls_refs_arguments
						      : fetch_arguments,
		      line))
		return malformed(fetch);
	return pass(fetch, payload, out);
}

static int take_v2(struct fetch_request *fetch, enum pktline_kind kind,
		   struct bytes payload, struct buf *out)
{
	if (kind == PKTLINE_FLUSH) {
		fetch->state = FETCH_DONE;
		return pktline_add_flush(out);
	}
	if (kind == PKTLINE_DELIM) {
		if (fetch->state != FETCH_CAPABILITIES)
			return malformed(fetch);
		fetch->state = FETCH_ARGUMENTS;
		return pktline_add_delim(out);
	}
	if (fetch->state == FETCH_START)
		return take_command(fetch, payload, out);
	if (fetch->state == FETCH_CAPABILITIES)
		return take_capability(fetch, payload, out);
	return take_argument(fetch, payload, out);
}

/* ---- v0 and v1 ---- */

static bool is_v0_capability(struct bytes token)
{
	static const char *const known[] = {
		"multi_ack",
		"multi_ack_detailed",
		"no-done",
		"thin-pack",
		"side-band",
		"side-band-64k",
		"ofs-delta",
		"shallow",
		"deepen-since",
		"deepen-not",
		"deepen-relative",
		"no-progress",
		"include-tag",
		"filter",
		"allow-tip-sha1-in-want",
		"allow-reachable-sha1-in-want",
		"object-format=sha1",
		"object-format=sha256",
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (bytes_is(token, known[i]))
			return true;
	return bytes_starts_with(token, bytes_str("agent=")) &&
	       packets_is_token(token, PKTLINE_MAX);
}

/* "want <oid> <capabilities>", the first line of v0. */
static int take_first_want(struct fetch_request *fetch, struct bytes payload,
			   struct buf *out)
{
	auto_type(buf_release) struct buf line;
	struct bytes oid, token, rest;
	bool more;

	buf_init(&line, PKTLINE_PAYLOAD_MAX);
	if (!packets_word(packets_line(payload), "want", &rest))
		return malformed(fetch);
	more = bytes_split(&rest, ' ', &oid);
	if (!git_oid_is_valid(oid, 0))
		return malformed(fetch);
	(void)buf_add_format(&line, "want %.*s", BYTES_ARGS(oid));
	while (more) {
		more = bytes_split(&rest, ' ', &token);
		if (token.len == 0 ||
		    bytes_starts_with(token, bytes_str("session-id=")))
			continue;
		if (!is_v0_capability(token))
			return refuse(fetch, CONSTRAINT_git_not_allowed,
				      "a capability of the fetch is not known");
		(void)buf_add_format(&line, " %.*s", BYTES_ARGS(token));
	}
	fetch->command = FETCH_V0;
	fetch->state = FETCH_ARGUMENTS;
	(void)buf_add_byte(&line, '\n');
	return pass(fetch, buf_view(&line), out);
}

static int take_v0(struct fetch_request *fetch, enum pktline_kind kind,
		   struct bytes payload, struct buf *out)
{
	struct bytes line = packets_line(payload);

	if (kind == PKTLINE_DELIM)
		return malformed(fetch);
	if (kind == PKTLINE_FLUSH) {
		if (fetch->state == FETCH_START)
			fetch->state = FETCH_DONE;
		return pktline_add_flush(out);
	}
	if (fetch->state == FETCH_START)
		return take_first_want(fetch, payload, out);
	if (!is_known(v0_arguments, line))
		return malformed(fetch);
	if (bytes_is(line, "done"))
		fetch->state = FETCH_DONE;
	return pass(fetch, payload, out);
}

int fetch_request_feed(struct fetch_request *fetch, struct bytes input,
		       struct buf *out)
{
	struct bytes payload;

	if (fetch->verdict.constraint != CONSTRAINT_none)
		return -1;
	fetch->bytes += input.len;
	if (fetch->bytes > FETCH_REQUEST_BYTES_MAX)
		return refuse(fetch, CONSTRAINT_request_too_large,
			      "the fetch is too long");
	while (input.len > 0) {
		enum pktline_kind kind;
		int status;

		if (fetch->state == FETCH_DONE)
			return malformed(fetch);
		kind = packets_take(&fetch->line, &input, &payload);
		if (kind == PKTLINE_MORE)
			return 0;
		if (kind == PKTLINE_INVALID || kind == PKTLINE_END)
			return malformed(fetch);
		if (fetch->version == 2)
			status = take_v2(fetch, kind, payload, out);
		else
			status = take_v0(fetch, kind, payload, out);
		if (status < 0)
			return fetch->verdict.constraint != CONSTRAINT_none
				       ? -1
				       : malformed(fetch);
	}
	return 0;
}

int fetch_request_end(struct fetch_request *fetch)
{
	if (fetch->verdict.constraint != CONSTRAINT_none)
		return -1;
	/* A round of v0 may end with a flush and go on in the next POST. */
	if (packets_is_split(&fetch->line) ||
	    (fetch->state != FETCH_DONE &&
	     (fetch->version == 2 || fetch->state == FETCH_START)))
		return refuse(fetch, CONSTRAINT_request_malformed,
			      "the fetch ends early");
	return 0;
}
