#include "gateway/warden/reload.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "gateway/warden/leave.h"

/* ---- what only a restart changes ---- */

/* Parts of two configurations, as they go to the processes. */
static bool same_parts(const struct gateway_config *a,
		       const struct gateway_config *b)
{
	auto_type(buf_release) struct buf one, other;
	struct err err;

	buf_init(&one, CONFIG_BYTES_MAX);
	buf_init(&other, CONFIG_BYTES_MAX);
	return wire_encode(&gateway_config_schema, a, &one, &err) == 0 &&
	       wire_encode(&gateway_config_schema, b, &other, &err) == 0 &&
	       bytes_equal(buf_view(&one), buf_view(&other));
}

static bool same_servers(const struct gateway_config *a,
			 const struct gateway_config *b)
{
	return same_parts(
		&(struct gateway_config){.dns_servers = a->dns_servers,
					 .dns_servers_count =
						 a->dns_servers_count},
		&(struct gateway_config){.dns_servers = b->dns_servers,
					 .dns_servers_count =
						 b->dns_servers_count});
}

static bool same_listeners(const struct gateway_config *a,
			   const struct gateway_config *b)
{
	return same_parts(
		&(struct gateway_config){.proxy_listeners = a->proxy_listeners,
					 .proxy_listeners_count =
						 a->proxy_listeners_count},
		&(struct gateway_config){.proxy_listeners = b->proxy_listeners,
					 .proxy_listeners_count =
						 b->proxy_listeners_count});
}

static bool same_proxy(const struct gateway_config *a,
		       const struct gateway_config *b)
{
	return same_parts(&(struct gateway_config){.proxy = a->proxy},
			  &(struct gateway_config){.proxy = b->proxy});
}

/* Those of sources whose tokens are bought. */
static size_t bought_of(const struct gateway_config *config,
			struct config_source bought[SOURCES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < config->sources_count; i++)
		if (source_is_bought(&config->sources[i]))
			bought[count++] = config->sources[i];
	return count;
}

static bool same_bought(const struct gateway_config *a,
			const struct gateway_config *b)
{
	static struct config_source one[SOURCES_MAX], other[SOURCES_MAX];

	return same_parts(
		&(struct gateway_config){.sources = one,
					 .sources_count = bought_of(a, one)},
		&(struct gateway_config){.sources = other,
					 .sources_count = bought_of(b, other)});
}

static bool same_hosts(const struct gateway_config *a,
		       const struct gateway_config *b)
{
	return bytes_equal(a->dns_hosts, b->dns_hosts);
}

static bool same_exports(const struct gateway_config *a,
			 const struct gateway_config *b)
{
	return same_parts(
		&(struct gateway_config){.audit_exports = a->audit_exports,
					 .audit_exports_count =
						 a->audit_exports_count},
		&(struct gateway_config){.audit_exports = b->audit_exports,
					 .audit_exports_count =
						 b->audit_exports_count});
}

static bool same_sources(const struct gateway_config *a,
			 const struct gateway_config *b)
{
	return same_parts(
		&(struct gateway_config){.sources = a->sources,
					 .sources_count = a->sources_count},
		&(struct gateway_config){.sources = b->sources,
					 .sources_count = b->sources_count});
}

struct difference {
	const char *name;
	bool is_same;
};

/* "tls, audit.retain" */
static void list_names(const struct difference *rows, size_t count, char *names,
		       size_t size)
{
	size_t len = 0;

	names[0] = '\0';
	for (size_t i = 0; i < count && len < size; i++)
		if (!rows[i].is_same)
			len += (size_t)snprintf(names + len, size - len, "%s%s",
						len ? ", " : "", rows[i].name);
}

void reload_fixed(const struct warden_config *old,
		  const struct warden_config *next,
		  char names[RELOAD_NAMES_MAX])
{
	const struct gateway_config *a = &old->gateway, *b = &next->gateway;
	const struct difference rows[] = {
		{"state", !strcmp(old->state, next->state)},
		{"run", !strcmp(old->run, next->run)},
		{"listen.proxy", same_listeners(a, b)},
		{"upstream_proxy", same_proxy(a, b)},
		{"dns.servers", same_servers(a, b)},
		{"secrets that are bought (oauth2, github_app)",
		 same_bought(a, b)},
		{"limits.sessions (more than at the start)",
		 next->sessions_max <= a->sessions_max},
	};

	list_names(rows, ARRAY_SIZE(rows), names, RELOAD_NAMES_MAX);
}

void reload_taken(const struct warden_config *old,
		  const struct warden_config *next, char names[RELOAD_TEXT_MAX])
{
	const struct gateway_config *a = &old->gateway, *b = &next->gateway;
	const struct difference rows[] = {
		{"guardrail", bytes_equal(a->guardrail, b->guardrail)},
		{"dns.hosts", same_hosts(a, b)},
		{"tls", !gateway_config_tls_differs(a, b)},
		{"secrets", same_sources(a, b)},
		{"limits.sessions", old->sessions_max == next->sessions_max},
		{"limits.connections",
		 a->connections_max == b->connections_max},
		{"audit.retain", a->audit_retain_ms == b->audit_retain_ms},
		{"audit.export", same_exports(a, b)},
	};

	list_names(rows, ARRAY_SIZE(rows), names, RELOAD_TEXT_MAX);
}

/* ---- all of it ---- */

/* Who lives for one thing alone has begun it with what held then. */
static bool is_told(const struct child *child)
{
	return child->rpc && child->role != ROLE_PACKCHECK &&
	       child->role != ROLE_SCRIPT && child->role != ROLE_FRAMER;
}

static void tell(struct warden *warden)
{
	const struct wire_empty empty = {0};
	struct child *child;
	struct err err;

	DL_FOREACH(warden->children, child)
	{
		if (!is_told(child) ||
		    rpc_tell(child->rpc, MSG_CONFIG, &wire_empty_schema, &empty,
			     warden->config_fd, &err) == 0)
			continue;
		/* It begins anew with the new one. */
		log_error("%s could not be told of a configuration: %s",
			  role_name(child->role), err.text);
		if (child->pid)
			(void)kill(child->pid, SIGKILL);
	}
}

int warden_reload(struct warden *warden, struct warden_config *next,
		  struct err *err)
{
	static unsigned reloads;
	char names[RELOAD_NAMES_MAX];
	struct warden_config old = warden->config;
	int sealed;

	if (reloads == RELOADS_MAX)
		return err_set(err, ERR_TOO_LARGE,
			       "%d reloads are enough: restart it",
			       RELOADS_MAX);
	reload_fixed(&old, next, names);
	if (names[0])
		return err_set(err, ERR_INVALID, "only a restart changes: %s",
			       names);
	/* Processes have as many descriptors as the start's needed. */
	next->gateway.sessions_max = old.gateway.sessions_max;
	sealed = warden_config_seal(next, err);
	if (sealed < 0)
		return -1;
	if (leave_config(&warden->options, next, err) < 0) {
		(void)close(sealed);
		return -1;
	}
	reloads++;
	(void)close(warden->config_fd);
	warden->config_fd = sealed;
	warden->config = *next;
	*next = old;
	warden->config.before = next;
	tell(warden);
	return 0;
}
