#include "gateway/control/ca.h"

#include "common/cleanup.h"
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

#define CA_ARENA_MAX (64 * 1024)
#define TRUSTED_MAX  (CONFIG_BYTES_MAX / 2 + CA_ARENA_MAX)

void ca_forget(struct control *control)
{
	control->ca = (struct msg_ca){0};
	arena_release(&control->ca_arena);
	arena_init(&control->ca_arena, CA_ARENA_MAX);
}

static void on_ca(struct conn *conn, const void *message)
{
	const struct msg_ca *ca = message;
	struct control *control = conn->control;

	ca_forget(control);
	control->ca = (struct msg_ca){
		.pem = arena_copy(&control->ca_arena, ca->pem),
		.pkcs12 = arena_copy(&control->ca_arena, ca->pkcs12),
	};
	conn->on_ca(conn);
}

void ca_need(struct conn *conn, void (*next)(struct conn *conn))
{
	const struct wire_empty empty = {0};
	struct question question = {
		.role = ROLE_MINTER,
		.type = MSG_CA_GET,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &msg_ca_schema,
	};

	if (conn->control->ca.pem.len > 0) {
		next(conn);
		return;
	}
	conn->on_ca = next;
	conn_ask(conn, &question, on_ca);
}

/* The next certificate in pem, which is advanced past it; empty: none. */
static struct bytes next_certificate(struct bytes *pem)
{
	static const struct bytes begin =
		BYTES_LITERAL("-----BEGIN CERTIFICATE-----");
	static const struct bytes end =
		BYTES_LITERAL("-----END CERTIFICATE-----");
	ptrdiff_t from = bytes_find_bytes(*pem, begin, 0);
	ptrdiff_t to =
		from < 0 ? -1 : bytes_find_bytes(*pem, end, (size_t)from);
	struct bytes one = {NULL, 0};

	if (to >= 0) {
		one = bytes_slice(*pem, (size_t)from, (size_t)to + end.len);
		*pem = bytes_slice(*pem, (size_t)to + end.len, pem->len);
	}
	for (size_t i = 0; i < one.len; i++)
		if (one.data[i] > 0x7e)
			return bytes_from(NULL, 0);
	return one;
}

json_t *ca_trusted(const struct control *control)
{
	const struct gateway_config *config = &control->keeper->config;
	auto_type(buf_release) struct buf out;
	struct bytes roots = config->ca_bundle, one;

	buf_init(&out, TRUSTED_MAX);
	if (buf_add(&out, control->ca.pem) < 0)
		return NULL;
	if (config->has_private_roots)
		while ((one = next_certificate(&roots)).len > 0)
			if (buf_add(&out, one) < 0 ||
			    buf_add_byte(&out, '\n') < 0)
				return NULL;
	return json_text(buf_view(&out));
}

static void reply_ca(struct conn *conn)
{
	const struct msg_ca *ca = &conn->control->ca;

	conn_reply_json(conn, 200,
			json_pack("{s:o, s:o}", "pem", json_text(ca->pem),
				  "pkcs12", json_base64(ca->pkcs12)));
}

void handle_ca(struct conn *conn)
{
	ca_need(conn, reply_ca);
}
