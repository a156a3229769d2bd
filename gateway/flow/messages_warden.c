#include "common/digest.h"
#include "gateway/flow/config.h"
#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"
#include "policies/permissions.h"

static const struct wire_field msg_peer_fields[] = {
	WIRE_ENUM(struct msg_peer, role, ROLE_MAX),
	WIRE_TEXT(struct msg_peer, session, SESSION_ID_MAX),
};
const struct wire_schema msg_peer_schema =
	WIRE_SCHEMA("peer", struct msg_peer, msg_peer_fields);

static const struct wire_field msg_session_ref_fields[] = {
	WIRE_TEXT(struct msg_session_ref, id, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_session_ref, reason, 64),
};
const struct wire_schema msg_session_ref_schema = WIRE_SCHEMA(
	"session-ref", struct msg_session_ref, msg_session_ref_fields);

static const struct wire_field msg_session_renew_fields[] = {
	WIRE_TEXT(struct msg_session_renew, id, SESSION_ID_MAX),
	WIRE_U64(struct msg_session_renew, expires_ms),
};
const struct wire_schema msg_session_renew_schema = WIRE_SCHEMA(
	"session-renew", struct msg_session_renew, msg_session_renew_fields);

static const struct wire_field msg_session_hold_fields[] = {
	WIRE_TEXT(struct msg_session_hold, id, SESSION_ID_MAX),
};
const struct wire_schema msg_session_hold_schema = WIRE_SCHEMA(
	"session-hold", struct msg_session_hold, msg_session_hold_fields);

static const struct wire_field msg_session_change_fields[] = {
	WIRE_BYTES(struct msg_session_change, before, DIGEST_LEN),
};
const struct wire_schema msg_session_change_schema = WIRE_SCHEMA(
	"session-change", struct msg_session_change, msg_session_change_fields);

static const struct wire_field msg_session_changed_fields[] = {
	WIRE_BOOL(struct msg_session_changed, holds),
};
const struct wire_schema msg_session_changed_schema =
	WIRE_SCHEMA("session-changed", struct msg_session_changed,
		    msg_session_changed_fields);

static const struct wire_field msg_secret_file_fields[] = {
	WIRE_TEXT(struct msg_secret_file, path, SECRET_FILE_PATH_MAX),
};
static const struct wire_schema msg_secret_file_schema = WIRE_SCHEMA(
	"secret-file", struct msg_secret_file, msg_secret_file_fields);
static const struct wire_field msg_session_terms_fields[] = {
	WIRE_TEXT(struct msg_session_terms, text, SESSION_TERMS_MAX),
	WIRE_LIST(struct msg_session_terms, secret_files, SOURCES_MAX,
		  &msg_secret_file_schema),
};
const struct wire_schema msg_session_terms_schema = WIRE_SCHEMA(
	"session-terms", struct msg_session_terms, msg_session_terms_fields);

static const struct wire_field msg_listener_fields[] = {
	WIRE_ENUM(struct msg_listener, kind, LISTENER_KIND_MAX),
};
const struct wire_schema msg_listener_schema =
	WIRE_SCHEMA("listener", struct msg_listener, msg_listener_fields);

static const struct wire_field msg_export_ref_fields[] = {
	WIRE_TEXT(struct msg_export_ref, path, CONFIG_EXPORT_PATH_MAX),
};
const struct wire_schema msg_export_ref_schema =
	WIRE_SCHEMA("export-ref", struct msg_export_ref, msg_export_ref_fields);

static const struct wire_field msg_config_reloaded_fields[] = {
	WIRE_BOOL(struct msg_config_reloaded, holds),
	WIRE_TEXT(struct msg_config_reloaded, taken, RELOAD_TEXT_MAX),
	WIRE_TEXT(struct msg_config_reloaded, why, RELOAD_TEXT_MAX),
	WIRE_BYTES(struct msg_config_reloaded, errors, RELOAD_ERRORS_MAX),
};
const struct wire_schema msg_config_reloaded_schema =
	WIRE_SCHEMA("config-reloaded", struct msg_config_reloaded,
		    msg_config_reloaded_fields);

static const struct wire_field msg_attach_fields[] = {
	WIRE_TEXT(struct msg_attach, id, SESSION_ID_MAX),
	WIRE_ENUM(struct msg_attach, kind, LISTENER_KIND_MAX),
};
const struct wire_schema msg_attach_schema =
	WIRE_SCHEMA("attach", struct msg_attach, msg_attach_fields);

static const struct wire_field msg_session_fields[] = {
	WIRE_TEXT(struct msg_session, id, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_session, repo, 256),
	WIRE_TEXT(struct msg_session, branch, 128),
	WIRE_TEXT(struct msg_session, policy_name, 64),
	WIRE_U32(struct msg_session, owner_uid),
	WIRE_U64(struct msg_session, created_ms),
	WIRE_U64(struct msg_session, expires_ms),
	WIRE_U32(struct msg_session, edge_pid),
	WIRE_U32(struct msg_session, edge_restarts),
	WIRE_BOOL(struct msg_session, is_revoked),
	WIRE_BOOL(struct msg_session, signs),
	WIRE_TEXT(struct msg_session, permitted, PERMISSIONS_BYTES_MAX),
};
static const struct wire_schema msg_session_schema =
	WIRE_SCHEMA("session", struct msg_session, msg_session_fields);

static const struct wire_field msg_session_query_fields[] = {
	WIRE_TEXT(struct msg_session_query, id, SESSION_ID_MAX),
	WIRE_BOOL(struct msg_session_query, of_owner),
	WIRE_U32(struct msg_session_query, owner_uid),
	WIRE_U32(struct msg_session_query, skip),
};
const struct wire_schema msg_session_query_schema = WIRE_SCHEMA(
	"session-query", struct msg_session_query, msg_session_query_fields);

static const struct wire_field msg_session_list_fields[] = {
	WIRE_LIST(struct msg_session_list, sessions, 100, &msg_session_schema),
	WIRE_U32(struct msg_session_list, total),
	WIRE_U32(struct msg_session_list, ended),
};
const struct wire_schema msg_session_list_schema = WIRE_SCHEMA(
	"session-list", struct msg_session_list, msg_session_list_fields);

static const struct wire_field msg_process_fields[] = {
	WIRE_ENUM(struct msg_process, role, ROLE_MAX),
	WIRE_U32(struct msg_process, pid),
	WIRE_U32(struct msg_process, restarts),
	WIRE_BOOL(struct msg_process, is_ready),
	WIRE_TEXT(struct msg_process, session, SESSION_ID_MAX),
};
static const struct wire_schema msg_process_schema =
	WIRE_SCHEMA("process", struct msg_process, msg_process_fields);

static const struct wire_field msg_process_query_fields[] = {
	WIRE_U32(struct msg_process_query, skip),
};
const struct wire_schema msg_process_query_schema = WIRE_SCHEMA(
	"process-query", struct msg_process_query, msg_process_query_fields);

static const struct wire_field msg_process_list_fields[] = {
	WIRE_LIST(struct msg_process_list, processes, PROCESSES_TOLD_MAX,
		  &msg_process_schema),
};
const struct wire_schema msg_process_list_schema = WIRE_SCHEMA(
	"process-list", struct msg_process_list, msg_process_list_fields);
