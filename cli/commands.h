/*
 * The verbs, one function each; the table is in commands.c.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"
#include "cli/file_kind.h"

int cmd_run(struct cli *cli);
extern const char cmd_run_help[];
int cmd_srt(struct cli *cli);
int cmd_config_check(struct cli *cli);
/* Have a daemon's own program check its file, of that kind. An exit_code. */
int config_check_by(const struct cli *cli, enum file_kind kind,
		    const char *file);
int cmd_config_dump(struct cli *cli);
int cmd_config_reload(struct cli *cli);
int cmd_sandbox_diff(struct cli *cli);
int cmd_sandbox_commit(struct cli *cli);
int cmd_sandbox_discard(struct cli *cli);
int cmd_session_create(struct cli *cli);
int cmd_session_list(struct cli *cli);
int cmd_session_show(struct cli *cli);
int cmd_session_renew(struct cli *cli);
int cmd_session_policy(struct cli *cli);
int cmd_session_revoke(struct cli *cli);
int cmd_policy_check(struct cli *cli);
int cmd_policy_other(struct cli *cli);
int cmd_policy_diff(struct cli *cli);
int cmd_secret_put(struct cli *cli);
int cmd_secret_rotate(struct cli *cli);
int cmd_secret_list(struct cli *cli);
int cmd_secret_rm(struct cli *cli);
int cmd_audit_tail(struct cli *cli);
int cmd_audit_search(struct cli *cli);
int cmd_audit_export(struct cli *cli);
int cmd_audit_verify(struct cli *cli);
int cmd_push_list(struct cli *cli);
int cmd_approval_list(struct cli *cli);
int cmd_approval_approve(struct cli *cli);
int cmd_approval_deny(struct cli *cli);
int cmd_approval_watch(struct cli *cli);
int cmd_status(struct cli *cli);
int cmd_doctor(struct cli *cli);
int cmd_sandbox_create(struct cli *cli);
extern const char cmd_sandbox_create_help[];
int cmd_sandbox_list(struct cli *cli);
int cmd_sandbox_show(struct cli *cli);
int cmd_sandbox_exec(struct cli *cli);
int cmd_sandbox_cp(struct cli *cli);
int cmd_sandbox_logs(struct cli *cli);
int cmd_sandbox_events(struct cli *cli);
int cmd_sandbox_pause(struct cli *cli);
int cmd_sandbox_resume(struct cli *cli);
int cmd_sandbox_renew(struct cli *cli);
int cmd_sandbox_port(struct cli *cli);
int cmd_sandbox_kill(struct cli *cli);
int cmd_image_list(struct cli *cli);
int cmd_image_pull(struct cli *cli);
int cmd_image_rm(struct cli *cli);
int cmd_sandbox_snapshot(struct cli *cli);
int cmd_snapshot_list(struct cli *cli);
int cmd_snapshot_rm(struct cli *cli);
int cmd_mcp(struct cli *cli);
extern const char cmd_mcp_help[];
int cmd_completion(struct cli *cli);

#endif
