/*
 * sallyport sandbox: what the service's sandboxes are asked for.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "policies/remedy.h"

#define WAIT_MS	      30000
#define TIMEOUT_MAX_S (10ull * 365 * 24 * 3600)

/* ---- showing ---- */

static void keep(const void *message, int *fd, void *owner)
{
	(void)fd;
	*(json_t **)owner = host_sandbox_json(message);
}

static void head(void)
{
	(void)printf("%-29s %-16s %-11s %-25s %s\n", "ID", "NAME", "STATE",
		     "EXPIRES", "WHY");
}

static void row(const json_t *sandbox)
{
	const char *expires = json_text(sandbox, "expires");
	const json_t *code = json_object_get(sandbox, "exit_code");

	(void)printf("%-29s %-16s %-11s %-25s %s", json_text(sandbox, "id"),
		     json_text(sandbox, "name"), json_text(sandbox, "state"),
		     expires[0] ? expires : "never",
		     json_text(sandbox, "reason"));
	if (code)
		(void)printf(" (%lld)", (long long)json_integer_value(code));
	(void)putchar('\n');
}

/* Why, in words: of one alone there is room for all of them. */
static void sandbox_table(const json_t *value)
{
	auto_free char *message = strdup(json_text(value, "message"));
	char *rest = message, *line;

	head();
	row(value);
	while ((line = strsep(&rest, "\n"))) {
		cli_clean(line);
		if (line[0])
			(void)puts(line);
	}
}

static void sandboxes_table(const json_t *value)
{
	size_t index;
	json_t *item;

	head();
	json_array_foreach(json_object_get(value, "sandboxes"), index, item)
		row(item);
}

static int print(struct cli *cli, json_t *value,
		 void (*table)(const json_t *value))
{
	int code = value ? cli_print(cli, value, table)
			 : cli_fail(EXIT_FAILED, "no memory");

	json_decref(value);
	return code;
}

/* Ask for something that answers with what the sandbox is then. */
static int ask_sandbox(struct cli *cli, uint16_t type,
		       const struct wire_schema *schema, const void *message,
		       bool is_shown)
{
	json_t *value = NULL;
	const struct host_call call = {
		.type = type,
		.schema = schema,
		.message = message,
		.fd = -1,
		.reply = &host_sandbox_schema,
		.take = keep,
		.owner = &value,
	};
	int code = host_once(&call);

	if (code == EXIT_OK && (is_shown || cli->json))
		return print(cli, value, sandbox_table);
	json_decref(value);
	return code;
}

static int ask_ref(struct cli *cli, uint16_t type, bool is_shown)
{
	struct host_ref ref;

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	ref.id = bytes_str(cli->argv[optind]);
	return ask_sandbox(cli, type, &host_ref_schema, &ref, is_shown);
}

int cmd_sandbox_show(struct cli *cli)
{
	return ask_ref(cli, MSG_HOST_SHOW, true);
}

int cmd_sandbox_kill(struct cli *cli)
{
	return ask_ref(cli, MSG_HOST_KILL, false);
}

int cmd_sandbox_pause(struct cli *cli)
{
	return ask_ref(cli, MSG_HOST_PAUSE, false);
}

int cmd_sandbox_resume(struct cli *cli)
{
	return ask_ref(cli, MSG_HOST_RESUME, false);
}

/* ---- list ---- */

struct listing {
	json_t *list;
	uint32_t taken, total;
};

static void keep_list(const void *message, int *fd, void *owner)
{
	const struct host_list *part = message;
	struct listing *listing = owner;

	(void)fd;
	listing->total = part->total;
	listing->taken += (uint32_t)part->sandboxes_count;
	for (size_t i = 0; i < part->sandboxes_count; i++)
		(void)json_array_append_new(
			listing->list, host_sandbox_json(&part->sandboxes[i]));
}

/* --state STATE, as often as wanted. */
static int parse_list(struct cli *cli, struct host_query *query)
{
	static const struct option table[] = {
		{"state", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	enum host_state state;
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 's' ||
		    host_state_find(bytes_str(optarg), &state) < 0)
			return -1;
		query->states |= 1u << state;
	}
	return arguments_count(cli, 0, 0);
}

