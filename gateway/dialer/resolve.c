/* What found no room has no hh.tbl then. */
#define HASH_NONFATAL_OOM 1

#include "gateway/dialer/resolve.h"

#include <ares.h>
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "gateway/dialer/fixed.h"
#include "gateway/dialer/lookup.h"
#include "gateway/dialer/servers.h"
#include "policies/host.h"

/* The cases of uthash's function fall through on purpose. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"

enum name_state {
	NAME_ASKED, /* DNS is working on it */
	NAME_LATE,  /* given up, but c-ares still works on it */
	NAME_OVER,  /* given up, and c-ares is done with it */
	NAME_KNOWN,
	NAME_FAILED
};

/* A name that is asked for, or known. */
struct name {
	struct resolver *resolver;
	enum name_state state;
	bool is_in_ask;	   /* c-ares answers inside our own call */
	bool is_telling;   /* waiters are being called */
	unsigned pending;  /* questions that c-ares works on */
	unsigned ttl_s;	   /* of the addresses so far */
	uint64_t until_ms; /* asked: deadline; known: end of its life */
	struct resolve_waiter *waiters;
	struct name *next, *prev; /* of those asked, oldest first */
	char why[128];
	struct resolved resolved;
	UT_hash_handle hh;
	char text[HOST_NAME_MAX_LEN + 2]; /* with a dot at its end */
};

/* A socket of c-ares. */
struct socket_watch {
	int fd;
	struct io_watch *watch;
	struct socket_watch *next;
};

struct resolver {
	struct io_loop *loop;
	ares_channel channel;
	struct io_timer *timer;
	struct socket_watch *sockets;
	struct fixed_names fixed;
	struct name *names; /* hash: asked or known, oldest first */
	struct name *asked; /* list: waited for, also in names */
	size_t late_count;
	size_t pending; /* questions that c-ares works on */
	bool is_closing;
};

/* ---- names ---- */

static struct name *find_name(struct name *table, struct bytes text)
{
	struct name *name;

	HASH_FIND(hh, table, text.data, text.len, name);
	return name;
}

static struct name *name_new(struct resolver *resolver, struct bytes text)
{
	struct name *name;

	if (text.len == 0 || text.len > HOST_NAME_MAX_LEN)
		return NULL;
	name = calloc(1, sizeof(*name));
	if (!name)
		return NULL;
	name->resolver = resolver;
	memcpy(name->text, text.data, text.len);
	name->text[text.len] = '.';
	return name;
}

/* The name as it was asked for: without its dot. */
static struct bytes name_text(const struct name *name)
{
	return bytes_from(name->text, strlen(name->text) - 1);
}

static bool remember(struct name **table, struct name *name)
{
	struct name *head = *table;

	HASH_ADD_KEYPTR(hh, head, name->text, name_text(name).len, name);
	*table = head;
	return name->hh.tbl;
}

/* What c-ares still works on is freed with its last answer. */
static void forget(struct resolver *resolver, struct name *name)
{
	HASH_DEL(resolver->names, name);
	if (name->pending == 0) {
		free(name);
		return;
	}
	name->state = NAME_LATE;
	resolver->late_count++;
}

/* ---- c-ares on our loop ---- */

static void arm_timer(struct resolver *resolver)
{
	struct timeval bound = {.tv_sec = 1}, wait;
	uint64_t now = io_loop_now_ms(resolver->loop);
	const struct name *name;
	uint64_t due;

	if (resolver->pending == 0) {
		io_timer_set(resolver->timer, 0);
		return;
	}
	wait = *ares_timeout(resolver->channel, &bound, &wait);
	due = now + (uint64_t)wait.tv_sec * 1000 +
	      (uint64_t)wait.tv_usec / 1000 + 1;
	DL_FOREACH(resolver->asked, name)
	if (name->until_ms < due)
		due = name->until_ms;
	io_timer_set(resolver->timer, due > now ? (unsigned)(due - now) : 1);
}

static void on_socket(int fd, bool readable, bool writable, void *owner)
{
	struct resolver *resolver = owner;

	ares_process_fd(resolver->channel, readable ? fd : ARES_SOCKET_BAD,
			writable ? fd : ARES_SOCKET_BAD);
	arm_timer(resolver);
}

