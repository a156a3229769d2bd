#include "gateway/control/handlers.h"

#define AUDIT_PARAMS                                                           \
	(PARAM_AFTER | PARAM_LIMIT | PARAM_SESSION | PARAM_KIND |              \
	 PARAM_DENIED | PARAM_NEWEST | PARAM_BEFORE)
#define EVENT_PARAMS (PARAM_AFTER | PARAM_SESSION | PARAM_DENIED)
#define RECORD_MAX   (8 * 1024)
#define DECISION_MAX 1024
#define COMMAND_MAX  (64 * 1024)
#define RENEW_MAX    256

const struct route control_routes[] = {
	{"POST", "/v1/sessions", ROUTE_ANYONE, 0, CONN_BODY_MAX,
	 handle_session_create},
	{"GET", "/v1/sessions", ROUTE_ANYONE, 0, 0, handle_session_list},
	{"GET", "/v1/sessions/{}", ROUTE_OWNER, 0, 0, handle_session_show},
	{"DELETE", "/v1/sessions/{}", ROUTE_OWNER, PARAM_REASON, 0,
	 handle_session_end},
	{"POST", "/v1/sessions/{}/renew", ROUTE_OWNER, 0, RENEW_MAX,
	 handle_session_renew},
	{"GET", "/v1/sessions/{}/policy", ROUTE_OWNER, 0, 0,
	 handle_session_policy_show},
	{"PUT", "/v1/sessions/{}/policy", ROUTE_OWNER, 0, CONN_BODY_MAX,
	 handle_session_policy_put},
	{"PUT", "/v1/sessions/{}/secrets", ROUTE_OWNER, PARAM_NAME,
	 SECRET_VALUE_MAX, handle_session_secret_put},
	{"DELETE", "/v1/sessions/{}/secrets", ROUTE_OWNER, PARAM_NAME, 0,
	 handle_session_secret_remove},
	{"POST", "/v1/sessions/{}/records", ROUTE_OWNER, 0, RECORD_MAX,
	 handle_session_record},
	{"POST", "/v1/sessions/{}/commands", ROUTE_OWNER, 0, COMMAND_MAX,
	 handle_session_ask},
	{"GET", "/v1/audit", ROUTE_OWNER, AUDIT_PARAMS, 0, handle_audit},
	{"GET", "/v1/audit/verify", ROUTE_ADMIN, 0, 0, handle_audit_verify},
	{"GET", "/v1/events", ROUTE_OWNER, EVENT_PARAMS, 0, handle_events},
	{"GET", "/v1/secrets", ROUTE_ADMIN, 0, 0, handle_secret_list},
	{"PUT", "/v1/secrets/{}", ROUTE_ADMIN, 0, SECRET_VALUE_MAX,
	 handle_secret_put},
	{"POST", "/v1/secrets/{}", ROUTE_ADMIN, 0, SECRET_VALUE_MAX,
	 handle_secret_rotate},
	{"POST", "/v1/vault/key", ROUTE_ADMIN, 0, 0, handle_key_rotate},
	{"DELETE", "/v1/secrets/{}", ROUTE_ADMIN, 0, 0, handle_secret_remove},
	{"GET", "/v1/approvals", ROUTE_OWNER, PARAM_SESSION | PARAM_STATE, 0,
	 handle_approval_list},
	/* Whose it is, its session says: the handler asks. */
	{"POST", "/v1/approvals/{}", ROUTE_ANYONE, 0, DECISION_MAX,
	 handle_approval_decide},
	{"GET", "/v1/status", ROUTE_ADMIN, 0, 0, handle_status},
	{"GET", "/v1/config", ROUTE_ADMIN, 0, 0, handle_config_show},
	{"POST", "/v1/config/reload", ROUTE_ADMIN, 0, 0, handle_config_reload},
	{"GET", "/v1/guardrail", ROUTE_ANYONE, 0, 0, handle_guardrail},
	{"GET", "/v1/ca", ROUTE_ANYONE, 0, 0, handle_ca},
	{NULL, NULL, ROUTE_ADMIN, 0, 0, NULL},
};
