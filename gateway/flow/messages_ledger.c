#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"

static const struct wire_field msg_records_fields[] = {
	WIRE_LIST(struct msg_records, records, 256, &record_schema),
};
const struct wire_schema msg_records_schema =
	WIRE_SCHEMA("records", struct msg_records, msg_records_fields);

static const struct wire_field msg_ledger_query_fields[] = {
	WIRE_U64(struct msg_ledger_query, after),
	WIRE_BOOL(struct msg_ledger_query, newest),
	WIRE_U64(struct msg_ledger_query, before),
	WIRE_U32(struct msg_ledger_query, limit),
	WIRE_TEXT(struct msg_ledger_query, session, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_ledger_query, kind, 32),
	WIRE_BOOL(struct msg_ledger_query, denied_only),
};
const struct wire_schema msg_ledger_query_schema = WIRE_SCHEMA(
	"ledger-query", struct msg_ledger_query, msg_ledger_query_fields);

static const struct wire_field ledger_row_fields[] = {
	WIRE_U64(struct ledger_row, sequence),
	WIRE_TEXT(struct ledger_row, json, 8192),
};
static const struct wire_schema ledger_row_schema =
	WIRE_SCHEMA("ledger-row", struct ledger_row, ledger_row_fields);

static const struct wire_field msg_ledger_rows_fields[] = {
	WIRE_LIST(struct msg_ledger_rows, rows, 64, &ledger_row_schema),
	WIRE_BOOL(struct msg_ledger_rows, more),
};
const struct wire_schema msg_ledger_rows_schema = WIRE_SCHEMA(
	"ledger-rows", struct msg_ledger_rows, msg_ledger_rows_fields);

static const struct wire_field msg_ledger_verify_fields[] = {
	WIRE_U64(struct msg_ledger_verify, after),
};
const struct wire_schema msg_ledger_verify_schema = WIRE_SCHEMA(
	"ledger-verify", struct msg_ledger_verify, msg_ledger_verify_fields);

static const struct wire_field msg_ledger_verified_fields[] = {
	WIRE_BOOL(struct msg_ledger_verified, is_intact),
	WIRE_BOOL(struct msg_ledger_verified, is_done),
	WIRE_U64(struct msg_ledger_verified, first),
	WIRE_U64(struct msg_ledger_verified, checked_to),
	WIRE_U64(struct msg_ledger_verified, broken_at),
	WIRE_TEXT(struct msg_ledger_verified, detail, 512),
	WIRE_TEXT(struct msg_ledger_verified, failing, 512),
};
const struct wire_schema msg_ledger_verified_schema =
	WIRE_SCHEMA("ledger-verified", struct msg_ledger_verified,
		    msg_ledger_verified_fields);

static const struct wire_field msg_pack_update_fields[] = {
	WIRE_TEXT(struct msg_pack_update, old_oid, 64),
	WIRE_TEXT(struct msg_pack_update, new_oid, 64),
	WIRE_BOOL(struct msg_pack_update, must_forward),
};
static const struct wire_schema msg_pack_update_schema = WIRE_SCHEMA(
	"pack-update", struct msg_pack_update, msg_pack_update_fields);

static const struct wire_field msg_pack_path_fields[] = {
	WIRE_TEXT(struct msg_pack_path, path, PUSH_PROTECT_LEN_MAX),
};
static const struct wire_schema msg_pack_path_schema =
	WIRE_SCHEMA("pack-path", struct msg_pack_path, msg_pack_path_fields);

static const struct wire_field msg_pack_commits_fields[] = {
	WIRE_TEXT(struct msg_pack_commits, author, PUSH_PATTERN_LEN_MAX),
	WIRE_TEXT(struct msg_pack_commits, committer, PUSH_PATTERN_LEN_MAX),
	WIRE_TEXT(struct msg_pack_commits, subject, PUSH_PATTERN_LEN_MAX),
	WIRE_TEXT(struct msg_pack_commits, message, PUSH_PATTERN_LEN_MAX),
	WIRE_U64(struct msg_pack_commits, count_max),
};
static const struct wire_schema msg_pack_commits_schema = WIRE_SCHEMA(
	"pack-commits", struct msg_pack_commits, msg_pack_commits_fields);

static const struct wire_field msg_pack_check_fields[] = {
	WIRE_LIST(struct msg_pack_check, updates, 256, &msg_pack_update_schema),
	WIRE_U64(struct msg_pack_check, objects_max),
	WIRE_U64(struct msg_pack_check, bytes_max),
	WIRE_U64(struct msg_pack_check, file_bytes_max),
	WIRE_BOOL(struct msg_pack_check, deny_secrets),
	WIRE_LIST(struct msg_pack_check, protect, 128, &msg_pack_path_schema),
	WIRE_LIST(struct msg_pack_check, commits, 2, &msg_pack_commits_schema),
};
const struct wire_schema msg_pack_check_schema =
	WIRE_SCHEMA("pack-check", struct msg_pack_check, msg_pack_check_fields);

static const struct wire_field msg_pack_exempt_fields[] = {
	WIRE_BYTES(struct msg_pack_exempt, text, PACK_EXEMPT_TEXT_MAX),
};
static const struct wire_schema msg_pack_exempt_schema = WIRE_SCHEMA(
	"pack-exempt", struct msg_pack_exempt, msg_pack_exempt_fields);

static const struct wire_field msg_pack_secrets_fields[] = {
	WIRE_BYTES(struct msg_pack_secrets, prints, PRINTS_MESSAGE_MAX),
	WIRE_BYTES(struct msg_pack_secrets, exempt_digest, DIGEST_LEN),
	WIRE_LIST(struct msg_pack_secrets, exempt, PACK_EXEMPT_MAX,
		  &msg_pack_exempt_schema),
};
const struct wire_schema msg_pack_secrets_schema = WIRE_SCHEMA(
	"pack-secrets", struct msg_pack_secrets, msg_pack_secrets_fields);

static const struct wire_field msg_pack_oid_fields[] = {
	WIRE_TEXT(struct msg_pack_oid, oid, 64),
};
static const struct wire_schema msg_pack_oid_schema =
	WIRE_SCHEMA("pack-oid", struct msg_pack_oid, msg_pack_oid_fields);

static const struct wire_field msg_pack_verdict_fields[] = {
	WIRE_ENUM(struct msg_pack_verdict, result, PACK_RESULT_MAX),
	WIRE_U16(struct msg_pack_verdict, constraint),
	WIRE_U32(struct msg_pack_verdict, index),
	WIRE_LIST(struct msg_pack_verdict, wants, 256, &msg_pack_oid_schema),
	WIRE_ENUM(struct msg_pack_verdict, wants_kind, PACK_WANTS_MAX),
	WIRE_TEXT(struct msg_pack_verdict, detail, 512),
};
const struct wire_schema msg_pack_verdict_schema = WIRE_SCHEMA(
	"pack-verdict", struct msg_pack_verdict, msg_pack_verdict_fields);
