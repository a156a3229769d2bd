#include "gateway/dialer/dial.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/dialer/own.h"
#include "gateway/dialer/proxy.h"
#include "gateway/flow/share.h"
#include "policies/host.h"

struct dial {
	struct dialer *dialer;
	struct dial_client *client;
	struct rpc_ticket ticket;
	struct resolve_waiter waiter;
	struct connecting *connecting;
	struct rpc *courier; /* that was asked; NULL: none */
	uint32_t asked;
	bool is_proxied;
	bool is_ours; /* the operator's endpoint: of no session */
	struct dial *next, *prev;
	uint16_t port;
	char session[SESSION_ID_MAX + 1];
	char host[HOST_NAME_MAX_LEN + 1];
};

/* ---- answers ---- */

static __attribute__((format(printf, 4, 5))) void
refuse(const struct dialer *dialer, struct rpc_ticket ticket,
       enum constraint constraint, const char *format, ...)
{
	char detail[DIAL_DETAIL_MAX];
	const struct dial_outcome outcome = {
		.constraint = constraint, .detail = detail, .fd = -1};
	va_list args;

	va_start(args, format);
	(void)vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	dialer->answer(ticket, &outcome);
}

/* Out of every list; what it waited for is given up. */
static void dial_free(struct dial *dial)
{
	resolver_cancel(&dial->waiter);
	if (dial->connecting)
		connect_cancel(dial->connecting);
	if (dial->courier)
		rpc_cancel(dial->courier, dial->asked);
	DL_DELETE(dial->client->dials, dial);
	dial->client->count--;
	dial->dialer->count--;
	free(dial);
}

/* ---- by the proxy ---- */

static void on_tunnel(struct rpc_outcome *outcome, void *owner)
{
	struct dial *dial = owner;
	struct dial_outcome done = {.detail = "", .fd = outcome->fd};

	dial->courier = NULL;
	if (outcome->err) {
		refuse(dial->dialer, dial->ticket,
		       outcome->refusal
			       ? (enum constraint)outcome->refusal->code
			       : CONSTRAINT_proxy_failed,
		       "%.*s",
		       BYTES_ARGS(outcome->refusal
					  ? outcome->refusal->detail
					  : bytes_str(outcome->err->text)));
	} else {
		(void)snprintf(done.address, sizeof(done.address), "proxy");
		dial->dialer->answer(dial->ticket, &done);
	}
	dial_free(dial);
}

/* The proxy is connected: let the courier ask it for the target. */
static void ask_courier(struct dial *dial, int fd)
{
	struct rpc *courier =
		dial->dialer->courier(dial->dialer->courier_owner);
	const struct msg_proxy_connect message = {
		.session = bytes_str(dial->session),
		.host = bytes_str(dial->host),
		.port = dial->port,
	};
	const struct rpc_call call = {
		.type = MSG_PROXY_CONNECT,
		.schema = &msg_proxy_connect_schema,
		.message = &message,
		.fd = fd,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = DIAL_PROXY_MS,
		.on_outcome = on_tunnel,
		.owner = dial,
	};
	struct err err;

	if (courier && rpc_ask(courier, &call, &dial->asked, &err) == 0) {
		dial->courier = courier;
		return;
	}
	refuse(dial->dialer, dial->ticket, CONSTRAINT_internal,
	       "the courier is not there");
	dial_free(dial);
}

/* ---- connecting ---- */

static void refuse_proxy(struct dial *dial, const char *why)
{
	const struct config_proxy *proxy = dial->dialer->proxy;

	refuse(dial->dialer, dial->ticket, CONSTRAINT_proxy_failed,
	       "the proxy %.*s:%u, for %s:%u: %s", BYTES_ARGS(proxy->host),
	       proxy->port, dial->host, dial->port, why);
	dial_free(dial);
}

