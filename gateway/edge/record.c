#include <stdio.h>
#include <string.h>

#include "gateway/edge/approval.h"

/* What every record of a connection says. */
static struct record base_record(const struct conn *conn, enum record_kind kind)
{
	return (struct record){
		.kind = (uint8_t)kind,
		.request_id = bytes_str(conn->request_id),
		.host = conn_host(conn),
		.port = conn_port(conn),
		.approval =
			bytes_str(conn->approval ? conn->approval->id : NULL),
	};
}

static int kept(struct conn *conn, const struct record *record)
{
	if (edge_record(conn->edge, record) == 0)
		return 0;
	conn_refuse(conn, CONSTRAINT_audit_unavailable, "%s",
		    constraint_text(CONSTRAINT_audit_unavailable));
	return -1;
}

int conn_record_target(struct conn *conn)
{
	const struct verdict *verdict = &conn->errand->target_verdict;
	struct record record = base_record(conn, RECORD_CONNECTION);

	record.allowed = verdict->kind == VERDICT_ALLOW;
	record.constraint = (uint16_t)verdict->constraint;
	record.rule = verdict->rule;
	record.detail = verdict->reason;
	return kept(conn, &record);
}

int conn_record_request(struct conn *conn, const struct verdict *verdict)
{
	struct record record = base_record(conn, RECORD_REQUEST);

	record.allowed = verdict->kind == VERDICT_ALLOW;
	record.constraint = (uint16_t)verdict->constraint;
	record.rule = verdict->rule;
	record.detail = verdict->reason;
	record.method = conn->errand->request.method;
	record.path = conn->errand->request.path;
	record.credential = verdict->credential;
	conn->on_record = RECORD_IS_DONE;
	if (kept(conn, &record) < 0)
		return -1;
	if (record.allowed)
		conn->on_record = RECORD_IS_OPEN;
	return 0;
}

void conn_record_fault(struct conn *conn, const struct http_fault *fault)
{
	struct record record = base_record(conn, RECORD_REQUEST);

	record.constraint = (uint16_t)fault->constraint;
	record.rule = bytes_str("gateway");
	record.detail = bytes_str(fault->reason);
	(void)edge_record(conn->edge, &record);
}

void conn_record_alert(struct conn *conn, const struct err *alert)
{
	struct record record = base_record(conn, RECORD_CONNECTION);
	char detail[ERR_TEXT_MAX + 64];
	bool is_ours = conn->refusal.constraint != CONSTRAINT_none;

	if (conn->errand->target_verdict.kind != VERDICT_ALLOW ||
	    (!is_ours && !strstr(alert->text, "alert")))
		return;
	(void)snprintf(detail, sizeof(detail),
		       "the client does not take the gateway's certificate: %s",
		       alert->text);
	record.constraint = (uint16_t)(is_ours ? conn->refusal.constraint
					       : CONSTRAINT_tls_client_failed);
	record.rule = conn->errand->target_verdict.rule;
	record.detail = is_ours ? conn->refusal.detail : bytes_str(detail);
	(void)edge_record(conn->edge, &record);
}

void conn_record_crowd(struct edge *edge)
{
	char detail[64];
	struct record record = {
		.kind = RECORD_CONNECTION,
		.constraint = CONSTRAINT_limit_connections,
		.rule = bytes_str("gateway"),
	};

	(void)snprintf(detail, sizeof(detail), "%zu connections are open",
		       edge->conn_count);
	record.detail = bytes_str(detail);
	(void)edge_record(edge, &record);
}

/* What has happened has happened: a record that cannot be kept changes
 * nothing here. */
void conn_record_end(struct conn *conn)
{
	struct record record = base_record(conn, RECORD_RESPONSE);

	if (conn->on_record != RECORD_IS_OPEN)
		return;
	conn->on_record = RECORD_IS_DONE;

	/* What the session's end cuts off was allowed: nobody is told that it
	 * was refused. */
	record.allowed = conn->refusal.constraint == CONSTRAINT_none ||
			 conn->edge->has_ended;
	record.constraint = (uint16_t)conn->refusal.constraint;
	record.rule = conn->verdict.rule;
	record.method = conn_method(conn);
	record.path = conn_path(conn);
	record.status = (uint16_t)conn->reply_status;
	record.bytes_up = conn->bytes_up;
	record.bytes_down = conn->bytes_down;
	record.detail = conn->refusal.detail;
	(void)edge_record(conn->edge, &record);
}
