#include "gateway/dialer/lookup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policies/host.h"

/* Versions of c-ares in which something came. */
#define HAS_RECORDS	  (ARES_VERSION >= 0x011600)
#define HAS_QUERY_RECORDS (ARES_VERSION >= 0x011c00)

struct lookup {
	lookup_fn *fn;
	void *owner;
	int family;
	char name[HOST_NAME_MAX_LEN + 2];
};

static void tell(struct lookup *lookup, const struct lookup_answer *answer)
{
	lookup_fn *fn = lookup->fn;
	void *owner = lookup->owner;

	free(lookup);
	fn(owner, answer);
}

static void add(struct lookup_answer *answer, const union address *address,
		int ttl_s)
{
	resolved_add(&answer->resolved, address);
	if (ttl_s < answer->ttl_s)
		answer->ttl_s = ttl_s;
}

#if HAS_RECORDS

static bool is_same_name(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);

	a_len -= a_len > 0 && a[a_len - 1] == '.';
	b_len -= b_len > 0 && b[b_len - 1] == '.';
	return a_len == b_len && strncasecmp(a, b, a_len) == 0;
}

/* The next record of that name and type after *at, or NULL. */
static const ares_dns_rr_t *next_of(ares_dns_record_t *message,
				    const char *name, ares_dns_rec_type_t type,
				    size_t *at)
{
	size_t count = ares_dns_record_rr_cnt(message, ARES_SECTION_ANSWER);

	while (*at < count) {
		const ares_dns_rr_t *record = ares_dns_record_rr_get(
			message, ARES_SECTION_ANSWER, (*at)++);

		if (ares_dns_rr_get_type(record) == type &&
		    ares_dns_rr_get_class(record) == ARES_CLASS_IN &&
		    is_same_name(ares_dns_rr_get_name(record), name))
			return record;
	}
	return NULL;
}

/* Where the aliases of name end; NULL when they do not. */
static const char *follow_aliases(ares_dns_record_t *message, const char *name)
{
	for (size_t i = 0; i <= LOOKUP_ALIASES_MAX; i++) {
		size_t at = 0;
		const ares_dns_rr_t *alias =
			next_of(message, name, ARES_REC_TYPE_CNAME, &at);

		if (!alias)
			return name;
		name = ares_dns_rr_get_str(alias, ARES_RR_CNAME_CNAME);
	}
	return NULL;
}

static void take_record(const ares_dns_rr_t *record, int family,
			struct lookup_answer *answer)
{
	unsigned ttl_s = ares_dns_rr_get_ttl(record);
	union address address = {.any.sa_family = (sa_family_t)family};

	if (family == AF_INET)
		memcpy(&address.v4.sin_addr,
		       ares_dns_rr_get_addr(record, ARES_RR_A_ADDR),
		       sizeof(address.v4.sin_addr));
	else
		memcpy(&address.v6.sin6_addr,
		       ares_dns_rr_get_addr6(record, ARES_RR_AAAA_ADDR),
		       sizeof(address.v6.sin6_addr));
	add(answer, &address, ttl_s > INT_MAX ? INT_MAX : (int)ttl_s);
}

static void take_message(ares_dns_record_t *message, struct lookup *lookup,
			 int status)
{
	struct lookup_answer answer = {.status = status, .ttl_s = INT_MAX};
	ares_dns_rec_type_t type = lookup->family == AF_INET
					   ? ARES_REC_TYPE_A
					   : ARES_REC_TYPE_AAAA;
	const ares_dns_rr_t *record;
	const char *name;
	size_t at = 0;

	if (status == ARES_SUCCESS) {
		name = follow_aliases(message, lookup->name);
		while (name && (record = next_of(message, name, type, &at)))
			take_record(record, lookup->family, &answer);
	}
	tell(lookup, &answer);
}

#endif

#if HAS_QUERY_RECORDS

static void on_answer(void *owner, ares_status_t status, size_t timeouts,
		      const ares_dns_record_t *message)
{
	(void)timeouts;
	/* Nothing writes to it; a const way to read came with 1.28 only. */
	take_message((ares_dns_record_t *)(uintptr_t)message, owner,
		     message || status != ARES_SUCCESS ? (int)status
						       : ARES_EBADRESP);
}

static void ask(ares_channel channel, struct lookup *lookup)
{
	(void)ares_query_dnsrec(channel, lookup->name, ARES_CLASS_IN,
				lookup->family == AF_INET ? ARES_REC_TYPE_A
							  : ARES_REC_TYPE_AAAA,
				on_answer, lookup, NULL);
}

#elif HAS_RECORDS

static void on_answer(void *owner, int status, int timeouts,
		      unsigned char *bytes, int len)
{
	ares_dns_record_t *message = NULL;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = (int)ares_dns_parse(bytes, (size_t)len, 0, &message);
	take_message(message, owner, status);
	ares_dns_record_destroy(message);
}

static void ask(ares_channel channel, struct lookup *lookup)
{
	ares_query(channel, lookup->name, ARES_CLASS_IN,
		   lookup->family == AF_INET ? ARES_REC_TYPE_A
					     : ARES_REC_TYPE_AAAA,
		   on_answer, lookup);
}

#else

static void on_answer(void *owner, int status, int timeouts,
		      struct ares_addrinfo *found)
{
	struct lookup_answer answer = {.status = status, .ttl_s = INT_MAX};
	const struct ares_addrinfo_node *node = found ? found->nodes : NULL;
	struct lookup *lookup = owner;

	(void)timeouts;
	for (; status == ARES_SUCCESS && node; node = node->ai_next) {
		union address address = {0};

		if (node->ai_family != lookup->family)
			continue;
		memcpy(&address, node->ai_addr,
		       node->ai_family == AF_INET ? sizeof(address.v4)
						  : sizeof(address.v6));
		add(&answer, &address, node->ai_ttl);
	}
	ares_freeaddrinfo(found);
	tell(lookup, &answer);
}

static void ask(ares_channel channel, struct lookup *lookup)
{
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = lookup->family,
		.ai_socktype = SOCK_STREAM,
	};

	ares_getaddrinfo(channel, lookup->name, NULL, &hints, on_answer,
			 lookup);
}

#endif

void lookup_ask(ares_channel channel, const char *name, int family,
		lookup_fn *fn, void *owner)
{
	const struct lookup_answer no_memory = {.status = ARES_ENOMEM,
						.ttl_s = INT_MAX};
	struct lookup *lookup = malloc(sizeof(*lookup));

	if (!lookup) {
		fn(owner, &no_memory);
		return;
	}
	*lookup = (struct lookup){.fn = fn, .owner = owner, .family = family};
	(void)snprintf(lookup->name, sizeof(lookup->name), "%s", name);
	ask(channel, lookup);
}