static void on_proxy_connected(struct dial *dial, struct connected *connected)
{
	if (connected->fd >= 0)
		ask_courier(dial, connected->fd);
	else
		refuse_proxy(dial, connected->is_late
					   ? "it did not answer in time"
					   : strerror(connected->error));
}

/* The session's policy may have been replaced since it was chosen. */
static bool may_still(const struct dial *dial, const union address *address)
{
	const struct session *session =
		session_find(dial->dialer->sessions, bytes_str(dial->session));

	return !session ||
	       address_may_be_dialled(session_scope(session), address);
}

static void on_connected(struct connected *connected, void *owner)
{
	struct dial *dial = owner;
	struct dial_outcome outcome = {.constraint = CONSTRAINT_none,
				       .detail = "",
				       .fd = connected->fd};
	char address[ADDRESS_TEXT_SIZE];

	dial->connecting = NULL;
	if (dial->is_proxied) {
		on_proxy_connected(dial, connected);
		return;
	}
	address_format(connected->address, address);
	if (connected->fd >= 0 && !may_still(dial, connected->address)) {
		refuse(dial->dialer, dial->ticket, CONSTRAINT_address_forbidden,
		       "the address %s may not be dialled any more", address);
	} else if (connected->fd >= 0) {
		memcpy(outcome.address, address, sizeof(address));
		dial->dialer->answer(dial->ticket, &outcome);
	} else if (connected->is_late) {
		refuse(dial->dialer, dial->ticket, CONSTRAINT_connect_timeout,
		       "%s (%s) port %u did not answer in %u s", dial->host,
		       address, dial->port, CONNECT_TOTAL_MS / 1000);
	} else {
		/* Only a connection that was there is reset (connect(2) has
		 * ECONNREFUSED for the others). */
		refuse(dial->dialer, dial->ticket,
		       connected->error == ECONNRESET
			       ? CONSTRAINT_upstream_closed
			       : CONSTRAINT_connect_failed,
		       "%s (%s) port %u: %s", dial->host, address, dial->port,
		       strerror(connected->error));
	}
	dial_free(dial);
}

/* The first of that family from *at on that may be dialled, or NULL. Without
 * a scope, what the operator's configuration names, every address may. */
static const union address *next_allowed(const struct scope *scope,
					 const struct resolved *resolved,
					 sa_family_t family, size_t *at)
{
	while (*at < resolved->count) {
		const union address *address = &resolved->addresses[(*at)++];

		if (address->any.sa_family == family &&
		    (!scope || address_may_be_dialled(scope, address)))
			return address;
	}
	return NULL;
}

/* At most CONNECT_ADDRESSES_MAX, the families in turn, IPv6 first (RFC 8305
 * section 4). Returns how many. */
static size_t choose(const struct scope *scope, const struct resolved *resolved,
		     uint16_t port, union address chosen[CONNECT_ADDRESSES_MAX])
{
	static const sa_family_t families[] = {AF_INET6, AF_INET};
	size_t at[ARRAY_SIZE(families)] = {0};
	size_t count = 0, before;

	do {
		before = count;
		for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
			const union address *address = next_allowed(
				scope, resolved, families[i], &at[i]);

			if (!address || count == CONNECT_ADDRESSES_MAX)
				continue;
			chosen[count] = *address;
			address_set_port(&chosen[count++], port);
		}
	} while (count > before);
	return count;
}

static void refuse_addresses(struct dial *dial, const struct resolved *resolved)
{
	char address[ADDRESS_TEXT_SIZE];

	address_format(&resolved->addresses[0], address);
	if (strcmp(address, dial->host) == 0)
		refuse(dial->dialer, dial->ticket, CONSTRAINT_address_forbidden,
		       "the address %s may not be dialled", address);
	else
		refuse(dial->dialer, dial->ticket, CONSTRAINT_address_forbidden,
		       "%s resolves to %s, which may not be dialled",
		       dial->host, address);
}

