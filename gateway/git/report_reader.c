#include "gateway/git/packets.h"
#include "gateway/git/report.h"

#define BAND_REPORT  1
#define REASON_SHOWN 200

int report_reader_init(struct report_reader *reader, const struct push *push,
		       struct arena *arena)
{
	*reader = (struct report_reader){.push = push, .arena = arena};
	buf_init(&reader->outer, PACKETS_HELD_MAX);
	buf_init(&reader->inner, PACKETS_HELD_MAX);
	reader->outcomes = arena_array(arena, push->update_count + 1,
				       sizeof(*reader->outcomes));
	return reader->outcomes ? 0 : -1;
}

void report_reader_release(struct report_reader *reader)
{
	buf_release(&reader->outer);
	buf_release(&reader->inner);
}

/* The update of that ref; upstream reports in the order of the commands, so
 * the search goes on where the last one ended. -1: none of ours. */
static ptrdiff_t index_of(const struct report_reader *reader, struct bytes ref)
{
	size_t count = reader->push->update_count;
	size_t from = reader->ok_count + reader->ng_count;

	for (size_t i = 0; i < count; i++) {
		size_t at = (from + i) % count;

		if (bytes_equal(reader->push->updates[at].ref, ref))
			return (ptrdiff_t)at;
	}
	return -1;
}

static void note(struct report_reader *reader, struct bytes ref,
		 enum report_outcome outcome, struct bytes reason)
{
	ptrdiff_t at = index_of(reader, ref);

	if (at < 0 || reader->outcomes[at] != REPORT_UNKNOWN) {
		reader->is_broken = true;
		return;
	}
	reader->outcomes[at] = outcome;
	if (outcome == REPORT_OK)
		reader->ok_count++;
	else if (reader->ng_count++ == 0 &&
		 packets_is_text(reason, PKTLINE_MAX))
		reader->first_reason = arena_copy(
			reader->arena, bytes_slice(reason, 0, REASON_SHOWN));
}

static void take_line(struct report_reader *reader, struct bytes line)
{
	struct bytes ref, rest;

	if (packets_word(line, "unpack", &rest)) {
		reader->unpack = bytes_is(rest, "ok") ? REPORT_OK : REPORT_NG;
		reader->is_broken |= reader->ok_count + reader->ng_count > 0;
	} else if (packets_word(line, "ok", &ref)) {
		note(reader, ref, REPORT_OK, bytes_str(NULL));
	} else if (packets_word(line, "ng", &rest)) {
		(void)bytes_split(&rest, ' ', &ref);
		note(reader, ref, REPORT_NG, rest);
	} else if (!packets_word(line, "option", &rest)) {
		reader->is_broken = true;
	}
}

/* Bytes of the report itself, without side-band. */
static void take_report(struct report_reader *reader, struct bytes input)
{
	struct bytes payload;

	while (input.len > 0 && !reader->is_broken) {
		enum pktline_kind kind;

		kind = packets_take(&reader->inner, &input, &payload);
		if (kind == PKTLINE_MORE)
			return;
		if (reader->is_whole)
			reader->is_broken = true;
		else if (kind == PKTLINE_DATA)
			take_line(reader, packets_line(payload));
		else if (kind == PKTLINE_FLUSH)
			reader->is_whole = true;
		else
			reader->is_broken = true;
	}
}

static void take_bands(struct report_reader *reader, struct bytes input)
{
	struct bytes payload;

	while (input.len > 0 && !reader->is_broken) {
		enum pktline_kind kind;

		kind = packets_take(&reader->outer, &input, &payload);
		if (kind == PKTLINE_MORE)
			return;
		if (kind == PKTLINE_DATA && payload.len > 0 &&
		    payload.data[0] == BAND_REPORT)
			take_report(reader,
				    bytes_slice(payload, 1, payload.len));
		else if (kind != PKTLINE_DATA && kind != PKTLINE_FLUSH)
			reader->is_broken = true;
	}
}

void report_reader_feed(struct report_reader *reader, struct bytes input)
{
	if (reader->is_broken || reader->push->report == REPORT_NONE)
		return;
	if (reader->push->has_side_band)
		take_bands(reader, input);
	else
		take_report(reader, input);
}
