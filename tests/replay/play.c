#include "tests/replay/play.h"
#include "gateway/keeper/records.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/cleanup.h"
#include "common/io_core.h"
#include "common/io_fake.h"
#include "gateway/keeper/records.h"
#include "tests/replay/play_parties.h"

#define SENT_MAX (16 << 20)

static bool is_word(const struct cue *step, size_t at, const char *word)
{
	return at < step->word_count && !strcmp(step->words[at], word);
}

static bool has_word(const struct cue *step, const char *word)
{
	for (size_t i = 2; i < step->word_count; i++)
		if (is_word(step, i, word))
			return true;
	return false;
}

static uint64_t milliseconds(const struct cue *step, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (!strcmp(end, "ms"))
		return value;
	if (!strcmp(end, "s"))
		return value * 1000;
	if (!strcmp(end, "h"))
		return value * 3600000;
	script_fail(step, "\"%s\" is no time", text);
}

/* ---- clients ---- */

static void connect_client(struct play *play, const char *name,
			   const char *address, unsigned long port,
			   bool is_redirected)
{
	struct sockaddr_storage original = {0};
	struct sockaddr_in *ipv4 = (struct sockaddr_in *)&original;
	int fd;

	ipv4->sin_family = AF_INET;
	ipv4->sin_port = htons((uint16_t)port);
	(void)inet_pton(AF_INET, address, &ipv4->sin_addr);
	fd = fake_connect(play->house.listener, &original, is_redirected);
	(void)end_add(&play->ends, name, END_CLIENT, fd);
}

static bool play_client(struct play *play, const struct cue *step)
{
	if (is_word(step, 1, "connects")) {
		connect_client(play,
			       step->word_count > 2 ? step->words[2] : "client",
			       "127.0.0.1", 3128, false);
		return true;
	}
	if (!is_word(step, 1, "redirected") || step->word_count < 4)
		return false;
	connect_client(play, step->word_count > 4 ? step->words[4] : "client",
		       step->words[2], strtoul(step->words[3], NULL, 10), true);
	return true;
}

/* ---- sending ---- */

static void gzip(struct bytes bytes, struct buf *out)
{
	z_stream stream = {0};
	uint8_t *room;

	(void)deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8,
			   Z_DEFAULT_STRATEGY);
	stream.next_in = (Bytef *)(uintptr_t)bytes.data;
	stream.avail_in = (uInt)bytes.len;
	room = buf_reserve(out, bytes.len + 1024);
	stream.next_out = room;
	stream.avail_out = (uInt)bytes.len + 1024;
	(void)deflate(&stream, Z_FINISH);
	buf_commit(out, stream.total_out);
	(void)deflateEnd(&stream);
}

static unsigned long times_of(const struct cue *step)
{
	for (size_t i = 2; i + 1 < step->word_count; i++)
		if (is_word(step, i, "times"))
			return strtoul(step->words[i + 1], NULL, 10);
	return 1;
}

static void send_block(struct end *end, const struct cue *step)
{
	auto_type(buf_release) struct buf zipped;
	auto_type(buf_release) struct buf out;
	struct bytes bytes = buf_view(&step->block);

	buf_init(&zipped, SENT_MAX);
	buf_init(&out, SENT_MAX);
	if (has_word(step, "gzip")) {
		gzip(bytes, &zipped);
		bytes = buf_view(&zipped);
	}
	(void)body_encode(&out,
			  has_word(step, "chunk") ? FRAMING_CHUNKED
						  : FRAMING_LENGTH,
			  bytes);
	if (has_word(step, "last"))
		(void)body_encode_end(&out, FRAMING_CHUNKED);
	if (has_word(step, "raw")) {
		fake_send(end->fd, buf_view(&out));
		return;
	}
	for (unsigned long i = times_of(step); i > 0; i--)
		end_send(end, buf_view(&out));
}

/* ---- receiving ---- */

/* The head as it is, then the payload of a chunked body, then <end>. */
static void dechunk(struct bytes bytes, struct buf *out)
{
	static const struct bytes empty = BYTES_LITERAL("\r\n\r\n");
	ptrdiff_t at = bytes_find_bytes(bytes, empty, 0);
	struct bytes rest = bytes_slice(bytes, (size_t)at + 4, bytes.len);
	enum body_result result = BODY_MORE;
	struct body_decoder decoder;
	struct bytes payload;

	if (at < 0) {
		(void)buf_add(out, bytes);
		return;
	}
	(void)buf_add(out, bytes_slice(bytes, 0, (size_t)at + 4));
	body_decoder_init(&decoder, FRAMING_CHUNKED, 0);
	while (rest.len > 0 && result == BODY_MORE) {
		result = body_decode(&decoder, &rest, &payload);
		(void)buf_add(out, payload);
	}
	if (result == BODY_END)
		(void)buf_add_str(out, "<end>");
	(void)buf_add(out, rest);
}

static void receive_block(struct end *end, const struct cue *step)
{
	auto_type(buf_release) struct buf plain;
	struct bytes got = end_received(end);

	buf_init(&plain, SENT_MAX);
	if (has_word(step, "dechunked")) {
		dechunk(got, &plain);
		got = buf_view(&plain);
	}
	if (has_word(step, "nothing")
		    ? got.len > 0
		    : !text_matches(buf_view(&step->block), got)) {
		bytes_show("expected", buf_view(&step->block));
		bytes_show("received", got);
		script_fail(step, "%s received something else", end->name);
	}
	end_taken(end);
}