/* Go on with the addresses; the dial may be gone afterwards. */
static void on_addresses(struct dial *dial, const struct resolved *resolved)
{
	union address chosen[CONNECT_ADDRESSES_MAX];
	const struct session *session =
		session_find(dial->dialer->sessions, bytes_str(dial->session));
	size_t count;

	if (!session && !dial->is_ours) {
		refuse(dial->dialer, dial->ticket, CONSTRAINT_session_revoked,
		       "the session is gone");
		dial_free(dial);
		return;
	}
	count = dial->is_proxied
			? choose(NULL, resolved, dial->dialer->proxy->port,
				 chosen)
			: choose(session ? session_scope(session) : NULL,
				 resolved, dial->port, chosen);
	if (count == 0) {
		refuse_addresses(dial, resolved);
		dial_free(dial);
		return;
	}
	dial->connecting = connect_begin(dial->dialer->loop, chosen, count,
					 on_connected, dial);
	if (!dial->connecting) {
		refuse(dial->dialer, dial->ticket, CONSTRAINT_internal,
		       "no memory");
		dial_free(dial);
	}
}

/* ---- resolving ---- */

static void refuse_name(struct dial *dial, const char *why)
{
	if (dial->is_proxied) {
		refuse_proxy(dial, why);
		return;
	}
	refuse(dial->dialer, dial->ticket, CONSTRAINT_dns_failed,
	       "%s did not resolve: %s", dial->host, why);
	dial_free(dial);
}

static void on_resolved(const struct resolved *resolved, const char *why,
			void *owner)
{
	struct dial *dial = owner;

	if (resolved)
		on_addresses(dial, resolved);
	else
		refuse_name(dial, why);
}

static void find_addresses(struct dial *dial, struct bytes host,
			   enum host_kind kind)
{
	struct resolved resolved = {.count = 1};
	struct err err;

	if (kind != HOST_NAME) {
		if (address_parse(host, &resolved.addresses[0]))
			on_addresses(dial, &resolved);
		else
			refuse_name(dial, "it is not an address");
		return;
	}
	switch (resolver_ask(dial->dialer->resolver, host, &dial->waiter,
			     &resolved, &err)) {
	case 1:
		on_addresses(dial, &resolved);
		break;
	case 0:
		break;
	default:
		refuse_name(dial, err.text);
	}
}

/* ---- by the proxy, or past it ---- */

static void find_proxy(struct dial *dial)
{
	const struct config_proxy *proxy = dial->dialer->proxy;
	char canonical[HOST_NAME_MAX_LEN + 1];

	dial->is_proxied = true;
	find_addresses(dial, proxy->host,
		       host_canonical(proxy->host, canonical));
}

/* May this literal be asked for? Of a name the proxy alone knows. */
static bool is_literal_forbidden(const struct dial *dial,
				 const struct session *session,
				 struct resolved *literal)
{
	literal->count = 1;
	return address_parse(bytes_str(dial->host), &literal->addresses[0]) &&
	       !address_may_be_dialled(session_scope(session),
				       &literal->addresses[0]);
}

static void find_way(struct dial *dial, const struct session *session,
		     enum host_kind kind)
{
	struct resolved literal = {.count = 0};

	if (!proxy_serves(dial->dialer->proxy, bytes_str(dial->host), kind)) {
		find_addresses(dial, bytes_str(dial->host), kind);
	} else if (session && kind != HOST_NAME &&
		   is_literal_forbidden(dial, session, &literal)) {
		refuse_addresses(dial, &literal);
		dial_free(dial);
	} else {
		find_proxy(dial);
	}
}

/* ---- the request ---- */

/* May it be asked at all? CONSTRAINT_none, and the kind of host. */
static enum constraint check(const struct session *session,
			     const struct msg_dial *wanted,
			     enum host_kind *kind)
{
	char canonical[HOST_NAME_MAX_LEN + 1];