static struct socket_watch *watch_socket(struct resolver *resolver, int fd)
{
	struct socket_watch *socket = calloc(1, sizeof(*socket));

	if (!socket)
		return NULL;
	socket->fd = fd;
	socket->watch = io_watch_new(resolver->loop, fd, on_socket, resolver);
	if (!socket->watch) {
		free(socket);
		return NULL;
	}
	LL_PREPEND(resolver->sockets, socket);
	return socket;
}

static void on_socket_state(void *owner, ares_socket_t fd, int readable,
			    int writable)
{
	struct resolver *resolver = owner;
	struct socket_watch *socket;

	LL_SEARCH_SCALAR(resolver->sockets, socket, fd, fd);
	if (!readable && !writable) {
		if (!socket)
			return;
		LL_DELETE(resolver->sockets, socket);
		io_watch_free(socket->watch);
		free(socket);
		return;
	}
	/* Without memory for a watch the question times out. */
	if (!socket)
		socket = watch_socket(resolver, fd);
	if (socket)
		io_watch_set(socket->watch, readable, writable);
}

/* ---- answers ---- */

static void tell_waiters(struct name *name)
{
	const struct resolved copy = name->resolved;
	bool is_known = name->state == NAME_KNOWN;

	name->is_telling = true;
	while (name->waiters) {
		struct resolve_waiter *waiter = name->waiters;

		resolver_cancel(waiter);
		waiter->fn(is_known ? &copy : NULL, name->why, waiter->owner);
	}
	name->is_telling = false;
}

static void take_addresses(struct name *name,
			   const struct lookup_answer *answer)
{
	for (size_t i = 0; i < answer->resolved.count; i++)
		resolved_add(&name->resolved, &answer->resolved.addresses[i]);
	if (answer->ttl_s < (int)name->ttl_s)
		name->ttl_s = answer->ttl_s < RESOLVE_TTL_MIN_S
				      ? RESOLVE_TTL_MIN_S
				      : (unsigned)answer->ttl_s;
}

static void set_answer(struct name *name, const struct lookup_answer *answer)
{
	take_addresses(name, answer);
	/* What one family's failure says counts when there is no other. */
	if (answer->status != ARES_ENODATA || name->why[0] == '\0')
		(void)snprintf(name->why, sizeof(name->why), "%s",
			       answer->status == ARES_SUCCESS
				       ? "it has no address"
				       : ares_strerror(answer->status));
}

/* Nobody has to wait any longer; tells nobody. */
static void settle(struct name *name)
{
	DL_DELETE(name->resolver->asked, name);
	name->state = name->resolved.count > 0 ? NAME_KNOWN : NAME_FAILED;
	name->until_ms =
		io_loop_now_ms(name->resolver->loop) + name->ttl_s * 1000ull;
}

static void settle_and_tell(struct name *name)
{
	struct resolver *resolver = name->resolver;

	settle(name);
	if (name->is_in_ask || resolver->is_closing)
		return;
	tell_waiters(name);
	if (name->state == NAME_FAILED)
		forget(resolver, name);
}

/* One family is there: the other is waited for a moment longer (RFC 8305
 * section 3), for IPv4 a longer one, since it is what IPv6 falls back to. */
static void hurry(struct name *name, int family)
{
	uint64_t until = io_loop_now_ms(name->resolver->loop) +
			 (family == AF_INET ? RESOLVE_WAIT_IPV6_MS
					    : RESOLVE_WAIT_IPV4_MS);

	if (until < name->until_ms)
		name->until_ms = until;
}

static void end_late(struct name *name)
{
	if (name->pending > 0)
		return;
	name->resolver->late_count--;
	name->state = NAME_OVER;
	if (!name->is_telling)
		free(name);
}