/* ---- ends ---- */

static void check_is(const struct end *end, const struct cue *step)
{
	bool is_so = false;

	if (is_word(step, 2, "open"))
		is_so = !end_is_ended(end) && !end_is_closed(end);
	else if (is_word(step, 2, "ended"))
		is_so = end_is_ended(end);
	else if (is_word(step, 2, "closed"))
		is_so = end_is_closed(end);
	else if (is_word(step, 2, "cut"))
		is_so = end->is_cut;
	if (!is_so)
		script_fail(step, "%s is not %s", end->name,
			    step->word_count > 2 ? step->words[2] : "?");
}

static bool play_end(struct play *play, const struct cue *step)
{
	struct end *end = end_find(&play->ends, step->words[0]);
	const char *word = step->word_count > 1 ? step->words[1] : "";

	if (!end)
		return false;
	if (!strcmp(word, "sends"))
		send_block(end, step);
	else if (!strcmp(word, "receives"))
		receive_block(end, step);
	else if (!strcmp(word, "tls") && step->word_count > 2)
		end_tls_client(end, step->words[2]);
	else if (!strcmp(word, "serves"))
		end_tls_server(end, "");
	else if (!strcmp(word, "ends"))
		end_end(end);
	else if (!strcmp(word, "resets"))
		end_reset(end);
	else if (!strcmp(word, "closes"))
		end_close(end);
	else if (!strcmp(word, "is"))
		check_is(end, step);
	else if (!strcmp(word, "window") && step->word_count > 2)
		fake_set_window(end->fd, strtoul(step->words[2], NULL, 10));
	else if (!strcmp(word, "pieces") && step->word_count > 2)
		fake_set_chunk(end->fd, strtoul(step->words[2], NULL, 10));
	else if (!strcmp(word, "refuses"))
		play_leg_refuses(end, step);
	else
		return false;
	return true;
}

/* ---- the rest ---- */

static void check_records(struct play *play, const struct cue *step)
{
	struct bytes got;

	/* An outcome waits for company. */
	keeper_records_flush(&play->house.keeper);
	fake_run(play->house.loop);
	got = buf_view(&play->house.records);
	if (!text_matches(buf_view(&step->block), got)) {
		bytes_show("expected", buf_view(&step->block));
		bytes_show("recorded", got);
		script_fail(step, "something else is on record");
	}
	buf_clear(&play->house.records);
}

/* No connection has more than that waiting for its client. */
static void check_queues(struct play *play, const struct cue *step)
{
	size_t max = strtoul(step->words[2], NULL, 10);
	struct conn *conn;

	for (conn = play->house.edge.conns; conn; conn = conn->next)
		if (io_out_len(conn->client) > max)
			script_fail(step, "the edge holds %zu bytes",
				    io_out_len(conn->client));
}

static bool play_world(struct play *play, const struct cue *step)
{
	const char *word = step->words[0];

	if (!strcmp(word, "policy")) {
		house_give_session(&play->house, step, buf_view(&step->block));
	} else if (!strcmp(word, "expires") && step->word_count > 1) {
		play->house.expires_in_ms = milliseconds(step, step->words[1]);
	} else if (!strcmp(word, "time") && step->word_count > 2) {
		fake_advance(play->house.loop,
			     milliseconds(step, step->words[2]));
	} else if (!strcmp(word, "random") && is_word(step, 1, "zeros")) {
		house_random_zeros();
	} else if (!strcmp(word, "edge") && step->word_count > 2) {
		check_queues(play, step);
	} else if (!strcmp(word, "session") && is_word(step, 2, "renewed") &&
		   step->word_count > 3) {
		house_renew(&play->house, step,
			    milliseconds(step, step->words[3]));
	} else if (!strcmp(word, "session") && is_word(step, 2, "changed")) {
		house_change(&play->house, step, buf_view(&step->block));
	} else if (!strcmp(word, "session")) {
		house_revoke(&play->house, step);
	} else if (!strcmp(word, "ledger") && is_word(step, 1, "receives")) {
		check_records(play, step);
	} else {
		return false;
	}
	return true;
}

/* A look at what came already: the ledger's makes it tell. */
static bool is_look(const struct cue *step)
{
	return is_word(step, 1, "is") || is_word(step, 1, "holds") ||
	       (is_word(step, 1, "receives") && !is_word(step, 0, "ledger"));
}

void play_step(struct play *play, const struct cue *step)
{
	uint64_t before = play->house.loop->activity;
	bool done = play_world(play, step) ||
		    (!strcmp(step->words[0], "client") &&
		     play_client(play, step)) ||
		    play_parties(play, step) || play_end(play, step);

	if (!done)
		script_fail(step, "no such command: %s %s", step->words[0],
			    step->word_count > 1 ? step->words[1] : "");
	if (!has_word(step, "later"))
		fake_run(play->house.loop);
	if (is_word(step, 1, "window"))
		play->has_windows = true;
	play->only_looked = is_look(step) && !play->has_windows &&
			    play->house.loop->activity == before;
}
