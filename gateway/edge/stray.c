#include "gateway/edge/stray.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/edge/attach.h"
#include "gateway/edge/placeholders.h"
#include "gateway/http/inflate.h"
#include "policies/inspect/decode.h"

#define INFLATE_STEP_BYTES (64 * 1024)
#define INFLATED_MAX	   ((uint64_t)16 << 30)
/* Fewer letters than begin one are not waited for: many a message ends with
 * one of them, whose answer the client waits for before it goes on. */
#define BEGUN_LEAST 8

/* Of a text that arrives in pieces the piece is held, and before it what may
 * be the beginning of a placeholder. */
struct stray {
	struct filter filter;
	struct buf sent;
	size_t passed;		   /* of its first bytes */
	struct buf plain;	   /* what gzip makes of it */
	struct inflater *inflater; /* NULL: it is no gzip, or none any more */
};

/* ---- windows ---- */

static const struct placeholder *find(const struct placeholders *all,
				      struct bytes text)
{
	for (size_t i = 0; i < all->count; i++)
		if (bytes_find_bytes(text, all->items[i].text, 0) >= 0)
			return &all->items[i];
	return NULL;
}

/* How many of the last bytes are a beginning of it. */
static size_t begun(struct bytes text, struct bytes placeholder)
{
	size_t len = placeholder.len - 1;

	if (len > text.len)
		len = text.len;
	for (; len > 0; len--)
		if (!memcmp(text.data + text.len - len, placeholder.data, len))
			break;
	return len;
}

/* What of the text is no beginning of any. */
static size_t ready(const struct placeholders *all, struct bytes text)
{
	size_t most = 0;

	for (size_t i = 0; i < all->count; i++) {
		size_t len = begun(text, all->items[i].text);

		if (len > most)
			most = len;
	}
	return text.len - most;
}

/* How much of the text may pass, to be consumed. 0, or -1: refusal set. */
static int look(struct conn *conn, const struct buf *text, size_t *may)
{
	const struct placeholders *all = conn->law->placeholders;
	const struct placeholder *found = find(all, buf_view(text));

	if (found)
		return swaps_refuse(conn, found->credential, "body");
	*may = ready(all, buf_view(text));
	return 0;
}

static int no_memory(struct conn *conn)
{
	conn_refuse(conn, CONSTRAINT_internal, "memory is out");
	return -1;
}

/* ---- gzip ---- */

/* What cannot be undone is looked at as it is, and no further. */
static void stop_inflating(struct stray *stray)
{
	inflater_free(stray->inflater);
	stray->inflater = NULL;
}

/* Another may follow a member that has ended (RFC 1952 2.2). */
static void next_member(struct stray *stray)
{
	struct err err;

	stop_inflating(stray);
	stray->inflater = inflater_new(bytes_str("gzip"), INFLATED_MAX, &err);
}

static int feed_plain(struct conn *conn, struct stray *stray, struct bytes in)
{
	enum inflate_result result = INFLATE_MORE;
	size_t made = INFLATE_STEP_BYTES;
	struct err err;
	size_t may;

	while (stray->inflater && result == INFLATE_MORE &&
	       (in.len > 0 || made == INFLATE_STEP_BYTES)) {
		uint8_t *room = buf_reserve(&stray->plain, INFLATE_STEP_BYTES);

		if (!room)
			return no_memory(conn);
		made = 0;
		result = inflater_step(stray->inflater, &in, room,
				       INFLATE_STEP_BYTES, &made, &err);
		buf_commit(&stray->plain, made);
		if (look(conn, &stray->plain, &may) < 0)
			return -1;
		buf_consume(&stray->plain, may);
		if (result == INFLATE_END) {
			next_member(stray);
			result = INFLATE_MORE;
		}
	}
	if (result != INFLATE_MORE)
		stop_inflating(stray);
	return 0;
}

/* ---- the filter ---- */

/* May bytes are no beginning of a placeholder; what follows is one. */
static int pass(struct stray *stray, size_t may, struct buf *out)
{
	size_t len = buf_len(&stray->sent);
	size_t end = len - may < BEGUN_LEAST ? len : may;

	if (end > stray->passed) {
		if (buf_add(out, bytes_slice(buf_view(&stray->sent),
					     stray->passed, end)) < 0)
			return -1;
		stray->passed = end;
	}
	buf_consume(&stray->sent, may);
	stray->passed -= may;
	return 0;
}

static int feed(void *state, struct bytes in, struct buf *out, struct err *err)
{
	struct conn *conn = state;
	struct stray *stray = conn->stray;
	size_t may = 0;
	int result = buf_add(&stray->sent, in);

	if (result < 0)
		(void)no_memory(conn);
	if (result < 0 || look(conn, &stray->sent, &may) < 0 ||
	    feed_plain(conn, stray, in) < 0)
		return err_set(err, ERR_DENIED, "a placeholder");
	return pass(stray, may, out) == 0
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory");
}

static int end(void *state, struct buf *out, struct err *err)
{
	const struct conn *conn = state;
	struct stray *stray = conn->stray;

	return pass(stray, buf_len(&stray->sent), out) == 0
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "no memory");
}

/* ---- life ---- */

void stray_release(struct conn *conn)
{
	struct stray *stray = conn->stray;

	if (!stray)
		return;
	conn->stray = NULL;
	stop_inflating(stray);
	buf_release(&stray->sent);
	buf_release(&stray->plain);
	free(stray);
}

static struct bytes encoding_of(const struct conn *conn)
{
	const struct field *field =
		fields_find(&conn->errand->request.fields, "Content-Encoding");

	return field ? field->value : bytes_from(NULL, 0);
}

static int begin(struct conn *conn)
{
	struct bytes encoding = encoding_of(conn);
	struct stray *stray;
	struct err err;

	stray = calloc(1, sizeof(*stray));
	if (!stray)
		return no_memory(conn);
	conn->stray = stray;
	buf_init(&stray->sent, PLACEHOLDER_SIZE + FILTER_IN_MAX);
	buf_init(&stray->plain, PLACEHOLDER_SIZE + INFLATE_STEP_BYTES);
	if (encoding.len > 0 && !bytes_is_nocase(encoding, "identity"))
		stray->inflater = inflater_new(encoding, INFLATED_MAX, &err);
	stray->filter = (struct filter){feed, end, conn};
	conn->filter_up = &stray->filter;
	conn->keeps_length = true;
	return 0;
}

int stray_begin(struct conn *conn)
{
	const struct placeholders *all = conn->law->placeholders;

	if (!all || all->count == 0 || conn->look ||
	    conn->errand->request.framing == FRAMING_NONE)
		return 0;
	return begin(conn);
}

/* ---- what is held ---- */

int stray_check(struct conn *conn, struct bytes bytes, struct bytes encoding,
		const char *place)
{
	const struct placeholders *all = conn->law->placeholders;
	auto_type(decoded_release) struct decoded decoded = {.held = {0}};
	const struct placeholder *found;
	struct err err;

	if (!all || all->count == 0)
		return 0;
	found = find(all, bytes);
	if (!found && encoding.len > 0 &&
	    decode_content(encoding, bytes, ATTACH_BODY_MAX, &decoded, &err) ==
		    0)
		found = find(all, decoded.content);
	return found ? swaps_refuse(conn, found->credential, place) : 0;
}