static void take_answer(struct name *name, int family,
			const struct lookup_answer *answer)
{
	name->pending--;
	name->resolver->pending--;
	if (name->state == NAME_LATE) {
		end_late(name);
	} else if (name->state == NAME_KNOWN) {
		/* For whoever asks next; its end of life stays. */
		take_addresses(name, answer);
	} else {
		set_answer(name, answer);
		if (name->pending == 0)
			settle_and_tell(name);
		else if (name->resolved.count > 0)
			hurry(name, family);
	}
}

static void on_ipv4(void *owner, const struct lookup_answer *answer)
{
	take_answer(owner, AF_INET, answer);
}

static void on_ipv6(void *owner, const struct lookup_answer *answer)
{
	take_answer(owner, AF_INET6, answer);
}

/* A question took too long: what is there must do. */
static void give_up(struct resolver *resolver, struct name *name)
{
	if (name->resolved.count > 0) {
		settle_and_tell(name);
		return;
	}
	DL_DELETE(resolver->asked, name);
	HASH_DEL(resolver->names, name);
	name->state = NAME_LATE;
	resolver->late_count++;
	(void)snprintf(name->why, sizeof(name->why), "no answer in time");
	tell_waiters(name);
	if (name->state == NAME_OVER)
		free(name);
}

/* The first that is asked for and whose time is over, or NULL. */
static struct name *first_due(const struct resolver *resolver)
{
	uint64_t now = io_loop_now_ms(resolver->loop);
	struct name *name;

	DL_FOREACH(resolver->asked, name)
	if (name->until_ms <= now)
		return name;
	return NULL;
}

static void on_timer(void *owner)
{
	struct resolver *resolver = owner;
	struct name *name;

	ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	while ((name = first_due(resolver)))
		give_up(resolver, name);
	arm_timer(resolver);
}

/* ---- asking ---- */

/* Room for one more name: the oldest that is known goes. */
static int make_room(struct resolver *resolver, struct err *err)
{
	struct name *name, *next;

	if (HASH_COUNT(resolver->names) + resolver->late_count <
	    RESOLVE_NAMES_MAX)
		return 0;
	HASH_ITER (hh, resolver->names, name, next) {
		if (name->state == NAME_KNOWN && !name->is_telling) {
			forget(resolver, name);
			return 0;
		}
	}
	return err_set(err, ERR_TOO_LARGE,
		       "resolve: too many names are being asked for");
}

static void join(struct name *name, struct resolve_waiter *waiter)
{
	waiter->name = name;
	DL_APPEND(name->waiters, waiter);
}

/* Both families in parallel, each with its own answer: a server that keeps
 * silent about one holds the other back no longer than hurry() says. */
static void ask_both(struct resolver *resolver, struct name *name)
{
	name->pending = 2;
	resolver->pending += 2;
	name->is_in_ask = true;
	lookup_ask(resolver->channel, name->text, AF_INET6, on_ipv6, name);
	lookup_ask(resolver->channel, name->text, AF_INET, on_ipv4, name);
	name->is_in_ask = false;
}

static int ask_dns(struct resolver *resolver, struct bytes text,
		   struct resolve_waiter *waiter, struct resolved *resolved,
		   struct err *err)
{
	struct name *name;

	if (make_room(resolver, err) < 0)
		return -1;
	name = name_new(resolver, text);
	if (!name)
		return err_set(err, ERR_SYSTEM, "resolve: no memory");
	name->until_ms = io_loop_now_ms(resolver->loop) + RESOLVE_TOTAL_MS;
	if (!remember(&resolver->names, name)) {
		free(name);
		return err_set(err, ERR_SYSTEM, "resolve: no memory");
	}
	DL_APPEND(resolver->asked, name);
	name->ttl_s = RESOLVE_TTL_MAX_S;
	ask_both(resolver, name);
	arm_timer(resolver);
	if (name->state == NAME_ASKED) {
		join(name, waiter);
		return 0;
	}
	if (name->state == NAME_KNOWN) {
		*resolved = name->resolved;
		return 1;
	}
	(void)err_set(err, ERR_MISSING, "%s", name->why);
	forget(resolver, name);
	return -1;
}

int resolver_ask(struct resolver *resolver, struct bytes text,
		 struct resolve_waiter *waiter, struct resolved *resolved,
		 struct err *err)
{
	struct name *name;

