#include "gateway/warden/configure.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/config_dump.h"
#include "gateway/warden/export.h"
#include "gateway/warden/leave.h"
#include "gateway/warden/reload.h"
#include "gateway/warden/source.h"

#define IDLE_MS 2000

static void take_options(const struct config_options *options,
			 struct warden_config *config)
{
	if (options->state) {
		config->state = options->state;
		config->from[CONFIG_STATE] = (struct text_place){"--state", 0};
	}
	if (options->run) {
		config->run = options->run;
		config->from[CONFIG_RUN] = (struct text_place){"--run", 0};
	}
	config->exit_when_idle = options->exit_when_idle;
	config->idle_ms = IDLE_MS;
}

int configure_load(struct config_options *options, struct warden_config *config,
		   struct buf *report, struct err *err)
{
	if (warden_config_defaults(config, err) < 0)
		return -1;
	/* When it is gone later its rules must not go with it. */
	if (!options->file && access(options->fallback, R_OK) == 0)
		options->file = options->fallback;
	if (options->file &&
	    warden_config_read(config, options->file, report, err) < 0)
		return -1;
	take_options(options, config);
	if (warden_config_finish(config, err) < 0)
		return -1;
	if (leave_check(config, err) < 0)
		return options->file ? err_prefix(err, "%s", options->file)
				     : -1;
	return 0;
}

static void missing_exports(const struct warden_config *config,
			    void (*tell)(const char *text))
{
	const struct gateway_config *gateway = &config->gateway;

	for (size_t i = 0; i < gateway->audit_exports_count; i++) {
		char text[ERR_TEXT_MAX + 256];
		struct err err;

		if (warden_export_check(gateway->audit_exports[i].path,
					config->state, &err) == 0)
			continue;
		(void)snprintf(text, sizeof(text),
			       "audit.export: %s: nothing is written there "
			       "until this is mended",
			       err.text);
		tell(text);
	}
}

void configure_missing(const struct warden_config *config,
		       void (*tell)(const char *text))
{
	const struct gateway_config *gateway = &config->gateway;

	for (size_t i = 0; i < gateway->sources_count; i++) {
		const struct config_source *source = &gateway->sources[i];
		char text[ERR_TEXT_MAX + 256];
		struct err err;

		if (warden_source_check(source, &err) == 0)
			continue;
		(void)snprintf(text, sizeof(text),
			       "secrets.%.*s: %s: requests with it are refused "
			       "until this is mended",
			       BYTES_ARGS(source->name), err.text);
		tell(text);
	}
	missing_exports(config, tell);
}

static void log_missing(const char *text)
{
	log_warn("%s", text);
}

/* ---- again ---- */

/* NULL: it does not hold. */
static struct warden_config *try_again(struct warden *warden,
				       struct configured *configured)
{
	struct warden_config *next = calloc(1, sizeof(*next));

	if (!next) {
		(void)err_set(&configured->err, ERR_SYSTEM, "no memory");
		return NULL;
	}
	if (configure_load(&warden->options, next, &configured->report,
			   &configured->err) == 0) {
		reload_taken(&warden->config, next, configured->taken);
		if (warden_reload(warden, next, &configured->err) == 0)
			return next;
	}
	warden_config_release(next);
	free(next);
	return NULL;
}

void configure_again(struct warden *warden, struct configured *configured)
{
	char detail[96];

	*configured = (struct configured){0};
	buf_init(&configured->report, RELOAD_ERRORS_MAX);
	configured->holds = try_again(warden, configured) != NULL;
	if (configured->holds) {
		log_info("the configuration was read again, and holds");
		configure_missing(&warden->config, log_missing);
		warden_record(warden, RECORD_PROCESS, NULL,
			      "configuration reloaded");
		return;
	}
	(void)fprintf(stderr, "%.*s",
		      BYTES_ARGS(buf_view(&configured->report)));
	log_error("the configuration stays as it was: %s",
		  configured->err.text);
	(void)snprintf(detail, sizeof(detail),
		       "configuration not reloaded: %.60s",
		       configured->err.text);
	warden_record(warden, RECORD_PROCESS, NULL, detail);
}

void configured_release(struct configured *configured)
{
	buf_release(&configured->report);
}

/* ---- control's questions ---- */

void configure_answer_reload(struct warden *warden, struct rpc_ticket ticket)
{
	struct configured configured;
	struct msg_config_reloaded reloaded;

	configure_again(warden, &configured);
	reloaded = (struct msg_config_reloaded){
		.holds = configured.holds,
		.taken = bytes_str(configured.holds ? configured.taken : ""),
		.why = bytes_str(configured.holds ? "" : configured.err.text),
		.errors = buf_view(&configured.report),
	};
	rpc_reply(ticket, &msg_config_reloaded_schema, &reloaded, -1);
	configured_release(&configured);
}

void configure_answer_show(struct warden *warden, struct rpc_ticket ticket)
{
	const struct wire_empty empty = {0};
	auto_type(buf_release) struct buf text;
	auto_fd int fd = -1;
	struct err err;

	buf_init(&text, CONFIG_DUMP_MAX);
	if (config_dump(&warden->config, &text) == 0)
		fd = wire_memfd_seal("sallyport-dump", buf_view(&text), &err);
	if (fd < 0)
		rpc_refuse(ticket, CONSTRAINT_resource_limit, "no memory");
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, fd);
}
