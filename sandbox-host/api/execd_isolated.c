/*
 * /v1/isolated: runs that are confined once more, in an overlay of the
 * workspace of their own. Every command of a sandbox has the whole of its
 * confinement already, and process 1 inside gave up what mounting a further
 * overlay needs before the first of them; so there is none of this.
 */
#include "sandbox-host/api/execd.h"

#define WHY                                                                    \
	"a further overlay cannot be mounted in a sandbox that runs; create "  \
	"another sandbox with filesystem.workspace: overlay instead"

static void get_capabilities(struct exchange *exchange)
{
	exchange_reply_json(
		exchange, 200,
		json_pack("{s:b,s:s,s:s,s:s,s:b,s:b,s:b,s:b}", "available", 0,
			  "isolator", "none", "version", SP_VERSION, "message",
			  WHY, "setpriv_available", 0, "userns_available", 0,
			  "commit_supported", 0, "diff_supported", 0));
}

static void get_sessions(struct exchange *exchange)
{
	exchange_reply_json(exchange, 200, json_pack("{s:[]}", "sessions"));
}

static void refuse(struct exchange *exchange)
{
	exchange_fail(exchange, 501, "NOT_SUPPORTED", WHY);
}

const struct route execd_isolated_routes[] = {
	{"GET", "/v1/isolated/capabilities", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 get_capabilities},
	{"GET", "/v1/isolated/sessions", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 get_sessions},
	{"*", "/v1/isolated/**", ROUTE_TOKEN, EXECD_BODY_MAX, ROUTE_WHOLE,
	 refuse},
	{0},
};
