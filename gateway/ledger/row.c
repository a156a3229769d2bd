#include "gateway/ledger/row.h"

#include "common/clock.h"

#define TAIL_MAX (ROW_JSON_MAX - ROW_HEAD_MAX)
/* Of a detail whose row would be too long, before escaping. */
#define CUT_DETAIL_MAX 256

unsigned row_class(enum record_kind kind, bool allowed)
{
	static const unsigned classes[RECORD_KIND_MAX] = {
		[RECORD_SESSION_CREATED] = 3003,
		[RECORD_SESSION_ENDED] = 3003,
		[RECORD_CONNECTION] = 4001,
		[RECORD_REQUEST] = 4002,
		[RECORD_RESPONSE] = 4002,
		[RECORD_PUSH] = 6003,
		[RECORD_PUSH_REPORT] = 6003,
		[RECORD_SECRET_USE] = 6003,
		[RECORD_SECRET_CHANGED] = 6003,
		[RECORD_DNS] = 4003,
		[RECORD_SANDBOX] = 1007,
		[RECORD_PROCESS] = 1007,
		[RECORD_ADMIN] = 6003,
		[RECORD_APPROVAL] = 6003,
		[RECORD_SECRET_REFLECTED] = 2004,
	};

	if (kind == RECORD_SANDBOX && !allowed)
		return 2004;
	return classes[kind];
}

/* ---- JSON ---- */

static bool is_plain(uint8_t c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

static int add_escape(struct buf *out, uint8_t c)
{
	if (c == '"' || c == '\\')
		return buf_add_format(out, "\\%c", c);
	if (c == '\n')
		return buf_add_str(out, "\\n");
	if (c == '\t')
		return buf_add_str(out, "\\t");
	return buf_add_format(out, "\\u%04x", c);
}

/* Nearly every text: so it need not be looked at byte by byte. */
static bool is_all_plain(struct bytes text)
{
	return wire_is_printable(text) && !memchr(text.data, '"', text.len) &&
	       !memchr(text.data, '\\', text.len);
}

static int add_string(struct buf *out, struct bytes text)
{
	size_t from = is_all_plain(text) ? text.len : 0;

	if (buf_add_byte(out, '"') < 0)
		return -1;
	if (from > 0 && buf_add(out, text) < 0)
		return -1;
	for (size_t at = from; at < text.len; at++) {
		if (is_plain(text.data[at]))
			continue;
		if (buf_add(out, bytes_slice(text, from, at)) < 0 ||
		    add_escape(out, text.data[at]) < 0)
			return -1;
		from = at + 1;
	}
	if (buf_add(out, bytes_slice(text, from, text.len)) < 0)
		return -1;
	return buf_add_byte(out, '"');
}

/* name: with its comma, quotes and colon. */
static int add_text(struct buf *out, const char *name, struct bytes text)
{
	if (text.len == 0)
		return 0;
	if (buf_add_str(out, name) < 0)
		return -1;
	return add_string(out, text);
}

static int add_number(struct buf *out, const char *name, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	if (number == 0)
		return 0;
	for (; number > 0; number /= 10)
		digits[--at] = (uint8_t)('0' + number % 10);
	if (buf_add_str(out, name) < 0)
		return -1;
	return buf_add(out, bytes_from(digits + at, sizeof(digits) - at));
}

/* Nothing of time 0. */
static int add_time(struct buf *out, const char *name, uint64_t ms)
{
	char when[CLOCK_TEXT_SIZE];

	if (ms == 0)
		return 0;
	clock_format(ms, when);
	return add_text(out, name, bytes_str(when));
}

int row_add_head(struct buf *out, const struct row_head *head)
{
	char when[CLOCK_TEXT_SIZE];

	clock_format(head->time_ms, when);
	if (add_number(out, "{\"sequence\":", head->sequence) < 0 ||
	    buf_add_str(out, ",\"time\":\"") < 0 ||
	    buf_add_str(out, when) < 0 ||
	    add_number(out, "\",\"class_uid\":",
		       row_class(head->kind, head->allowed)) < 0 ||
	    buf_add_str(out, ",\"activity\":\"") < 0 ||
	    buf_add_str(out, record_kind_name(head->kind)) < 0 ||
	    buf_add_str(out, head->allowed ? "\",\"allowed\":true"
					   : "\",\"allowed\":false") < 0)
		return -1;
	if (add_text(out, ",\"session\":", head->session) < 0)
		return -1;
	return add_time(out, ",\"ended\":", head->ended_ms);
}

static int add_request(struct buf *out, const struct record *record)
{
	if (add_text(out, ",\"request_id\":", record->request_id) < 0 ||
	    add_text(out, ",\"rule\":", record->rule) < 0 ||
	    add_text(out, ",\"host\":", record->host) < 0 ||
	    add_number(out, ",\"port\":", record->port) < 0 ||
	    add_text(out, ",\"method\":", record->method) < 0)
		return -1;
	return add_text(out, ",\"path\":", record->path);
}

static int add_outcome(struct buf *out, const struct record *record)
{
	if (add_number(out, ",\"status\":", record->status) < 0 ||
	    add_number(out, ",\"bytes_up\":", record->bytes_up) < 0 ||
	    add_number(out, ",\"bytes_down\":", record->bytes_down) < 0)
		return -1;
	return add_text(out, ",\"credential\":", record->credential);
}

static int add_oids(struct buf *out, const struct record *record)
{
	if (add_text(out, ",\"old_oid\":", record->old_oid) < 0)
		return -1;
	return add_text(out, ",\"new_oid\":", record->new_oid);
}

static int add_summary(struct buf *out, const struct record *record)
{
	if (record->count == 0)
		return 0;
	if (add_number(out, ",\"count\":", record->count) < 0)
		return -1;
	return add_time(out, ",\"first\":", record->first_ms);
}

static int add_tail(struct buf *out, const struct record *record)
{
	enum constraint constraint = record->constraint;

	if (constraint != CONSTRAINT_none &&
	    add_text(out, ",\"constraint\":",
		     bytes_str(constraint_name(constraint))) < 0)
		return -1;
	if (add_request(out, record) < 0 || add_outcome(out, record) < 0 ||
	    add_text(out, ",\"detail\":", record->detail) < 0 ||
	    add_oids(out, record) < 0 ||
	    add_text(out, ",\"approval\":", record->approval) < 0 ||
	    add_summary(out, record) < 0)
		return -1;
	return buf_add_byte(out, '}');
}

/* At most max bytes, not ending inside a character. */
static struct bytes cut_text(struct bytes text, size_t max)
{
	size_t len = text.len < max ? text.len : max;

	while (len > 0 && len < text.len && (text.data[len] & 0xc0) == 0x80)
		len--;
	return bytes_slice(text, 0, len);
}

int row_add_tail(struct buf *out, const struct record *record)
{
	size_t from = buf_len(out);
	struct record cut = *record;

	if (add_tail(out, record) == 0 && buf_len(out) - from <= TAIL_MAX)
		return 0;
	buf_truncate(out, from);
	cut.detail = cut_text(record->detail, CUT_DETAIL_MAX);
	return add_tail(out, &cut);
}
