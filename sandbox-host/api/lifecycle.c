#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/exchange.h"

static void show_health(struct exchange *exchange)
{
	exchange_reply_json(exchange, 200,
			    json_pack("{s:s}", "status", "healthy"));
}

const struct route lifecycle_routes[] = {
	{"GET", "/health", ROUTE_OPEN, 0, ROUTE_WHOLE, show_health},
	{0},
};
