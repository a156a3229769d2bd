#include "sandbox-host/flow/messages.h"

#include <assert.h>

#include "common/cleanup.h"

static const char *const state_names[HOST_STATE_MAX] = {
#define X(name, text) [HOST_##name] = text,
	HOST_STATES(X)
#undef X
};

const char *host_state_name(enum host_state state)
{
	assert(state < HOST_STATE_MAX);
	return state_names[state];
}

int host_state_find(struct bytes text, enum host_state *state)
{
	for (unsigned i = 0; i < HOST_STATE_MAX; i++)
		if (bytes_is(text, state_names[i])) {
			*state = (enum host_state)i;
			return 0;
		}
	return -1;
}

static const struct wire_field host_ref_fields[] = {
	WIRE_TEXT(struct host_ref, id, HOST_ID_MAX),
};
const struct wire_schema host_ref_schema =
	WIRE_SCHEMA("host-ref", struct host_ref, host_ref_fields);

static const struct wire_field host_sandbox_fields[] = {
	WIRE_TEXT(struct host_sandbox, id, HOST_ID_MAX),
	WIRE_TEXT(struct host_sandbox, name, REQUEST_NAME_MAX),
	WIRE_ENUM(struct host_sandbox, state, HOST_STATE_MAX),
	WIRE_TEXT(struct host_sandbox, reason, HOST_REASON_MAX),
	WIRE_TEXT(struct host_sandbox, message, HOST_MESSAGE_MAX),
	WIRE_U64(struct host_sandbox, changed_ms),
	WIRE_U64(struct host_sandbox, created_ms),
	WIRE_U64(struct host_sandbox, expires_ms),
	WIRE_U64(struct host_sandbox, ran_ms),
	WIRE_U32(struct host_sandbox, owner_uid),
	WIRE_TEXT(struct host_sandbox, session, HOST_ID_MAX),
	WIRE_BYTES(struct host_sandbox, workspace, REQUEST_PATH_MAX),
	WIRE_BYTES(struct host_sandbox, note, REQUEST_NOTE_MAX),
	WIRE_TEXT(struct host_sandbox, image, REQUEST_NAME_MAX),
	WIRE_U32(struct host_sandbox, init_pid),
	WIRE_BOOL(struct host_sandbox, has_exit_code),
	WIRE_U32(struct host_sandbox, exit_code),
	WIRE_LIST(struct host_sandbox, entrypoint, SHOWN_ARGS_MAX,
		  &shown_schema),
	WIRE_LIST(struct host_sandbox, metadata, REQUEST_METADATA_MAX,
		  &metadata_schema),
};
const struct wire_schema host_sandbox_schema =
	WIRE_SCHEMA("host-sandbox", struct host_sandbox, host_sandbox_fields);

static const struct wire_field host_query_fields[] = {
	WIRE_U32(struct host_query, states),
	WIRE_LIST(struct host_query, metadata, REQUEST_METADATA_MAX,
		  &metadata_schema),
	WIRE_U32(struct host_query, skip),
	WIRE_U32(struct host_query, limit),
};
const struct wire_schema host_query_schema =
	WIRE_SCHEMA("host-query", struct host_query, host_query_fields);

static const struct wire_field host_list_fields[] = {
	WIRE_LIST(struct host_list, sandboxes, HOST_LIST_MAX,
		  &host_sandbox_schema),
	WIRE_U32(struct host_list, total),
};
const struct wire_schema host_list_schema =
	WIRE_SCHEMA("host-list", struct host_list, host_list_fields);

static const struct wire_field host_renew_fields[] = {
	WIRE_TEXT(struct host_renew, id, HOST_ID_MAX),
	WIRE_U64(struct host_renew, expires_ms),
};
const struct wire_schema host_renew_schema =
	WIRE_SCHEMA("host-renew", struct host_renew, host_renew_fields);