	waiter->name = NULL;
	if (fixed_find(&resolver->fixed, text, resolved))
		return 1;
	if (resolved_is_localhost(text)) {
		resolved_localhost(resolved);
		return 1;
	}
	name = find_name(resolver->names, text);
	if (name && name->state == NAME_ASKED) {
		join(name, waiter);
		return 0;
	}
	if (name && name->state == NAME_KNOWN &&
	    (name->is_telling ||
	     name->until_ms > io_loop_now_ms(resolver->loop))) {
		*resolved = name->resolved;
		return 1;
	}
	if (name && name->is_telling)
		return err_set(err, ERR_MISSING, "%s", name->why);
	if (name)
		forget(resolver, name);
	return ask_dns(resolver, text, waiter, resolved, err);
}

void resolver_cancel(struct resolve_waiter *waiter)
{
	if (!waiter->name)
		return;
	DL_DELETE(waiter->name->waiters, waiter);
	waiter->name = NULL;
}

/* ---- beginning and end ---- */

int resolver_fix(struct resolver *resolver, const struct gateway_config *config,
		 struct err *err)
{
	struct fixed_names fixed;

	if (fixed_read(&fixed, config, err) < 0)
		return -1;
	fixed_release(&resolver->fixed);
	resolver->fixed = fixed;
	return 0;
}

static int open_channel(struct resolver *resolver, struct err *err)
{
	char lookups[] = "b"; /* DNS alone */
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
			 ARES_FLAG_EDNS,
		.timeout = RESOLVE_TRY_MS,
		.tries = RESOLVE_TRIES,
		.lookups = lookups,
		.ednspsz = 1232,
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = resolver,
	};
	int wanted = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
		     ARES_OPT_LOOKUPS | ARES_OPT_EDNSPSZ | ARES_OPT_DOMAINS |
		     ARES_OPT_SOCK_STATE_CB;
	int status;

#ifdef ARES_OPT_QUERY_CACHE
	/* The cache is ours: it has a floor and is bounded. */
	wanted |= ARES_OPT_QUERY_CACHE;
#endif
	status = ares_init_options(&resolver->channel, &options, wanted);
	if (status == ARES_SUCCESS)
		return 0;
	resolver->channel = NULL;
	return err_set(err, ERR_LIBRARY, "begin to resolve: %s",
		       ares_strerror(status));
}

static int set_up(struct resolver *resolver,
		  const struct gateway_config *config, struct err *err)
{
	auto_type(buf_release) struct buf servers;

	buf_init(&servers, SERVERS_TEXT_MAX);
	resolver->timer = io_timer_new(resolver->loop, on_timer, resolver);
	if (!resolver->timer)
		return err_set(err, ERR_SYSTEM, "begin to resolve: no memory");
	if (open_channel(resolver, err) < 0)
		return -1;
	if (config->dns_servers_count > 0 &&
	    (servers_write(config, &servers, err) < 0 ||
	     ares_set_servers_ports_csv(resolver->channel, buf_str(&servers))))
		return err_set(err, ERR_INVALID,
			       "read dns.servers: not as they must be");
	return resolver_fix(resolver, config, err);
}

struct resolver *resolver_new(struct io_loop *loop,
			      const struct gateway_config *config,
			      struct err *err)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver || ares_library_init(ARES_LIB_INIT_ALL)) {
		free(resolver);
		(void)err_set(err, ERR_SYSTEM, "begin to resolve: no memory");
		return NULL;
	}
	resolver->loop = loop;
	if (set_up(resolver, config, err) == 0)
		return resolver;
	resolver_free(resolver);
	return NULL;
}

static void free_names(struct name *table)
{
	struct name *name, *next;

	HASH_ITER (hh, table, name, next) {
		HASH_DEL(table, name);
		free(name);
	}
}

void resolver_free(struct resolver *resolver)
{
	resolver->is_closing = true;
	if (resolver->channel)
		ares_destroy(resolver->channel);
	if (resolver->timer)
		io_timer_free(resolver->timer);
	free_names(resolver->names);
	fixed_release(&resolver->fixed);
	free(resolver);
	ares_library_cleanup();
}
