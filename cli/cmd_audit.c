#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/control.h"
#include "common/cleanup.h"
#include "sandbox-host/session/client.h"

#define ROWS_DEFAULT 20
#define ROWS_MAX     10000
#define PAGE_ROWS    64	  /* what the ledger gives at once */
#define PAGES_MAX    1500 /* a page of the longest rows has seven */
#define PATH_BYTES   1024
#define ROW_BYTES    4096

struct audit_options {
	unsigned count;
	const char *session;
	const char *kind;
	bool denied;
	bool follow;
};

/* Ids and kinds go into a path as they are. */
static bool is_plain(const char *text)
{
	return text[0] &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-._") ==
		       strlen(text);
}

/* 0, with words left at cli->argv[optind], or -1. */
static int parse(struct cli *cli, struct audit_options *options, int words)
{
	static const struct option table[] = {
		{"count", required_argument, NULL, 'n'},
		{"session", required_argument, NULL, 's'},
		{"kind", required_argument, NULL, 'k'},
		{"denied", no_argument, NULL, 'd'},
		{"follow", no_argument, NULL, 'f'},
		{NULL, 0, NULL, 0},
	};
	int option;
	char *end;

	while ((option = getopt_long(cli->argc, cli->argv, "n:f", table,
				     NULL)) != -1) {
		switch (option) {
		case 'n':
			options->count = (unsigned)strtoul(optarg, &end, 10);
			if (*end || options->count == 0 ||
			    options->count > ROWS_MAX)
				return -1;
			break;
		case 's':
			options->session = optarg;
			if (!is_plain(optarg))
				return -1;
			break;
		case 'k':
			options->kind = optarg;
			if (!is_plain(optarg))
				return -1;
			break;
		case 'd':
			options->denied = true;
			break;
		case 'f':
			options->follow = true;
			break;
		default:
			return -1;
		}
	}
	return arguments_count(cli, words, words);
}

/* Of commands that look at all rows, once. 0, or -1. */
static int check_whole(const struct cli *cli,
		       const struct audit_options *options)
{
	return options->count || options->follow
		       ? cli_wrong(cli, "there is no --count and no --follow "
					"here")
		       : 0;
}

/* ---- one row for people ---- */

static void print_row(const json_t *row)
{
	const char *method = json_text(row, "method");
	const char *rule = json_text(row, "rule");
	const char *reason = json_text(row, "constraint");
	const char *detail = json_text(row, "detail");
	const char *ended = json_text(row, "ended");
	const char *path = json_text(row, "path");
	const char *gap = path[0] && path[0] != '/' ? " " : ""; /* a ref */
	json_int_t port = json_integer_value(json_object_get(row, "port"));
	json_int_t status = json_integer_value(json_object_get(row, "status"));
	char line[ROW_BYTES], number[24] = "", answer[24] = "";

	if (port)
		(void)snprintf(number, sizeof(number), ":%" JSON_INTEGER_FORMAT,
			       port);
	if (status)
		(void)snprintf(answer, sizeof(answer), " %" JSON_INTEGER_FORMAT,
			       status);
	if (!strcmp(reason, "none"))
		reason = "";
	(void)snprintf(line, sizeof(line),
		       "%-24s %-5s %-15s %s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s",
		       json_text(row, "time"),
		       json_is_false(json_object_get(row, "allowed")) ? "deny"
								      : "allow",
		       json_text(row, "activity"), method, method[0] ? " " : "",
		       json_text(row, "host"), number, gap, path,
		       rule[0] ? " [" : "", rule, rule[0] ? "]" : "", answer,
		       ended[0] ? " ended " : "", ended, reason[0] ? " " : "",
		       reason, detail[0] ? ": " : "", detail);
	cli_clean(line);
	(void)puts(line);
}

/* Who shows rows, and what of them. */
struct tail {
	const struct cli *cli;
	const char *kind; /* NULL: all; the stream knows no kinds */
	json_int_t last;  /* number of the last row that was seen */
};

/* A decision's row may hold the outcome too. */
static bool is_of_kind(const json_t *row, const char *kind)
{
	return !strcmp(json_text(row, "activity"), kind) ||
	       (!strcmp(kind, "response") && *json_text(row, "ended"));
}

