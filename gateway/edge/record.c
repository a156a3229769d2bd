#include "gateway/edge/conn.h"

/* What every record of a connection says. */
static struct record base_record(const struct conn *conn, enum record_kind kind)
{
	return (struct record){
		.kind = (uint8_t)kind,
		.request_id = bytes_str(conn->request_id),
		.host = bytes_str(conn->target.host),
		.port = conn->target.port,
	};
}

int conn_record_target(struct conn *conn)
{
	const struct verdict *verdict = &conn->target_verdict;
	struct record record = base_record(conn, RECORD_CONNECTION);

	record.allowed = verdict->kind == VERDICT_ALLOW;
	record.constraint = (uint16_t)verdict->constraint;
	record.rule = verdict->rule;
	record.detail = verdict->reason;
	return edge_record(conn->edge, &record);
}

int conn_record_request(struct conn *conn, const struct verdict *verdict)
{
	struct record record = base_record(conn, RECORD_REQUEST);

	record.allowed = verdict->kind == VERDICT_ALLOW;
	record.constraint = (uint16_t)verdict->constraint;
	record.rule = verdict->rule;
	record.detail = verdict->reason;
	record.method = conn->request.method;
	record.path = conn->request.path;
	record.credential = verdict->credential;
	return edge_record(conn->edge, &record);
}

int conn_record_response(struct conn *conn, unsigned status)
{
	struct record record = base_record(conn, RECORD_RESPONSE);

	record.allowed = conn->refusal.constraint == CONSTRAINT_none;
	record.constraint = (uint16_t)conn->refusal.constraint;
	record.rule = conn->verdict.rule;
	record.method = conn->request.method;
	record.path = conn->request.path;
	record.status = (uint16_t)status;
	record.bytes_up = conn->bytes_up;
	record.bytes_down = conn->bytes_down;
	record.detail = conn->refusal.detail;
	return edge_record(conn->edge, &record);
}
