/*
 * sallyport image and snapshot: what the service's sandboxes are made from.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/host.h"
#include "common/cleanup.h"
#include "common/clock.h"

static int print(struct cli *cli, json_t *value,
		 void (*table)(const json_t *value))
{
	int code = value ? cli_print(cli, value, table)
			 : cli_fail(EXIT_FAILED, "no memory");

	json_decref(value);
	return code;
}

/* Ask for something that is answered with nothing. */
static int ask_empty(struct cli *cli, uint16_t type,
		     const struct wire_schema *schema, const void *message)
{
	const struct host_call call = {
		.type = type,
		.schema = schema,
		.message = message,
		.fd = -1,
		.reply = &wire_empty_schema,
	};

	(void)cli;
	return host_once(&call);
}

/* ---- images ---- */

static json_t *image_json(const struct host_image *image)
{
	return json_pack("{s:o, s:o, s:o, s:b, s:s}", "name",
			 host_text_json(image->name), "source",
			 host_text_json(image->source), "digest",
			 host_text_json(image->digest), "available",
			 image->is_there, "mode",
			 image->is_read_only ? "read" : "write");
}

static void image_row(const json_t *image)
{
	(void)printf("%-20s %-9s %-71s %s\n", json_text(image, "name"),
		     json_is_true(json_object_get(image, "available"))
			     ? "available"
			     : "-",
		     json_text(image, "digest")[0] ? json_text(image, "digest")
						   : "-",
		     json_text(image, "source"));
}

static void images_table(const json_t *value)
{
	size_t index;
	json_t *item;

	(void)printf("%-20s %-9s %-71s %s\n", "NAME", "STORE", "DIGEST",
		     "SOURCE");
	json_array_foreach(json_object_get(value, "images"), index, item)
		image_row(item);
}

static void keep_images(const void *message, int *fd, void *owner)
{
	const struct host_images *images = message;
	json_t *list = json_array();

	(void)fd;
	for (size_t i = 0; i < images->images_count; i++)
		(void)json_array_append_new(list,
					    image_json(&images->images[i]));
	*(json_t **)owner = json_pack("{s:o}", "images", list);
}

int cmd_image_list(struct cli *cli)
{
	const struct wire_empty empty = {0};
	json_t *value = NULL;
	const struct host_call call = {
		.type = MSG_HOST_IMAGES,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply = &host_images_schema,
		.take = keep_images,
		.owner = &value,
	};
	int code;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	code = host_once(&call);
	return code == EXIT_OK ? print(cli, value, images_table) : code;
}

static void keep_image(const void *message, int *fd, void *owner)
{
	(void)fd;
	*(json_t **)owner = image_json(message);
}

static void digest_table(const json_t *value)
{
	(void)puts(json_text(value, "digest"));
}

int cmd_image_pull(struct cli *cli)
{
	struct host_name name;
	json_t *value = NULL;
	const struct host_call call = {
		.waits_for = "the image",
		.type = MSG_HOST_IMAGE_PULL,
		.schema = &host_name_schema,
		.message = &name,
		.fd = -1,
		.reply = &host_image_schema,
		.take = keep_image,
		.owner = &value,
	};
	int code;

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	name.name = bytes_str(cli->argv[optind]);
	code = host_once(&call);
	return code == EXIT_OK ? print(cli, value, digest_table) : code;
}

int cmd_image_rm(struct cli *cli)
{
	struct host_name name;

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	name.name = bytes_str(cli->argv[optind]);
	return ask_empty(cli, MSG_HOST_IMAGE_REMOVE, &host_name_schema, &name);
}

/* ---- snapshots ---- */

static json_t *snapshot_json(const struct host_snapshot *snapshot)
{
	char time[CLOCK_TEXT_SIZE];

	clock_format(snapshot->created_ms, time);
	return json_pack(
		"{s:o, s:o, s:o, s:s, s:o, s:s, s:I, s:o}", "id",
		host_text_json(snapshot->id), "name",
		host_text_json(snapshot->name), "sandbox",
		host_text_json(snapshot->sandbox), "state",
		snapshot_state_name((enum snapshot_state)snapshot->state),
		"message", host_text_json(snapshot->message), "created", time,
		"bytes", (json_int_t)snapshot->bytes, "image",
		host_text_json(snapshot->image));
}

