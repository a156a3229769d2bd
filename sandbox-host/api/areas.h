/*
 * The tables of routes, one for each area; each ends with a NULL method.
 */
#ifndef SANDBOX_HOST_API_AREAS_H
#define SANDBOX_HOST_API_AREAS_H

#include "sandbox-host/api/route.h"

extern const struct route lifecycle_routes[];
extern const struct route proxy_routes[];
extern const struct route execd_proxy_routes[]; /* the same, by execd's token */
extern const struct route snapshot_routes[];
extern const struct route execd_routes[]; /* what runs */
extern const struct route execd_command_routes[];
extern const struct route execd_shell_routes[];
extern const struct route execd_pty_routes[];
extern const struct route execd_code_routes[];
extern const struct route execd_isolated_routes[];
extern const struct route files_routes[]; /* below the same endpoint */
extern const struct route egress_routes[];
extern const struct route egress_vault_routes[]; /* below the same */

#endif
