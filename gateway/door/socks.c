/*
 * SOCKS 5 at the door: the greeting and the password, in which the lease
 * comes (RFC 1929). The request after them is the edge's alone, and so is
 * the answer to a right password: the edge reads all of it again.
 */
#include "gateway/door/conn.h"

void door_socks_refuse(struct door_conn *conn)
{
	uint8_t out[2];

	socks_answer_password(false, out);
	door_conn_end(conn, bytes_from(out, sizeof(out)));
}

/* It leaves before the connection may be handed on: IO_DRAINED says so. */
static void answer_method(struct door_conn *conn)
{
	uint8_t out[2];

	socks_answer_method(&conn->socks, out);
	if (io_write(conn->io, bytes_from(out, sizeof(out))) == 0)
		return;
	conn->is_over = true;
	io_close(conn->io);
}

static void take_password(struct door_conn *conn)
{
	const struct socks *socks = &conn->socks;

	door_conn_bring(conn,
			socks->password.len ? socks->password : socks->user,
			true);
}

void door_socks_step(struct door_conn *conn)
{
	struct bytes read = buf_view(io_in(conn->io));
	struct bytes input = bytes_slice(read, conn->socks_read, read.len);
	enum socks_result result;

	if (io_out_len(conn->io) > 0)
		return;
	result = socks_take(&conn->socks, &input);
	conn->socks_read = read.len - input.len;
	switch (result) {
	case SOCKS_METHODS:
		answer_method(conn);
		break;
	case SOCKS_PASSWORD:
		take_password(conn);
		break;
	case SOCKS_INVALID:
		door_conn_end(conn, bytes_from(conn->socks.refusal,
					       conn->socks.refusal_len));
		break;
	case SOCKS_REQUEST: /* it comes after the password */
	case SOCKS_MORE:
		break;
	}
}
