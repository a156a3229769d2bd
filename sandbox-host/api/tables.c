/* Every route of every area. */
#include <stddef.h>

#include "sandbox-host/api/areas.h"

const struct route_table route_tables[] = {
	{ROUTES_LIFECYCLE, lifecycle_routes},
	{ROUTES_LIFECYCLE, snapshot_routes},
	{ROUTES_PROXY, proxy_routes},
	{ROUTES_EXECD, execd_routes},
	{ROUTES_EXECD, execd_proxy_routes},
	{ROUTES_EXECD, execd_command_routes},
	{ROUTES_EXECD, execd_shell_routes},
	{ROUTES_EXECD, execd_pty_routes},
	{ROUTES_EXECD, execd_code_routes},
	{ROUTES_EXECD, execd_isolated_routes},
	{ROUTES_EXECD, files_routes},
	{ROUTES_EGRESS, egress_routes},
	{ROUTES_EGRESS, egress_vault_routes},
	{ROUTE_PLACE_MAX, NULL},
};
