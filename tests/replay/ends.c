#include "tests/replay/ends.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "common/io_tls.h"

static const struct io_limits limits = {
	.in_max = END_BYTES_MAX,
	.out_high = END_BYTES_MAX,
	.out_max = END_BYTES_MAX,
};

static void bug(const char *what)
{
	(void)fprintf(stderr, "replay: %s\n", what);
	exit(EXIT_FAILURE);
}

void ends_init(struct ends *ends, struct house *house, size_t chunk)
{
	*ends = (struct ends){.house = house, .chunk = chunk};
	ends->client = SSL_CTX_new(TLS_client_method());
	ends->server = SSL_CTX_new(TLS_server_method());
	ends->key = EVP_EC_gen("P-256");
	if (!ends->client || !ends->server || !ends->key ||
	    X509_STORE_add_cert(SSL_CTX_get_cert_store(ends->client),
				house->ca.cert) != 1)
		bug("no TLS");
}

struct end *end_find(struct ends *ends, const char *name)
{
	for (size_t i = ends->count; i-- > 0;)
		if (!strcmp(ends->list[i].name, name))
			return &ends->list[i];
	return NULL;
}

struct end *end_add(struct ends *ends, const char *name, enum end_kind kind,
		    int fd)
{
	struct end *end = &ends->list[ends->count++];

	if (ends->count > ENDS_MAX)
		bug("too many ends");
	*end = (struct end){.kind = kind, .fd = fd, .ends = ends};
	(void)snprintf(end->name, sizeof(end->name), "%s", name);
	buf_init(&end->in, END_BYTES_MAX);
	buf_init(&end->body, END_BYTES_MAX);
	fake_set_chunk(fd, ends->chunk);
	return end;
}

int end_pair(struct ends *ends, const char *name, enum end_kind kind)
{
	int fds[2];

	fake_stream_pair(fds);
	(void)end_add(ends, name, kind, fds[1]);
	return fds[0];
}

/* ---- TLS ---- */

static void give_leaf(struct end *end)
{
	struct house *house = end->ends->house;
	uint8_t der[TLS_PUBLIC_KEY_MAX];
	uint8_t *at = der;
	const uint8_t *from;
	struct leaf leaf;
	X509 *chain[2];
	struct err err;
	int len = i2d_PUBKEY(end->ends->key, &at);

	house_mint(house, io_tls_name(end->io), bytes_from(der, (size_t)len),
		   &leaf);
	from = leaf.der;
	chain[0] = d2i_X509(NULL, &from, (long)leaf.len);
	chain[1] = house->ca.cert;
	if (io_tls_certificate(end->io, chain, 2, end->ends->key, &err) < 0)
		bug(err.text);
	X509_free(chain[0]);
}

static void on_io(struct io *io, enum io_event event, void *owner)
{
	struct end *end = owner;

	if (event == IO_RELEASED) {
		end->io = NULL;
	} else if (event == IO_DATA) {
		(void)buf_add(&end->in, buf_view(io_in(io)));
		buf_clear(io_in(io));
	} else if (event == IO_TLS_HELLO) {
		give_leaf(end);
	} else if (event == IO_TLS_READY) {
		end->is_ready = true;
	} else if (event == IO_EOF || event == IO_FAILED) {
		end->is_over = true;
		end->is_cut = event == IO_FAILED;
	}
}

static void open_io(struct end *end)
{
	end->io = io_new(end->ends->house->loop, end->fd, &limits, on_io, end);
	if (!end->io)
		bug("no io");
	io_read_start(end->io);
}

void end_tls_client(struct end *end, const char *name)
{
	const struct io_tls_client client = {
		.ctx = end->ends->client,
		.name = name,
	};
	struct err err;

	open_io(end);
	if (io_tls_client(end->io, &client, &err) < 0)
		bug(err.text);
}

void end_tls_server(struct end *end, const char *name)
{
	struct err err;

	(void)name;
	open_io(end);
	if (io_tls_server(end->io, end->ends->server, bytes_from(NULL, 0),
			  &err) < 0)
		bug(err.text);
}

/* ---- a leg's frames as text ---- */

static void show_body(struct end *end)
{
	if (buf_len(&end->body) == 0)
		return;
	(void)buf_add_str(&end->in, "body ");
	(void)buf_add(&end->in, buf_view(&end->body));
	(void)buf_add_str(&end->in, "\n");
	buf_clear(&end->body);
}

static void show_fields(struct end *end, const struct leg_field *fields,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)buf_add_format(&end->in, "field %.*s: %.*s\n",
				     BYTES_ARGS(fields[i].name),
				     BYTES_ARGS(fields[i].value));
}

static void show_request(struct end *end, const struct leg_request *request)
{
	struct buf *in = &end->in;

	(void)buf_add_format(in, "request %.*s %.*s",
			     BYTES_ARGS(request->method),
			     BYTES_ARGS(request->path));
	if (request->has_length)
		(void)buf_add_format(in, " body %llu",
				     (unsigned long long)request->body_len);
	else if (request->has_body)
		(void)buf_add_str(in, " body");
	(void)buf_add_str(in, "\n");
	show_fields(end, request->fields, request->fields_count);
}

