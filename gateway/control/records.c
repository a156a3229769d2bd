#include "gateway/control/handlers.h"

/* What a sandbox's supervisor saw: a denial inside, its start and end. */

static bool is_constraint(struct bytes name, enum constraint *constraint)
{
	*constraint = name.len ? constraint_from_name(name) : CONSTRAINT_none;
	return *constraint < CONSTRAINT_MAX;
}

static void store(struct conn *conn, const struct record *record)
{
	if (keeper_record(conn->control->keeper, record) < 0)
		conn_refuse(conn, 503, "the record could not be kept");
	else
		conn_reply_empty(conn);
}

void handle_session_record(struct conn *conn)
{
	struct bytes body = buf_view(&conn->http.body);
	const char *detail = "", *name = "", *path = "", *rule = "";
	enum constraint constraint;
	struct record record = {
		.kind = RECORD_SANDBOX,
		.session = conn->name,
		.host = bytes_str("sandbox"),
	};
	json_error_t error;
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, &error);

	if (!root ||
	    json_unpack_ex(root, &error, JSON_STRICT, "{s:s, s?s, s?s, s?s}",
			   "detail", &detail, "constraint", &name, "path",
			   &path, "rule", &rule) < 0) {
		conn_refuse(conn, 400, "the body: %s", error.text);
	} else if (!is_constraint(bytes_str(name), &constraint)) {
		conn_refuse(conn, 400, "there is no such constraint");
	} else {
		record.constraint = (uint16_t)constraint;
		record.allowed = constraint == CONSTRAINT_none;
		record.detail = bytes_str(detail);
		record.path = bytes_str(path);
		record.rule = bytes_str(rule);
		store(conn, &record);
	}
	json_decref(root);
}
