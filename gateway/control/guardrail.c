#include "gateway/control/handlers.h"
#include "gateway/control/json.h"

/* What narrows every session that is created from now on; whoever may create
 * one would find it out. */
void handle_guardrail(struct conn *conn)
{
	struct bytes text = conn->control->keeper->config.guardrail;

	conn_reply_json(conn, 200, json_pack("{s:o}", "text", json_text(text)));
}
