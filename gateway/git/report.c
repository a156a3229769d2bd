#include "gateway/git/report.h"

#include "common/cleanup.h"
#include "gateway/git/endpoint.h"
#include "gateway/git/packets.h"

#define BAND_REPORT   1
#define BAND_PROGRESS 2
#define REASON_MAX    200

/* Append text, with every byte that is not printable as a space; what is
 * longer than max is cut. */
static int add_clean(struct buf *out, struct bytes text, size_t max)
{
	text = bytes_slice(text, 0, max);
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (buf_add_byte(out, c < 0x20 || c == 0x7f ? ' ' : c) < 0)
			return -1;
	}
	return 0;
}

/* What stands in brackets behind "[remote rejected] a -> b". */
static int add_reason(const struct verdict *verdict, struct buf *out)
{
	struct bytes reason = verdict->reason;

	if (verdict->constraint != CONSTRAINT_none &&
	    verdict->constraint != CONSTRAINT_push_stale &&
	    buf_add_format(out, "%s: ", constraint_name(verdict->constraint)) <
		    0)
		return -1;
	if (reason.len == 0)
		reason = bytes_str(constraint_text(verdict->constraint));
	return add_clean(out, reason, REASON_MAX);
}

/* A line of the report as a pkt-line: words, then the reason. */
static int add_line(const struct verdict *verdict, struct bytes words,
		    struct buf *out)
{
	auto_type(buf_release) struct buf line;

	buf_init(&line, PKTLINE_PAYLOAD_MAX);
	if (buf_add(&line, words) < 0 || add_reason(verdict, &line) < 0 ||
	    buf_add_byte(&line, '\n') < 0)
		return -1;
	return pktline_add(out, buf_view(&line));
}

static int add_refs(const struct push *push, struct buf *report)
{
	auto_type(buf_release) struct buf words;

	buf_init(&words, PKTLINE_PAYLOAD_MAX);
	if (pktline_add_format(report, "unpack ok\n") < 0)
		return -1;
	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];

		buf_clear(&words);
		if (buf_add_format(&words, "ng %.*s ",
				   BYTES_ARGS(update->ref)) < 0 ||
		    add_line(&update->verdict, buf_view(&words), report) < 0)
			return -1;
	}
	return pktline_add_flush(report);
}

/* The two parts of a body in the way the client can hear them. */
static int add_body(const struct push *push, struct bytes text,
		    struct bytes report, struct buf *out)
{
	if (!push->has_side_band) {
		if (push->report != REPORT_NONE)
			return buf_add(out, report);
		return pktline_add_format(out, "ERR %.*s", BYTES_ARGS(text));
	}
	if (pktline_add_band(out, BAND_PROGRESS, text) < 0)
		return -1;
	if (push->report != REPORT_NONE &&
	    pktline_add_band(out, BAND_REPORT, report) < 0)
		return -1;
	return pktline_add_flush(out);
}

bool report_is_heard(const struct push *push)
{
	return push->has_side_band || push->report != REPORT_NONE;
}

int report_refuse(const struct push *push, struct bytes text, struct buf *out)
{
	auto_type(buf_release) struct buf report;

	buf_init(&report, REPORT_BYTES_MAX(push->update_count));
	if (add_refs(push, &report) < 0)
		return -1;
	return add_body(push, text, buf_view(&report), out);
}

int report_malformed(const struct push *push, const struct verdict *verdict,
		     struct buf *out)
{
	auto_type(buf_release) struct buf report, text;

	buf_init(&report, REPORT_ADVICE_MAX);
	buf_init(&text, REPORT_ADVICE_MAX);
	if (add_line(verdict, bytes_str("unpack "), &report) < 0 ||
	    pktline_add_flush(&report) < 0 ||
	    buf_add_str(&text, "sallyport: push refused: ") < 0 ||
	    add_reason(verdict, &text) < 0 || buf_add_byte(&text, '\n') < 0)
		return -1;
	return add_body(push, buf_view(&text), buf_view(&report), out);
}

int report_refuse_repository(enum git_endpoint endpoint, struct bytes text,
			     struct buf *out)
{
	const char *service = git_service_name(endpoint);

	if (text.len > 0 && text.data[text.len - 1] == '\n')
		text.len--;
	if (!service ||
	    pktline_add_format(out, "# service=%s\n", service) < 0 ||
	    pktline_add_flush(out) < 0)
		return -1;
	return pktline_add_format(out, "ERR %.*s", BYTES_ARGS(text));
}