int cmd_sandbox_list(struct cli *cli)
{
	struct host_query query = {.limit = HOST_LIST_MAX};
	struct listing listing = {.list = json_array()};
	const struct host_call call = {
		.type = MSG_HOST_LIST,
		.schema = &host_query_schema,
		.message = &query,
		.fd = -1,
		.reply = &host_list_schema,
		.take = keep_list,
		.owner = &listing,
	};
	struct host host;
	struct err err;
	int code;

	if (parse_list(cli, &query) < 0) {
		json_decref(listing.list);
		return cli_usage(cli);
	}
	code = host_open(&host, &err) < 0 ? cli_fail_err(&err) : EXIT_OK;
	while (code == EXIT_OK) {
		query.skip = listing.taken;
		code = host_ask(&host, &call);
		if (listing.taken == query.skip ||
		    listing.taken >= listing.total)
			break;
	}
	host_close(&host);
	if (code == EXIT_OK)
		return print(cli, json_pack("{s:o}", "sandboxes", listing.list),
			     sandboxes_table);
	json_decref(listing.list);
	return code;
}

/* ---- renew ---- */

static int parse_timeout(uint64_t *expires_ms)
{
	uint64_t seconds;

	if (arguments_seconds("--timeout",
			      (struct time_range){0, TIMEOUT_MAX_S},
			      &seconds) < 0)
		return -1;
	*expires_ms = seconds ? clock_wall_ms() + seconds * 1000 : 0;
	return 0;
}

int cmd_sandbox_renew(struct cli *cli)
{
	static const struct option table[] = {
		{"timeout", required_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	struct host_renew renew = {0};
	bool has_time = false;
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 't' || parse_timeout(&renew.expires_ms) < 0)
			return cli_usage(cli);
		has_time = true;
	}
	if (!has_time)
		(void)cli_wrong(cli, "--timeout TIME is missing");
	if (!has_time || arguments_count(cli, 1, 1) < 0)
		return cli_usage(cli);
	renew.id = bytes_str(cli->argv[optind]);
	return ask_sandbox(cli, MSG_HOST_RENEW, &host_renew_schema, &renew,
			   true);
}

/* ---- port ---- */

static void keep_address(const void *message, int *fd, void *owner)
{
	const struct host_address *address = message;

	(void)fd;
	*(json_t **)owner =
		json_pack("{s:o}", "address", host_text_json(address->address));
}

static int ask_port(const struct host_call *call, struct bytes id)
{
	struct host host;
	struct err err;
	int code;

	if (host_open(&host, &err) < 0)
		code = cli_fail_err(&err);
	else
		code = host_ask_running(&host, call, id);
	host_close(&host);
	return code;
}

static void address_table(const json_t *value)
{
	(void)puts(json_text(value, "address"));
}

int cmd_sandbox_port(struct cli *cli)
{
	struct host_port port = {0};
	json_t *value = NULL;
	const struct host_call call = {
		.type = MSG_HOST_PORT,
		.schema = &host_port_schema,
		.message = &port,
		.fd = -1,
		.reply = &host_address_schema,
		.take = keep_address,
		.owner = &value,
	};
	uint64_t number;
	int code;

	if (arguments_words(cli, 2, 2) < 0)
		return cli_usage(cli);
	if (bytes_to_u64(bytes_str(cli->argv[optind + 1]), 5, &number) < 0 ||
	    number == 0 || number > UINT16_MAX) {
		(void)cli_wrong(cli, "'%s' is no port: 1 to %d",
				cli->argv[optind + 1], UINT16_MAX);
		return cli_usage(cli);
	}
	port.id = bytes_str(cli->argv[optind]);
	port.port = (uint16_t)number;
	code = ask_port(&call, port.id);
	return code == EXIT_OK ? print(cli, value, address_table) : code;
}

/* ---- events and logs ---- */

struct reading {
	struct cli *cli;
	uint64_t after;
	bool has_more, has_ended;
	size_t count;
};