static void keep_snapshot(const void *message, int *fd, void *owner)
{
	(void)fd;
	*(json_t **)owner = snapshot_json(message);
}

static void id_table(const json_t *value)
{
	(void)puts(json_text(value, "id"));
}

int cmd_sandbox_snapshot(struct cli *cli)
{
	static const struct option table[] = {
		{"name", required_argument, NULL, 'n'},
		{NULL, 0, NULL, 0},
	};
	struct host_snapshot_request request = {.waits = true};
	json_t *value = NULL;
	const struct host_call call = {
		.waits_for = "the snapshot",
		.type = MSG_HOST_SNAPSHOT,
		.schema = &host_snapshot_request_schema,
		.message = &request,
		.fd = -1,
		.reply = &host_snapshot_schema,
		.take = keep_snapshot,
		.owner = &value,
	};
	int option, code;

	while ((option = getopt_long(cli->argc, cli->argv, "", table, NULL)) !=
	       -1) {
		if (option != 'n')
			return cli_usage(cli);
		request.name = bytes_str(optarg);
	}
	if (arguments_count(cli, 1, 1) < 0)
		return cli_usage(cli);
	request.id = bytes_str(cli->argv[optind]);
	code = host_once(&call);
	return code == EXIT_OK ? print(cli, value, id_table) : code;
}

struct listing {
	json_t *list;
	uint32_t taken, total;
};

static void keep_list(const void *message, int *fd, void *owner)
{
	const struct host_snapshots *part = message;
	struct listing *listing = owner;

	(void)fd;
	listing->total = part->total;
	listing->taken += (uint32_t)part->snapshots_count;
	for (size_t i = 0; i < part->snapshots_count; i++)
		(void)json_array_append_new(listing->list,
					    snapshot_json(&part->snapshots[i]));
}

static void snapshot_row(const json_t *item)
{
	auto_free char *message = strdup(json_text(item, "message"));

	if (message)
		cli_clean(message);
	(void)printf(
		"%-31s %-9s %-16s %-25s %12lld %-29s %s\n",
		json_text(item, "id"), json_text(item, "state"),
		json_text(item, "name"), json_text(item, "created"),
		(long long)json_integer_value(json_object_get(item, "bytes")),
		json_text(item, "sandbox"), message ? message : "");
}

static void snapshots_table(const json_t *value)
{
	size_t index;
	json_t *item;

	(void)printf("%-31s %-9s %-16s %-25s %12s %-29s %s\n", "ID", "STATE",
		     "NAME", "CREATED", "BYTES", "SANDBOX", "WHY");
	json_array_foreach(json_object_get(value, "snapshots"), index, item)
		snapshot_row(item);
}

int cmd_snapshot_list(struct cli *cli)
{
	struct host_page page = {.limit = HOST_LIST_MAX};
	struct listing listing = {.list = json_array()};
	const struct host_call call = {
		.type = MSG_HOST_SNAPSHOTS,
		.schema = &host_page_schema,
		.message = &page,
		.fd = -1,
		.reply = &host_snapshots_schema,
		.take = keep_list,
		.owner = &listing,
	};
	int code = arguments_words(cli, 0, 0) < 0 ? cli_usage(cli) : EXIT_OK;

	while (code == EXIT_OK) {
		page.skip = listing.taken;
		code = host_once(&call);
		if (listing.taken == page.skip ||
		    listing.taken >= listing.total)
			break;
	}
	if (code == EXIT_OK)
		return print(cli, json_pack("{s:o}", "snapshots", listing.list),
			     snapshots_table);
	json_decref(listing.list);
	return code;
}

int cmd_snapshot_rm(struct cli *cli)
{
	struct host_ref ref;

	if (arguments_words(cli, 1, 1) < 0)
		return cli_usage(cli);
	ref.id = bytes_str(cli->argv[optind]);
	return ask_empty(cli, MSG_HOST_SNAPSHOT_REMOVE, &host_ref_schema, &ref);
}