	if (!session)
		return CONSTRAINT_session_revoked;
	if (session_is_expired(session, clock_wall_ms()))
		return CONSTRAINT_lease_expired;
	*kind = host_canonical(wanted->host, canonical);
	if (*kind == HOST_INVALID || !bytes_is(wanted->host, canonical) ||
	    wanted->port == 0)
		return CONSTRAINT_request_malformed;
	if (scope_allows_target(session_scope(session), wanted->host,
				wanted->port))
		return CONSTRAINT_none;
	return scope_allows_name(session_scope(session), wanted->host)
		       ? CONSTRAINT_port_not_allowed
		       : CONSTRAINT_host_not_allowed;
}

static struct dial *dial_new(struct dialer *dialer, struct dial_client *client,
			     const struct session *session,
			     const struct msg_dial *wanted)
{
	struct dial *dial = calloc(1, sizeof(*dial));

	if (!dial)
		return NULL;
	dial->dialer = dialer;
	dial->client = client;
	dial->waiter.fn = on_resolved;
	dial->waiter.owner = dial;
	dial->port = wanted->port;
	if (session)
		memcpy(dial->session, session->id, sizeof(dial->session));
	dial->is_ours = !session;
	memcpy(dial->host, wanted->host.data, wanted->host.len);
	DL_APPEND(client->dials, dial);
	client->count++;
	dialer->count++;
	return dial;
}

void dialer_dial(struct dialer *dialer, struct dial_client *client,
		 struct bytes session_id, const struct msg_dial *wanted,
		 struct rpc_ticket ticket)
{
	const struct session *session =
		session_find(dialer->sessions, session_id);
	enum host_kind kind = HOST_INVALID;
	enum constraint constraint = check(session, wanted, &kind);
	struct dial *dial;

	if (constraint == CONSTRAINT_none &&
	    !share_has_room(client->count, DIALS_OF_CLIENT_MAX, dialer->count,
			    DIALS_MAX))
		constraint = CONSTRAINT_limit_connections;
	if (constraint != CONSTRAINT_none) {
		refuse(dialer, ticket, constraint, "%.*s port %u: %s",
		       BYTES_ARGS(wanted->host), wanted->port,
		       constraint_text(constraint));
		return;
	}
	dial = dial_new(dialer, client, session, wanted);
	if (!dial) {
		refuse(dialer, ticket, CONSTRAINT_internal, "no memory");
		return;
	}
	dial->ticket = ticket;
	find_way(dial, session, kind);
}

void dialer_dial_source(struct dialer *dialer, struct dial_client *client,
			const struct config_source *source,
			struct rpc_ticket ticket)
{
	const struct msg_dial wanted = {source->host, source->port};
	char canonical[HOST_NAME_MAX_LEN + 1];
	struct dial *dial = NULL;

	if (share_has_room(client->count, DIALS_OF_CLIENT_MAX, dialer->count,
			   DIALS_MAX))
		dial = dial_new(dialer, client, NULL, &wanted);
	if (!dial) {
		refuse(dialer, ticket, CONSTRAINT_limit_connections, "%.*s: %s",
		       BYTES_ARGS(source->host),
		       constraint_text(CONSTRAINT_limit_connections));
		return;
	}
	dial->ticket = ticket;
	find_way(dial, NULL, host_canonical(source->host, canonical));
}

void dialer_cancel(struct dialer *dialer, struct dial_client *client,
		   enum constraint constraint)
{
	while (client->dials) {
		refuse(dialer, client->dials->ticket, constraint, "%s",
		       constraint_text(constraint));
		dial_free(client->dials);
	}
}

void dialer_review(struct dialer *dialer, struct dial_client *client,
		   const struct session *session)
{
	struct dial *dial, *next;

	DL_FOREACH_SAFE(client->dials, dial, next)
	{
		if (scope_allows_target(session_scope(session),
					bytes_str(dial->host), dial->port))
			continue;
		refuse(dialer, dial->ticket, CONSTRAINT_host_not_allowed,
		       "%s port %u: %s", dial->host, dial->port,
		       constraint_text(CONSTRAINT_host_not_allowed));
		dial_free(dial);
	}
}