static void show_upgrade(struct end *end, const struct leg_upgrade *upgrade)
{
	(void)buf_add_format(&end->in, "upgrade %.*s key=%.*s protocols=%.*s\n",
			     BYTES_ARGS(upgrade->path),
			     BYTES_ARGS(upgrade->key),
			     BYTES_ARGS(upgrade->protocols));
	show_fields(end, upgrade->fields, upgrade->fields_count);
}

static void show_push(struct end *end, const struct leg_push *push)
{
	static const char *const verbs[] = {
		[PUSH_CREATE] = "create",
		[PUSH_UPDATE] = "update",
		[PUSH_FAST_FORWARD] = "fast-forward",
		[PUSH_REWRITE] = "rewrite",
		[PUSH_DELETE] = "delete",
	};
	struct buf *in = &end->in;

	(void)buf_add_format(
		in, "push %.*s %.*s report=%u%s%s%s%s\n",
		BYTES_ARGS(push->url_path), BYTES_ARGS(push->repo_path),
		push->report, push->has_side_band ? " sideband" : "",
		push->is_atomic ? " atomic" : "",
		push->is_quiet ? " quiet" : "", push->has_pack ? " pack" : "");
	for (size_t i = 0; i < push->updates_count; i++)
		(void)buf_add_format(in, "update %s %.4s..%.4s %.*s\n",
				     verbs[push->updates[i].verb],
				     push->updates[i].old_oid.data,
				     push->updates[i].new_oid.data,
				     BYTES_ARGS(push->updates[i].ref));
}

static void show_head(struct end *end, enum leg_kind kind, struct bytes payload)
{
	auto_type(arena_release) struct arena arena;
	struct leg_request request;
	struct leg_upgrade upgrade;
	struct leg_push push;
	struct err err = {.text = "no head"};
	int result = -1;

	arena_init(&arena, LEG_HEAD_MAX * 4);
	if (kind == LEG_PUSH)
		result = wire_decode(&leg_push_schema, payload, &arena, &push,
				     &err);
	else if (kind == LEG_UPGRADE)
		result = wire_decode(&leg_upgrade_schema, payload, &arena,
				     &upgrade, &err);
	else if (kind == LEG_REQUEST)
		result = wire_decode(&leg_request_schema, payload, &arena,
				     &request, &err);
	if (result < 0)
		bug(err.text);
	if (kind == LEG_PUSH)
		show_push(end, &push);
	else if (kind == LEG_UPGRADE)
		show_upgrade(end, &upgrade);
	else
		show_request(end, &request);
}

static void show_frames(struct end *end)
{
	struct buf *raw = fake_received(end->fd);
	enum leg_kind kind;
	struct bytes payload;
	size_t used;

	while (leg_next(buf_view(raw), &kind, &payload, &used) == 1) {
		if (kind == LEG_BODY) {
			(void)buf_add(&end->body, payload);
		} else if (kind == LEG_END) {
			show_body(end);
			(void)buf_add_str(&end->in, "end\n");
		} else if (kind != LEG_DONE) {
			show_head(end, kind, payload);
		}
		buf_consume(raw, used);
	}
}

/* ---- bytes ---- */

static void send_frame(struct end *end, enum leg_kind kind, struct bytes bytes)
{
	auto_type(buf_release) struct buf frame;

	buf_init(&frame, LEG_FRAME_MAX + 16);
	if (leg_add_frame(&frame, kind, bytes) < 0)
		bug("no frame");
	fake_send(end->fd, buf_view(&frame));
}

void end_send(struct end *end, struct bytes bytes)
{
	if (end->io) {
		(void)io_write(end->io, bytes);
		return;
	}
	if (end->kind != END_LEG) {
		fake_send(end->fd, bytes);
		return;
	}
	while (bytes.len > 0) {
		struct bytes part = bytes_slice(bytes, 0, LEG_FRAME_MAX);

		send_frame(end, LEG_DATA, part);
		bytes = bytes_slice(bytes, part.len, bytes.len);
	}
}

struct bytes end_received(struct end *end)
{
	if (end->kind == END_LEG && !end->is_gone) {
		show_frames(end);
		show_body(end);
	}
	if (end->io || end->kind == END_LEG || end->is_ready)
		return buf_view(&end->in);
	return end->is_gone ? bytes_from(NULL, 0)
			    : buf_view(fake_received(end->fd));
}

void end_taken(struct end *end)
{
	if (end->io || end->kind == END_LEG || end->is_ready)
		buf_clear(&end->in);
	else
		buf_clear(fake_received(end->fd));
}

void end_end(struct end *end)
{
	if (end->io)
		io_end(end->io);
	if (end->kind == END_LEG)
		send_frame(end, LEG_EOF, bytes_from(NULL, 0));
	fake_end(end->fd);
}

void end_reset(struct end *end)
{
	fake_reset(end->fd);
}

void end_close(struct end *end)
{
	if (!end->is_gone)
		(void)close(end->fd);
	end->is_gone = true;
}

bool end_is_ended(const struct end *end)
{
	return end->io ? end->is_over : fake_is_ended(end->fd);
}

bool end_is_closed(const struct end *end)
{
	return end->is_gone || fake_is_closed(end->fd);
}
