#include "gateway/control/ca.h"

#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

#define CA_ARENA_MAX (64 * 1024)

struct ca_task {
	void (*next)(struct conn *conn);
	void *task; /* whose place we took */
};

void ca_forget(struct control *control)
{
	control->ca = (struct msg_ca){0};
	arena_release(&control->ca_arena);
	arena_init(&control->ca_arena, CA_ARENA_MAX);
}

static void on_ca(struct conn *conn, const void *message)
{
	const struct msg_ca *ca = message;
	const struct ca_task *task = conn->task;
	struct control *control = conn->control;

	ca_forget(control);
	control->ca = (struct msg_ca){
		.pem = arena_copy(&control->ca_arena, ca->pem),
		.pkcs12 = arena_copy(&control->ca_arena, ca->pkcs12),
	};
	conn->task = task->task;
	task->next(conn);
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
	struct ca_task *task;

	if (conn->control->ca.pem.len > 0) {
		next(conn);
		return;
	}
	task = arena_alloc(&conn->arena, sizeof(*task));
	if (!task) {
		conn_refuse(conn, 503, "no memory");
		return;
	}
	*task = (struct ca_task){next, conn->task};
	conn->task = task;
	conn_ask(conn, &question, on_ca);
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
