#include "sandbox-host/daemon/configure.h"

#include <stdio.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "sandbox-host/daemon/config_dump.h"
#include "sandbox-host/daemon/daemon.h"
#include "sandbox-host/daemon/missing.h"
#include "sandbox-host/daemon/pool.h"
#include "sandbox-host/daemon/ready.h"
#include "sandbox-host/daemon/spare.h"

#define TEXT_MAX (1024 * 1024)

static int read_file(struct host_config *config, const char *path,
		     struct buf *report, struct err *err)
{
	auto_type(buf_release) struct buf text;
	struct policy_errors errors = {.out = report, .file = path};

	buf_init(&text, TEXT_MAX);
	if (file_read_path(path, &text, err) < 0)
		return -1;
	if (host_config_read(config, buf_view(&text), &errors) &&
	    host_config_read_policies(config, buf_view(&text), &errors))
		return 0;
	return err_set(err, ERR_INVALID, "%s has %zu error%s", path,
		       errors.count, errors.count == 1 ? "" : "s");
}

int configure_load(struct host_options *options, struct host_config *config,
		   struct buf *report, struct err *err)
{
	const struct text_place *place;

	if (host_config_defaults(config, err) < 0)
		return -1;
	/* When it is gone later what it said must not go with it. */
	if (!options->file && access(options->fallback, R_OK) == 0)
		options->file = options->fallback;
	if (options->file && read_file(config, options->file, report, err) < 0)
		return -1;
	if (options->run) {
		config->run = options->run;
		config->from[HOST_KEY_RUN] = (struct text_place){"--run", 0};
	}
	place = &config->from[HOST_KEY_TLS];
	return serve_tls_check(&config->api, err) < 0
		       ? err_prefix(err, "%s:%u: tls", place->where,
				    place->line)
		       : 0;
}

static void log_missing(const char *text)
{
	log_warn("%s", text);
}

/* ---- again ---- */

/* From here on nothing can fail. next is what was before, then. */
static void swap(struct daemon *daemon, struct host_config *next, int sealed)
{
	struct host_config old = daemon->config;
	bool rebuilds = configure_rebuilds(&old, next);

	daemon->config = *next;
	*next = old;
	if (sealed >= 0)
		serve_api_tell(daemon, sealed);
	spare_begin_anew(daemon);
	if (!rebuilds)
		return;
	ready_begin_anew(daemon);
	pool_begin_anew(daemon);
}

static int try_again(struct daemon *daemon, struct host_config *next,
		     struct configured *configured)
{
	char fixed[CONFIGURE_NAMES_MAX];
	struct err *err = &configured->err;
	auto_fd int sealed = -1;

	if (configure_load(&daemon->options, next, &configured->report, err) <
	    0)
		return -1;
	configure_fixed(&daemon->config, next, fixed);
	if (fixed[0])
		return err_set(err, ERR_INVALID, "only a restart changes: %s",
			       fixed);
	if (next->api.listen_count > 0) {
		sealed = serve_api_seal(daemon, next, err);
		if (sealed < 0)
			return -1;
	}
	configure_taken(&daemon->config, next, configured->taken);
	swap(daemon, next, sealed);
	return 0;
}

void configure_again(struct daemon *daemon, struct configured *configured)
{
	struct host_config next;

	*configured = (struct configured){0};
	buf_init(&configured->report, HOST_REPORT_MAX);
	/* Whatever becomes of the file: a certificate ends by itself. */
	serve_tls_renew(daemon);
	configured->holds = try_again(daemon, &next, configured) == 0;
	host_config_release(&next);
	if (configured->holds) {
		missing_tell(&daemon->config, log_missing);
		log_info("the configuration was read again, and holds%s%s",
			 configured->taken[0] ? "; changed: " : "",
			 configured->taken);
		return;
	}
	(void)fprintf(stderr, "%.*s",
		      BYTES_ARGS(buf_view(&configured->report)));
	log_error("the configuration is not taken, and nothing changes: %s",
		  configured->err.text);
}

void configured_release(struct configured *configured)
{
	buf_release(&configured->report);
}

/* ---- questions ---- */

/* False: refused. Who asks from outside has no part in it. */
static bool is_ours(const struct asker *asker, struct rpc_ticket ticket)
{
	if (asker != asker->daemon->api.asker)
		return true;
	rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
		   "the configuration is not the API's");
	return false;
}

void answer_config(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct asker *asker = owner;
	const struct wire_empty empty = {0};
	auto_type(buf_release) struct buf text = {0};
	auto_fd int sealed = -1;
	struct err err;

	(void)message;
	(void)fd;
	if (!is_ours(asker, ticket))
		return;
	buf_init(&text, CONFIG_DUMP_MAX);
	if (config_dump(&asker->daemon->config, &text) < 0)
		(void)err_set(&err, ERR_TOO_LARGE, "it is too long");
	else
		sealed = wire_memfd_seal("host.yaml", buf_view(&text), &err);
	if (sealed < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &wire_empty_schema, &empty, sealed);
}

void answer_reload(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	const struct asker *asker = owner;
	struct configured configured;
	struct host_reloaded reloaded;

	(void)message;
	(void)fd;
	if (!is_ours(asker, ticket))
		return;
	configure_again(asker->daemon, &configured);
	reloaded = (struct host_reloaded){
		.holds = configured.holds,
		.taken = bytes_str(configured.holds ? configured.taken : ""),
		.why = bytes_str(configured.holds ? "" : configured.err.text),
		.errors = buf_view(&configured.report),
	};
	rpc_reply(ticket, &host_reloaded_schema, &reloaded, -1);
	configured_release(&configured);
}