static const struct wire_field host_patch_fields[] = {
	WIRE_TEXT(struct host_patch, id, HOST_ID_MAX),
	WIRE_LIST(struct host_patch, set, REQUEST_METADATA_MAX,
		  &metadata_schema),
	WIRE_LIST(struct host_patch, unset, REQUEST_METADATA_MAX,
		  &shown_schema),
};
const struct wire_schema host_patch_schema =
	WIRE_SCHEMA("host-patch", struct host_patch, host_patch_fields);

static const struct wire_field host_channel_fields[] = {
	WIRE_TEXT(struct host_channel, id, HOST_ID_MAX),
	WIRE_ENUM(struct host_channel, kind, HOST_CHANNEL_KIND_MAX),
};
const struct wire_schema host_channel_schema =
	WIRE_SCHEMA("host-channel", struct host_channel, host_channel_fields);

static const struct wire_field host_port_fields[] = {
	WIRE_TEXT(struct host_port, id, HOST_ID_MAX),
	WIRE_U16(struct host_port, port),
};
const struct wire_schema host_port_schema =
	WIRE_SCHEMA("host-port", struct host_port, host_port_fields);

static const struct wire_field host_address_fields[] = {
	WIRE_TEXT(struct host_address, address, 64),
};
const struct wire_schema host_address_schema =
	WIRE_SCHEMA("host-address", struct host_address, host_address_fields);

static const struct wire_field host_after_fields[] = {
	WIRE_TEXT(struct host_after, id, HOST_ID_MAX),
	WIRE_U64(struct host_after, after),
	WIRE_U32(struct host_after, wait_ms),
};
const struct wire_schema host_after_schema =
	WIRE_SCHEMA("host-after", struct host_after, host_after_fields);

static const struct wire_field host_event_fields[] = {
	WIRE_U64(struct host_event, sequence),
	WIRE_U64(struct host_event, time_ms),
	WIRE_TEXT(struct host_event, kind, HOST_REASON_MAX),
	WIRE_BYTES(struct host_event, text, HOST_EVENT_MAX),
	WIRE_BYTES(struct host_event, rule, HOST_REASON_MAX),
};
static const struct wire_schema host_event_schema =
	WIRE_SCHEMA("host-event", struct host_event, host_event_fields);

static const struct wire_field host_events_fields[] = {
	WIRE_LIST(struct host_events, events, HOST_EVENTS_MAX,
		  &host_event_schema),
	WIRE_BOOL(struct host_events, more),
};
const struct wire_schema host_events_schema =
	WIRE_SCHEMA("host-events", struct host_events, host_events_fields);

static const struct wire_field host_log_fields[] = {
	WIRE_U64(struct host_log, start),
	WIRE_BYTES(struct host_log, text, HOST_LOG_MAX),
	WIRE_BOOL(struct host_log, has_ended),
};
const struct wire_schema host_log_schema =
	WIRE_SCHEMA("host-log", struct host_log, host_log_fields);

static const struct wire_field host_metrics_fields[] = {
	WIRE_U32(struct host_metrics, cpu_count),
	WIRE_U64(struct host_metrics, cpu_ms),
	WIRE_U32(struct host_metrics, cpu_percent),
	WIRE_U64(struct host_metrics, memory_total),
	WIRE_U64(struct host_metrics, memory_used),
	WIRE_U32(struct host_metrics, processes),
};
const struct wire_schema host_metrics_schema =
	WIRE_SCHEMA("host-metrics", struct host_metrics, host_metrics_fields);

static const struct wire_field host_count_fields[] = {
	WIRE_U32(struct host_count, count),
};
static const struct wire_schema host_count_schema =
	WIRE_SCHEMA("host-count", struct host_count, host_count_fields);

static const struct wire_field host_status_fields[] = {
	WIRE_LIST(struct host_status, counts, HOST_STATE_MAX,
		  &host_count_schema),
	WIRE_U32(struct host_status, sandboxes_max),
	WIRE_BOOL(struct host_status, is_draining),
};
const struct wire_schema host_status_schema =
	WIRE_SCHEMA("host-status", struct host_status, host_status_fields);

