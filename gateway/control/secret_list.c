/*
 * Which secrets there are: those of gateway.yaml's sources, then what the
 * vault keeps. Two questions to the vault, one after the other.
 */
#include "gateway/control/handlers.h"
#include "gateway/control/json.h"
#include "gateway/flow/messages_tokens.h"

/* What the first answer said, in the request's arena. */
struct sources {
	struct msg_source_entry *items;
	size_t count;
};

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[SOURCE_FILE] = "file",
		[SOURCE_CREDENTIAL] = "credential",
		[SOURCE_EXEC] = "exec",
		[SOURCE_OAUTH2] = "oauth2",
		[SOURCE_GITHUB_APP] = "github_app",
	};

	return names[kind];
}

static const char *state_name(uint8_t state)
{
	static const char *const names[] = {
		[SOURCE_IDLE] = "idle",
		[SOURCE_HELD] = "held",
		[SOURCE_FAILED] = "failed",
	};

	return names[state];
}

static json_t *source_json(const struct msg_source_entry *entry)
{
	json_t *row = json_pack(
		"{s:o, s:s, s:s, s:i, s:o}", "name", json_text(entry->name),
		"source", kind_name(entry->kind), "state",
		state_name(entry->state), "held", (int)entry->held, "until",
		json_time(entry->until_ms));

	if (entry->why.len)
		(void)json_object_set_new(row, "detail", json_text(entry->why));
	return row;
}

static json_t *kept_json(const struct msg_secret_entry *entry)
{
	return json_pack("{s:o, s:s, s:s, s:o, s:o, s:o}", "name",
			 json_text(entry->name), "source", "vault", "state",
			 "kept", "created", json_time(entry->created_ms),
			 "changed", json_time(entry->changed_ms), "used",
			 json_time(entry->used_ms));
}

static void on_secrets(struct conn *conn, const void *message)
{
	const struct msg_secret_list *list = message;
	const struct sources *sources = conn->task;
	json_t *rows = json_array();

	for (size_t i = 0; i < sources->count; i++)
		(void)json_array_append_new(rows,
					    source_json(&sources->items[i]));
	for (size_t i = 0; i < list->secrets_count; i++)
		(void)json_array_append_new(rows, kept_json(&list->secrets[i]));
	conn_reply_json(conn, 200, json_pack("{s:o}", "secrets", rows));
}

/* The message is gone with the call. */
static int keep(struct conn *conn, const struct msg_source_list *list)
{
	struct sources *sources =
		arena_alloc(&conn->http.arena, sizeof(*sources));

	conn->task = sources;
	if (!sources)
		return -1;
	*sources = (struct sources){
		.items = arena_array(&conn->http.arena, list->sources_count,
				     sizeof(sources->items[0])),
	};
	if (list->sources_count && !sources->items)
		return -1;
	for (; sources->count < list->sources_count; sources->count++) {
		struct msg_source_entry *entry =
			&sources->items[sources->count];

		*entry = list->sources[sources->count];
		entry->name = arena_copy(&conn->http.arena, entry->name);
		entry->why = arena_copy(&conn->http.arena, entry->why);
	}
	return 0;
}

static void ask(struct conn *conn, uint16_t type,
		const struct wire_schema *reply_schema, conn_answer_fn *fn)
{
	const struct wire_empty empty = {0};
	struct question question = {
		.role = ROLE_VAULT,
		.type = type,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = reply_schema,
	};

	conn_ask(conn, &question, fn);
}

static void on_sources(struct conn *conn, const void *message)
{
	if (keep(conn, message) < 0)
		conn_refuse(conn, 503, "memory is out");
	else
		ask(conn, MSG_SECRET_LIST, &msg_secret_list_schema, on_secrets);
}

void handle_secret_list(struct conn *conn)
{
	ask(conn, MSG_SOURCE_LIST, &msg_source_list_schema, on_sources);
}
