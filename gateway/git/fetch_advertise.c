#include "common/cleanup.h"
#include "gateway/git/fetch.h"
#include "gateway/git/packets.h"
#include "gateway/git/refs.h"

#define LINES_MAX      1000000
#define OID_HEX_SHA1   40
#define OID_HEX_SHA256 64

void fetch_advertise_init(struct fetch_advertise *adv)
{
	*adv = (struct fetch_advertise){.oid_hex_len = OID_HEX_SHA1};
	buf_init(&adv->line, PACKETS_HELD_MAX);
}

void fetch_advertise_release(struct fetch_advertise *adv)
{
	buf_release(&adv->line);
}

static int broken(struct fetch_advertise *adv, struct err *err,
		  const char *what)
{
	adv->state = FETCH_ADV_BROKEN;
	return err_set(err, ERR_INVALID, "read offer of upstream: %s", what);
}

static int pass(struct fetch_advertise *adv, struct bytes payload,
		struct buf *out, struct err *err)
{
	if (!out || pktline_add(out, payload) == 0)
		return 0;
	adv->state = FETCH_ADV_BROKEN;
	return err_set(err, ERR_TOO_LARGE, "write offer: no room");
}

static int learn_format(struct fetch_advertise *adv, struct bytes name,
			struct err *err)
{
	if (bytes_is(name, "sha1"))
		adv->oid_hex_len = OID_HEX_SHA1;
	else if (bytes_is(name, "sha256"))
		adv->oid_hex_len = OID_HEX_SHA256;
	else
		return broken(adv, err, "unknown object format");
	return 0;
}

/* "fetch=shallow wait-for-done filter": only features that are known. */
static int take_fetch(struct fetch_advertise *adv, struct bytes features,
		      struct buf *out, struct err *err)
{
	static const char *const kept[] = {"shallow", "wait-for-done", "filter",
					   "ref-in-want", "sideband-all"};
	auto_type(buf_release) struct buf line;
	const char *before = "=";
	struct bytes token;
	bool more = true;

	buf_init(&line, PKTLINE_PAYLOAD_MAX);
	(void)buf_add_str(&line, "fetch");
	while (more) {
		more = bytes_split(&features, ' ', &token);
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
			if (!bytes_is(token, kept[i]))
				continue;
			(void)buf_add_format(&line, "%s%s", before, kept[i]);
			before = " ";
		}
		adv->has_filter |= bytes_is(token, "filter");
	}
	(void)buf_add_byte(&line, '\n');
	return pass(adv, buf_view(&line), out, err);
}

/* A capability line of v2. What is not known is left out. */
static int take_v2(struct fetch_advertise *adv, struct bytes payload,
		   struct buf *out, struct err *err)
{
	struct bytes value = packets_line(payload), name;
	bool has_value = bytes_split(&value, '=', &name);

	if (!has_value)
		value = bytes_str(NULL);
	if (bytes_is(name, "fetch"))
		return take_fetch(adv, value, out, err);
	if (bytes_is(name, "object-format")) {
		if (learn_format(adv, value, err) < 0)
			return -1;
		return pass(adv, payload, out, err);
	}
	if (bytes_is(name, "ls-refs") ||
	    (bytes_is(name, "agent") && packets_is_token(value, PKTLINE_MAX)))
		return pass(adv, payload, out, err);
	return 0;
}

/* v0: "<oid> <ref>", the first with NUL and capabilities; "shallow <oid>" at
 * the end. Passed as it is. */
static int take_v0(struct fetch_advertise *adv, struct bytes payload,
		   struct buf *out, struct err *err)
{
	struct bytes rest = packets_line(payload), head, token;
	bool is_first = adv->state == FETCH_ADV_FIRST;
	bool more;

	if (!packets_word(rest, "shallow", &head))
		(void)bytes_split(&rest, ' ', &head);
	if (!git_oid_is_valid(head, 0))
		return broken(adv, err, "a line is not <oid> <ref>");
	more = bytes_split(&rest, '\0', &head);
	if (more && !is_first)
		return broken(adv, err, "capabilities after the first line");
	while (more) {
		more = bytes_split(&rest, ' ', &token);
		adv->has_filter |= bytes_is(token, "filter");
		if (bytes_starts_with(token, bytes_str("object-format=")) &&
		    learn_format(adv,
				 bytes_slice(token, strlen("object-format="),
					     token.len),
				 err) < 0)
			return -1;
	}
	adv->state = FETCH_ADV_V0;
	return pass(adv, payload, out, err);
}

static int take_first(struct fetch_advertise *adv, struct bytes payload,
		      struct buf *out, struct err *err)
{
	struct bytes line = packets_line(payload), text;

	if (packets_word(line, "ERR", &text)) {
		adv->is_error = true;
		adv->state = FETCH_ADV_DONE;
		return pass(adv, payload, out, err);
	}
	if (bytes_is(line, "version 2")) {
		adv->is_v2 = true;
		adv->state = FETCH_ADV_V2;
		return pass(adv, payload, out, err);
	}
	if (adv->state == FETCH_ADV_SERVICE) {
		if (!bytes_is(line, "# service=git-upload-pack"))
			return broken(adv, err, "not upload-pack");
		adv->state = FETCH_ADV_SERVICE_FLUSH;
		return pass(adv, payload, out, err);
	}
	if (bytes_is(line, "version 1"))
		return pass(adv, payload, out, err);
	return take_v0(adv, payload, out, err);
}

static int take_line(struct fetch_advertise *adv, struct bytes payload,
		     struct buf *out, struct err *err)
{
	if (++adv->lines > LINES_MAX)
		return broken(adv, err, "too many refs");
	if (adv->state == FETCH_ADV_SERVICE || adv->state == FETCH_ADV_FIRST)
		return take_first(adv, payload, out, err);
	if (adv->state == FETCH_ADV_V2)
		return take_v2(adv, payload, out, err);
	if (adv->state == FETCH_ADV_V0)
		return take_v0(adv, payload, out, err);
	return broken(adv, err, "a line where none belongs");
}

static int take_flush(struct fetch_advertise *adv, struct buf *out,
		      struct err *err)
{
	if (adv->state == FETCH_ADV_SERVICE_FLUSH)
		adv->state = FETCH_ADV_FIRST;
	else if (adv->state == FETCH_ADV_V2 || adv->state == FETCH_ADV_V0 ||
		 adv->state == FETCH_ADV_FIRST)
		adv->state = FETCH_ADV_DONE;
	else
		return broken(adv, err, "a flush where none belongs");
	if (out && pktline_add_flush(out) < 0)
		return broken(adv, err, "no room");
	return 0;
}

int fetch_advertise_feed(struct fetch_advertise *adv, struct bytes input,
			 struct buf *out, struct err *err)
{
	struct bytes payload;

	while (input.len > 0) {
		enum pktline_kind kind;
		int status;

		if (adv->is_error)
			return 0;
		if (adv->state >= FETCH_ADV_DONE)
			return broken(adv, err, "bytes after the end");
		kind = packets_take(&adv->line, &input, &payload);
		if (kind == PKTLINE_MORE)
			return 0;
		if (kind == PKTLINE_DATA)
			status = take_line(adv, payload, out, err);
		else if (kind == PKTLINE_FLUSH)
			status = take_flush(adv, out, err);
		else
			status = broken(adv, err, "not a pkt-line");
		if (status < 0)
			return -1;
	}
	return 0;
}

int fetch_advertise_end(const struct fetch_advertise *adv, struct err *err)
{
	if (adv->state == FETCH_ADV_DONE)
		return 0;
	return err_set(err, ERR_CLOSED, "read offer of upstream: cut short");
}
