#include "gateway/git/ancestry.h"

#include "gateway/git/endpoint.h"
#include "gateway/git/packets.h"
#include "gateway/git/refs.h"

#define OID_HEX_SHA1  40
#define BAND_PACK     1
#define BAND_PROGRESS 2
#define BAND_ERROR    3
#define REASON_SHOWN  200

static int add_objects(const struct ancestry_ask *ask, struct buf *out)
{
	for (size_t i = 0; i < ask->wants_count; i++)
		if (pktline_add_format(out, "want %.*s\n",
				       BYTES_ARGS(ask->wants[i].oid)) < 0)
			return -1;
	if (ask->have.len > 0 &&
	    pktline_add_format(out, "have %.*s\n", BYTES_ARGS(ask->have)) < 0)
		return -1;
	for (size_t i = 0; i < ask->tips_count; i++)
		if (pktline_add_format(out, "have %.*s\n",
				       BYTES_ARGS(ask->tips[i])) < 0)
			return -1;
	return 0;
}

/* Commits alone; trees and no files; or all there is. */
static int add_filter(const struct ancestry_ask *ask, struct buf *out)
{
	static const char *const filters[PACK_WANTS_MAX] = {
		[WANTS_COMMITS] = "filter tree:0",
		[WANTS_STATES] = "filter blob:none",
		[WANTS_TREES] = "filter blob:none",
		[WANTS_KNOWN] = "filter tree:0",
	};

	if (ask->kind == WANTS_STATES &&
	    pktline_add_format(out, "deepen 1") < 0)
		return -1;
	if (!ask->has_filter || !filters[ask->kind])
		return 0;
	return pktline_add_format(out, "%s", filters[ask->kind]);
}

int ancestry_write(const struct ancestry_ask *ask, struct buf *out)
{
	if (ask->wants_count == 0 || ask->wants_count > ANCESTRY_WANTS_MAX ||
	    (ask->have.len > 0 &&
	     !git_oid_is_valid(ask->have, ask->oid_hex_len)))
		return -1;
	for (size_t i = 0; i < ask->wants_count; i++)
		if (!git_oid_is_valid(ask->wants[i].oid, ask->oid_hex_len))
			return -1;
	/* No thin-pack: what comes must stand on its own. */
	if (pktline_add_format(out, "command=fetch") < 0 ||
	    pktline_add_format(out, GIT_AGENT) < 0 ||
	    pktline_add_format(
		    out, "object-format=%s",
		    ask->oid_hex_len == OID_HEX_SHA1 ? "sha1" : "sha256") < 0 ||
	    pktline_add_delim(out) < 0 ||
	    pktline_add_format(out, "no-progress") < 0 ||
	    pktline_add_format(out, "ofs-delta") < 0)
		return -1;
	if (add_filter(ask, out) < 0)
		return -1;
	if (add_objects(ask, out) < 0 || pktline_add_format(out, "done\n") < 0)
		return -1;
	return pktline_add_flush(out);
}

void ancestry_reader_init(struct ancestry_reader *reader)
{
	*reader = (struct ancestry_reader){.state = ANCESTRY_SECTIONS};
	buf_init(&reader->line, PACKETS_HELD_MAX);
}

void ancestry_reader_release(struct ancestry_reader *reader)
{
	buf_release(&reader->line);
}

static int broken(struct ancestry_reader *reader, struct err *err,
		  const char *what)
{
	reader->state = ANCESTRY_BROKEN;
	return err_set(err, ERR_INVALID, "fetch ancestry: %s", what);
}

static int denied(struct ancestry_reader *reader, struct bytes words,
		  struct err *err)
{
	words = bytes_slice(packets_line(words), 0, REASON_SHOWN);
	if (!packets_is_text(words, REASON_SHOWN))
		words = bytes_str("no reason given");
	reader->state = ANCESTRY_BROKEN;
	reader->is_denied = true;
	return err_set(err, ERR_DENIED, "fetch ancestry: %.*s",
		       BYTES_ARGS(words));
}

static int take_section(struct ancestry_reader *reader, struct bytes payload,
			struct err *err)
{
	struct bytes line = packets_line(payload), words;

	if (packets_word(line, "ERR", &words))
		return denied(reader, words, err);
	if (reader->may_be_shallow && bytes_is(line, "shallow-info")) {
		reader->may_be_shallow = false;
		reader->state = ANCESTRY_SHALLOW;
		return 0;
	}
	/* With "done" nothing is negotiated: the pack comes at once. */
	if (!bytes_is(line, "packfile"))
		return broken(reader, err, "a section that was not asked for");
	reader->state = ANCESTRY_PACK;
	return 0;
}

/* A line for each want: what they are, we know. */
static int take_shallow(struct ancestry_reader *reader, struct err *err)
{
	if (++reader->shallow_lines > ANCESTRY_WANTS_MAX)
		return broken(reader, err, "too many shallow commits");
	return 0;
}

static int take_band(struct ancestry_reader *reader, struct bytes payload,
		     struct buf *pack, struct err *err)
{
	struct bytes rest;

	if (payload.len == 0)
		return broken(reader, err, "an empty side-band packet");
	rest = bytes_slice(payload, 1, payload.len);
	if (payload.data[0] == BAND_ERROR)
		return denied(reader, rest, err);
	if (payload.data[0] == BAND_PROGRESS)
		return 0;
	if (payload.data[0] != BAND_PACK)
		return broken(reader, err, "an unknown side-band");
	reader->pack_bytes += rest.len;
	if (reader->pack_bytes > ANCESTRY_PACK_BYTES_MAX ||
	    buf_add(pack, rest) < 0) {
		reader->state = ANCESTRY_BROKEN;
		return err_set(err, ERR_TOO_LARGE,
			       "fetch ancestry: the pack is too large");
	}
	return 0;
}

int ancestry_reader_feed(struct ancestry_reader *reader, struct bytes input,
			 struct buf *pack, struct err *err)
{
	struct bytes payload;

	while (input.len > 0) {
		enum pktline_kind kind;
		int status = 0;

		if (reader->state >= ANCESTRY_DONE)
			return broken(reader, err, "bytes after the end");
		kind = packets_take(&reader->line, &input, &payload);
		if (kind == PKTLINE_MORE)
			return 0;
		if (kind == PKTLINE_DATA && reader->state == ANCESTRY_SECTIONS)
			status = take_section(reader, payload, err);
		else if (kind == PKTLINE_DATA &&
			 reader->state == ANCESTRY_SHALLOW)
			status = take_shallow(reader, err);
		else if (kind == PKTLINE_DATA)
			status = take_band(reader, payload, pack, err);
		else if (kind == PKTLINE_DELIM &&
			 reader->state == ANCESTRY_SHALLOW)
			reader->state = ANCESTRY_SECTIONS;
		else if (kind == PKTLINE_FLUSH &&
			 reader->state == ANCESTRY_PACK)
			reader->state = ANCESTRY_DONE;
		else
			status = broken(reader, err, "not a fetch's answer");
		if (status < 0)
			return -1;
	}
	return 0;
}

int ancestry_reader_end(const struct ancestry_reader *reader, struct err *err)
{
	if (reader->state == ANCESTRY_DONE)
		return 0;
	return err_set(err, ERR_CLOSED, "fetch ancestry: cut short");
}