static const struct wire_field host_reloaded_fields[] = {
	WIRE_BOOL(struct host_reloaded, holds),
	WIRE_TEXT(struct host_reloaded, taken, HOST_NAMES_MAX),
	WIRE_TEXT(struct host_reloaded, why, HOST_MESSAGE_MAX),
	WIRE_BYTES(struct host_reloaded, errors, HOST_REPORT_MAX),
};
const struct wire_schema host_reloaded_schema = WIRE_SCHEMA(
	"host-reloaded", struct host_reloaded, host_reloaded_fields);

static const struct wire_field supervisor_state_fields[] = {
	WIRE_ENUM(struct supervisor_state, state, HOST_STATE_MAX),
	WIRE_TEXT(struct supervisor_state, reason, HOST_REASON_MAX),
	WIRE_TEXT(struct supervisor_state, message, HOST_MESSAGE_MAX),
	WIRE_U64(struct supervisor_state, changed_ms),
	WIRE_U64(struct supervisor_state, expires_ms),
	WIRE_U64(struct supervisor_state, ran_ms),
	WIRE_TEXT(struct supervisor_state, session, HOST_ID_MAX),
	WIRE_BYTES(struct supervisor_state, workspace, REQUEST_PATH_MAX),
	WIRE_U32(struct supervisor_state, init_pid),
	WIRE_BOOL(struct supervisor_state, has_exit_code),
	WIRE_U32(struct supervisor_state, exit_code),
};
const struct wire_schema supervisor_state_schema = WIRE_SCHEMA(
	"supervisor-state", struct supervisor_state, supervisor_state_fields);

static const struct wire_field supervisor_base_fields[] = {
	WIRE_BOOL(struct supervisor_base, is_known),
	WIRE_U32(struct supervisor_base, uid),
	WIRE_U32(struct supervisor_base, gid),
	WIRE_BOOL(struct supervisor_base, has_read),
	WIRE_U64(struct supervisor_base, tmpfs_bytes),
};
const struct wire_schema supervisor_base_schema = WIRE_SCHEMA(
	"supervisor-base", struct supervisor_base, supervisor_base_fields);

static const struct wire_field supervisor_end_fields[] = {
	WIRE_TEXT(struct supervisor_end, reason, HOST_REASON_MAX),
};
const struct wire_schema supervisor_end_schema = WIRE_SCHEMA(
	"supervisor-end", struct supervisor_end, supervisor_end_fields);

static const struct wire_field exec_stdio_fields[] = {
	WIRE_ENUM(struct exec_stdio, which, 3),
};
const struct wire_schema exec_stdio_schema =
	WIRE_SCHEMA("exec-stdio", struct exec_stdio, exec_stdio_fields);

static const struct wire_field exec_started_fields[] = {
	WIRE_U32(struct exec_started, pid),
};
const struct wire_schema exec_started_schema =
	WIRE_SCHEMA("exec-started", struct exec_started, exec_started_fields);

static const struct wire_field exec_asked_fields[] = {
	WIRE_TEXT(struct exec_asked, id, EXEC_ASKED_ID_MAX),
	WIRE_TEXT(struct exec_asked, words, HOST_MESSAGE_MAX),
};
const struct wire_schema exec_asked_schema =
	WIRE_SCHEMA("exec-asked", struct exec_asked, exec_asked_fields);

static const struct wire_field exec_signal_fields[] = {
	WIRE_ENUM(struct exec_signal, number, 65),
	WIRE_BOOL(struct exec_signal, is_for_group),
	WIRE_BOOL(struct exec_signal, answers_soon),
};
const struct wire_schema exec_signal_schema =
	WIRE_SCHEMA("exec-signal", struct exec_signal, exec_signal_fields);

static const struct wire_field exec_ended_fields[] = {
	WIRE_U32(struct exec_ended, exit_code),
	WIRE_U8(struct exec_ended, signal),
	WIRE_TEXT(struct exec_ended, reason, HOST_MESSAGE_MAX),
};
const struct wire_schema exec_ended_schema =
	WIRE_SCHEMA("exec-ended", struct exec_ended, exec_ended_fields);