static bool show_line(struct bytes line, void *owner)
{
	struct tail *tail = owner;
	json_t *row;

	if (line.len == 0)
		return true;
	row = json_loadb((const char *)line.data, line.len, 0, NULL);
	if (!row)
		return true;
	tail->last = json_integer_value(json_object_get(row, "sequence"));
	if (tail->kind && !is_of_kind(row, tail->kind))
		;
	else if (tail->cli->json)
		cli_print_row(tail->cli, row, line);
	else
		print_row(row);
	json_decref(row);
	return cli_flush();
}

static void show_lines(struct tail *tail, struct bytes body)
{
	struct bytes line;

	while (body.len > 0) {
		(void)bytes_split(&body, '\n', &line);
		(void)show_line(line, tail);
	}
}

/* The newest `limit` rows, of those before a number when it is not 0. */
struct page {
	unsigned limit;
	uint64_t before;
};

static int format_path(char path[PATH_BYTES],
		       const struct audit_options *options,
		       const struct page *page)
{
	char before[40] = "";
	int len;

	if (page->before)
		(void)snprintf(before, sizeof(before), "&before=%" PRIu64,
			       page->before);
	len = snprintf(path, PATH_BYTES,
		       "/v1/audit?limit=%u&newest=1%s%s%s%s%s%s", page->limit,
		       before, options->session ? "&session=" : "",
		       options->session ? options->session : "",
		       options->kind ? "&kind=" : "",
		       options->kind ? options->kind : "",
		       options->denied ? "&denied=1" : "");

	return len < 0 || len >= PATH_BYTES ? -1 : 0;
}