static void show_event(struct cli *cli, const struct host_event *event)
{
	char time[CLOCK_TEXT_SIZE], line[HOST_EVENT_MAX + 1];
	json_t *object;
	char *text;

	clock_format(event->time_ms, time);
	(void)snprintf(line, sizeof(line), "%.*s", BYTES_ARGS(event->text));
	cli_clean(line);
	if (!cli->json) {
		(void)printf("%s %-12.*s %s\n", time, BYTES_ARGS(event->kind),
			     line);
		return;
	}
	object = json_pack(
		"{s:I, s:s, s:o, s:o, s:o, s:s}", "sequence",
		(json_int_t)event->sequence, "time", time, "kind",
		host_text_json(event->kind), "text",
		host_text_json(bytes_str(line)), "rule",
		host_text_json(event->rule), "try",
		remedy_of(constraint_from_name(event->kind), event->rule));
	text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS)
		      : NULL;
	if (text)
		cli_print_row(cli, object, bytes_str(text));
	free(text);
	json_decref(object);
}

static void take_events(const void *message, int *fd, void *owner)
{
	const struct host_events *events = message;
	struct reading *reading = owner;

	(void)fd;
	for (size_t i = 0; i < events->events_count; i++) {
		show_event(reading->cli, &events->events[i]);
		reading->after = events->events[i].sequence;
	}
	reading->has_more = events->more;
	reading->count = events->events_count;
}

static void take_log(const void *message, int *fd, void *owner)
{
	const struct host_log *log = message;
	struct reading *reading = owner;

	(void)fd;
	(void)fwrite(log->text.data, 1, log->text.len, stdout);
	reading->after = log->start + log->text.len;
	reading->has_more = log->text.len > 0;
	reading->has_ended = log->has_ended;
	reading->count = log->text.len;
}

static void keep_state(const void *message, int *fd, void *owner)
{
	const struct host_sandbox *sandbox = message;

	(void)fd;
	*(bool *)owner = sandbox->state == HOST_TERMINATED ||
			 sandbox->state == HOST_FAILED;
}

/* Is the sandbox over, so that nothing more will come? */
static bool is_over(struct host *host, struct bytes id)
{
	const struct host_ref ref = {.id = id};
	bool over = true;
	const struct host_call call = {
		.type = MSG_HOST_SHOW,
		.schema = &host_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply = &host_sandbox_schema,
		.take = keep_state,
		.owner = &over,
	};

	return host_ask(host, &call) != EXIT_OK || over;
}

static int read_all(struct reading *reading, struct host_call *call,
		    struct host_after *after, bool follows)
{
	struct host host;
	struct err err;
	int code;

	if (host_open(&host, &err) < 0) {
		host_close(&host);
		return cli_fail_err(&err);
	}
	do {
		after->after = reading->after;
		code = host_ask(&host, call);
		if (!cli_flush())
			break;
		if (code != EXIT_OK || reading->has_more)
			continue;
		if (!follows || reading->has_ended ||
		    (call->type == MSG_HOST_EVENTS && reading->count == 0 &&
		     is_over(&host, after->id)))
			break;
	} while (code == EXIT_OK);
	host_close(&host);
	return code;
}

static int follow(struct cli *cli, struct host_call *call)
{
	static const struct option table[] = {
		{"follow", no_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	struct reading reading = {.cli = cli};
	struct host_after after = {0};
	bool follows = false;
	int option;

	while ((option = getopt_long(cli->argc, cli->argv, "f", table, NULL)) !=
	       -1) {
		if (option != 'f')
			return cli_usage(cli);
		follows = true;
	}
	if (arguments_count(cli, 1, 1) < 0)
		return cli_usage(cli);
	after.id = bytes_str(cli->argv[optind]);
	after.wait_ms = follows ? WAIT_MS : 0;
	call->schema = &host_after_schema;
	call->message = &after;
	call->fd = -1;
	call->owner = &reading;
	return read_all(&reading, call, &after, follows);
}

int cmd_sandbox_events(struct cli *cli)
{
	struct host_call call = {.type = MSG_HOST_EVENTS,
				 .reply = &host_events_schema,
				 .take = take_events};

	return follow(cli, &call);
}

int cmd_sandbox_logs(struct cli *cli)
{
	struct host_call call = {.type = MSG_HOST_LOGS,
				 .reply = &host_log_schema,
				 .take = take_log};

	return follow(cli, &call);
}