/* What is stored from now on, until we are ended. */
static int follow(const struct audit_options *options, struct tail *tail)
{
	char path[PATH_BYTES];
	struct client client;
	struct err err;
	int result;

	(void)snprintf(path, sizeof(path),
		       "/v1/events?after=%" JSON_INTEGER_FORMAT "%s%s%s",
		       tail->last, options->session ? "&session=" : "",
		       options->session ? options->session : "",
		       options->denied ? "&denied=1" : "");
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = control_follow(&client, options->session, path, show_line,
				tail, &err);
	client_close(&client);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

/* The number of the first row of a page, and how many it has. */
static uint64_t look_at(struct bytes body, unsigned *count)
{
	uint64_t first = 0;
	struct bytes line;
	json_t *row;

	*count = 0;
	while (body.len > 0) {
		(void)bytes_split(&body, '\n', &line);
		if (line.len == 0)
			continue;
		if ((*count)++ > 0)
			continue;
		row = json_loadb((const char *)line.data, line.len, 0, NULL);
		first = (uint64_t)json_integer_value(
			json_object_get(row, "sequence"));
		json_decref(row);
	}
	return first;
}

/* From the newest page back to the oldest. Returns how many there are. */
static size_t fetch_pages(const struct audit_options *options,
			  struct reply pages[PAGES_MAX], struct err *err)
{
	char path[PATH_BYTES];
	const struct client_request request = {.method = "GET", .path = path};
	struct page page = {0};
	unsigned left = options->count, got = 0;
	size_t count = 0;

	do {
		page.limit = left < PAGE_ROWS ? left : PAGE_ROWS;
		if (format_path(path, options, &page) < 0)
			err->code = ERR_INVALID;
		if (err->code ||
		    control_once(&request, &pages[count++], err) < 0)
			break;
		page.before = look_at(buf_view(&pages[count - 1].body), &got);
		left -= got < left ? got : left;
	} while (got > 0 && left > 0 && page.before > 1 && count < PAGES_MAX);
	return count;
}

static int show(const struct audit_options *options, struct tail *tail)
{
	auto_free struct reply *pages = calloc(PAGES_MAX, sizeof(*pages));
	struct err err = {0};
	size_t count = pages ? fetch_pages(options, pages, &err) : 0;

	for (size_t i = count; i > 0; i--) {
		if (err.code == ERR_NONE)
			show_lines(tail, buf_view(&pages[i - 1].body));
		reply_release(&pages[i - 1]);
	}
	return err.code == ERR_NONE ? EXIT_OK : cli_fail_err(&err);
}

int cmd_audit_tail(struct cli *cli)
{
	struct audit_options options = {.count = ROWS_DEFAULT};
	struct tail tail = {.cli = cli};
	int result;

	if (parse(cli, &options, 0) < 0)
		return cli_usage(cli);
	tail.kind = options.kind;
	result = show(&options, &tail);
	return result == EXIT_OK && options.follow && cli_flush()
		       ? follow(&options, &tail)
		       : result;
}

int cmd_push_list(struct cli *cli)
{
	struct audit_options options = {.count = ROWS_DEFAULT};
	struct tail tail = {.cli = cli};

	if (parse(cli, &options, 0) < 0)
		return cli_usage(cli);
	options.kind = "push";
	return show(&options, &tail);
}

/* ---- all rows, the oldest first ---- */

static int read_all(const struct audit_options *options, client_line_fn *fn,
		    void *owner)
{
	char path[PATH_BYTES];
	struct client client;
	struct err err;
	int result;

	(void)snprintf(path, sizeof(path), "/v1/audit?after=0%s%s%s%s%s",
		       options->session ? "&session=" : "",
		       options->session ? options->session : "",
		       options->kind ? "&kind=" : "",
		       options->kind ? options->kind : "",
		       options->denied ? "&denied=1" : "");
	if (control_open(&client, &err) < 0)
		return cli_fail_err(&err);
	result = client_follow(&client, path, fn, owner, &err);
	client_close(&client);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

static bool export_line(struct bytes line, void *owner)
{
	(void)owner;
	if (line.len > 0 && fwrite(line.data, 1, line.len, stdout) == line.len)
		(void)putchar('\n');
	return !ferror(stdout) || cli_flush();
}

/* As it is stored: what the hash chain is over. Only YAML is another text. */
int cmd_audit_export(struct cli *cli)
{
	struct audit_options options = {0};
	struct tail tail = {.cli = cli};

	if (parse(cli, &options, 0) < 0 || check_whole(cli, &options) < 0)
		return cli_usage(cli);
	return read_all(&options, cli->yaml ? show_line : export_line, &tail);
}

struct search {
	struct tail tail;
	const char *text;
	size_t found;
};

/* A line without its hashes, whose digits hold many a word. Unescaped, as
 * here, that stands nowhere else in it. */
static size_t len_without_hashes(struct bytes line)
{
	static const char begin[] = ",\"prev\":\"";
	const uint8_t *found =
		memmem(line.data, line.len, begin, sizeof(begin) - 1);

	return found ? (size_t)(found - line.data) : line.len;
}

static bool search_line(struct bytes line, void *owner)
{
	struct search *search = owner;
	auto_free char *copy =
		strndup((const char *)line.data, len_without_hashes(line));

	if (!copy || !strcasestr(copy, search->text))
		return true;
	search->found++;
	return show_line(line, &search->tail);
}

int cmd_audit_search(struct cli *cli)
{
	struct audit_options options = {0};
	struct search search = {.tail.cli = cli};
	int result;

	if (parse(cli, &options, 1) < 0 || check_whole(cli, &options) < 0)
		return cli_usage(cli);
	if (!*cli->argv[optind]) {
		(void)cli_wrong(cli, "the text is empty");
		return cli_usage(cli);
	}
	search.text = cli->argv[optind];
	result = read_all(&options, search_line, &search);
	if (result != EXIT_OK)
		return result;
	return search.found ? EXIT_OK
			    : cli_fail(EXIT_NOT_FOUND,
				       "'%s' stands in no record", search.text);
}

static void verify_table(const json_t *value)
{
	long long rows = json_integer_value(json_object_get(value, "rows"));
	long long first = json_integer_value(json_object_get(value, "first"));

	if (json_is_true(json_object_get(value, "intact")) && first > 1)
		(void)printf("intact: %lld records, from record %lld on\n",
			     rows, first);
	else if (json_is_true(json_object_get(value, "intact")))
		(void)printf("intact: %lld records\n", rows);
	else
		(void)printf("BROKEN at record %lld: %s\n",
			     (long long)json_integer_value(
				     json_object_get(value, "broken_at")),
			     json_text(value, "detail"));
	if (json_text(value, "failing")[0])
		(void)printf("NO RECORD CAN BE STORED %s\n",
			     json_text(value, "failing"));
}

int cmd_audit_verify(struct cli *cli)
{
	static const struct client_request request = {
		.method = "GET", .path = "/v1/audit/verify"};
	auto_type(reply_release) struct reply reply = {0};
	struct err err;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	if (control_once(&request, &reply, &err) < 0)
		return cli_fail_err(&err);
	(void)cli_print(cli, reply.json, verify_table);
	return json_is_true(json_object_get(reply.json, "intact")) &&
			       !json_text(reply.json, "failing")[0]
		       ? EXIT_OK
		       : EXIT_FAILED;
}
