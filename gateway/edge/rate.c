#include "gateway/edge/rate.h"

#include <stdlib.h>

#include "gateway/decide/name_check.h"
#include "gateway/edge/conn.h"

/* What the other processes bound they bound by the second. */
#define RETRY_AFTER_DEFAULT_S 1
#define MINUTE_MS	      60000

/* ---- of a session ---- */

static void buckets_init(struct rate_buckets *buckets,
			 const struct policy_rate *rate, uint64_t now_ms)
{
	bucket_init(&buckets->requests, rate->requests, now_ms);
	bucket_init(&buckets->upload, rate->upload, now_ms);
	bucket_init(&buckets->download, rate->download, now_ms);
}

static bool has_rate(const struct policy_rate *rate)
{
	return rate->requests.count || rate->upload.count ||
	       rate->download.count;
}

static bool any_has_rate(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rule_count; i++)
		if (has_rate(&policy->rules[i].rate))
			return true;
	return false;
}

int rates_init(struct rates *rates, const struct policy *policy,
	       uint64_t now_ms)
{
	rates->policy = policy;
	buckets_init(&rates->session, &policy->rate, now_ms);
	bucket_init(&rates->mints,
		    (struct policy_quota){policy->network_limits.minted_names,
					  MINUTE_MS},
		    now_ms);
	if (!any_has_rate(policy))
		return 0;
	rates->rules = calloc(policy->rule_count, sizeof(*rates->rules));
	if (!rates->rules)
		return -1;
	for (size_t i = 0; i < policy->rule_count; i++)
		buckets_init(&rates->rules[i], &policy->rules[i].rate, now_ms);
	return 0;
}

static struct rate_buckets *rule_buckets(struct rates *rates,
					 const struct policy_rule *rule)
{
	if (!rule || !rates->rules || rule < rates->policy->rules ||
	    rule >= rates->policy->rules + rates->policy->rule_count)
		return NULL;
	return &rates->rules[rule - rates->policy->rules];
}

/* ---- of a request ---- */

static uint64_t now_of(const struct conn *conn)
{
	return io_loop_now_ms(conn->edge->keeper->loop);
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static int refuse(struct conn *conn, const char *what, uint64_t wait_ms)
{
	conn->rate.retry_ms = wait_ms;
	conn->rate.is_open = false;
	conn_refuse(conn, CONSTRAINT_limit_rate,
		    wait_ms == BUCKET_NEVER
			    ? "this is more than the limit of %s ever allows"
			    : "the limit of %s is used up for now",
		    what);
	return -1;
}

/* At least a byte of each direction must be left: what would be cut at once
 * does not begin. */
static uint64_t wait_to_begin(struct rate_buckets *buckets, uint64_t now,
			      uint64_t upload, const char **what)
{
	uint64_t up = bucket_wait_ms(&buckets->upload, now, upload);
	uint64_t down = bucket_wait_ms(&buckets->download, now, 1);
	uint64_t one = bucket_wait_ms(&buckets->requests, now, 1);
	uint64_t wait = later(one, later(up, down));

	if (wait > 0)
		*what = wait == one ? "requests"
				    : (wait == up ? "upload" : "download");
	return wait;
}

static void take_to_begin(struct rate_buckets *buckets, uint64_t now,
			  uint64_t upload)
{
	bucket_take(&buckets->requests, now, 1);
	bucket_take(&buckets->upload, now, upload);
}

/* Every new name is one more that a resolver outside is asked for: names
 * that no DNS query was made for count like those. */
static int admit_name(struct conn *conn)
{
	struct bytes name = bytes_str(conn->target.host);
	struct dns *dns = &conn->edge->dns;
	struct in_addr ipv4;
	struct in6_addr ipv6;

	if (conn->target.kind != HOST_NAME)
		return 0;
	if (!name_check(conn->edge->policy, name)) {
		conn_refuse(conn, CONSTRAINT_host_not_allowed, "%s",
			    NAME_CHECK_REASON);
		return -1;
	}
	if (dns_admit(dns, name, now_of(conn), &ipv4, &ipv6) == 0)
		return 0;
	return refuse(conn, "new names", dns_wait_ms(dns, now_of(conn)));
}

int rate_mint(struct conn *conn)
{
	struct bucket *mints = &conn->edge->rates.mints;
	uint64_t now = now_of(conn);
	uint64_t wait = bucket_wait_ms(mints, now, 1);

	if (wait > 0)
		return refuse(conn, "new certificates", wait);
	bucket_take(mints, now, 1);
	return 0;
}

int rate_begin(struct conn *conn, uint64_t upload)
{
	struct rates *rates = &conn->edge->rates;
	struct rate_buckets *rule = rule_buckets(rates, conn->verdict.by);
	uint64_t now = now_of(conn);
	const char *what = "requests";
	uint64_t wait = wait_to_begin(&rates->session, now, upload, &what);

	if (rule)
		wait = later(wait, wait_to_begin(rule, now, upload, &what));
	if (wait > 0)
		return refuse(conn, what, wait);
	if (admit_name(conn) < 0)
		return -1;
	take_to_begin(&rates->session, now, upload);
	if (rule)
		take_to_begin(rule, now, upload);
	conn->rate = (struct rate_charge){
		.is_open = true, .rule = rule, .up = upload};
	return 0;
}

/* From both buckets, or from none. */
static int charge(struct conn *conn, struct bucket *session,
		  struct bucket *rule, const char *what, uint64_t bytes)
{
	uint64_t now = now_of(conn);
	uint64_t wait = bucket_wait_ms(session, now, bytes);

	if (rule)
		wait = later(wait, bucket_wait_ms(rule, now, bytes));
	if (wait > 0)
		return refuse(conn, what, wait);
	bucket_take(session, now, bytes);
	if (rule)
		bucket_take(rule, now, bytes);
	return 0;
}

static int charge_up(struct conn *conn, uint64_t bytes)
{
	struct rate_buckets *rule = conn->rate.rule;

	return charge(conn, &conn->edge->rates.session.upload,
		      rule ? &rule->upload : NULL, "upload", bytes);
}

static int charge_down(struct conn *conn, uint64_t bytes)
{
	struct rate_buckets *rule = conn->rate.rule;

	return charge(conn, &conn->edge->rates.session.download,
		      rule ? &rule->download : NULL, "download", bytes);
}

/* What is left to charge of bytes, after what was taken before. */
static uint64_t use(uint64_t *taken, uint64_t bytes)
{
	uint64_t used = bytes < *taken ? bytes : *taken;

	*taken -= used;
	return bytes - used;
}

int rate_expect(struct conn *conn, uint64_t download)
{
	if (!conn->rate.is_open)
		return 0;
	if (charge_down(conn, download) < 0)
		return -1;
	conn->rate.down = download;
	return 0;
}

int rate_up(struct conn *conn, uint64_t bytes)
{
	if (!conn->rate.is_open)
		return 0;
	bytes = use(&conn->rate.up, bytes);
	return bytes ? charge_up(conn, bytes) : 0;
}

int rate_down(struct conn *conn, uint64_t bytes)
{
	if (!conn->rate.is_open)
		return 0;
	bytes = use(&conn->rate.down, bytes);
	return bytes ? charge_down(conn, bytes) : 0;
}

void rate_end(struct conn *conn)
{
	conn->rate.is_open = false;
}

unsigned rate_retry_after_s(const struct conn *conn)
{
	uint64_t retry_ms = conn->rate.retry_ms;

	if (retry_ms == BUCKET_NEVER)
		return 0;
	if (retry_ms == 0)
		return RETRY_AFTER_DEFAULT_S;
	return retry_ms / 1000 < UINT32_MAX
		       ? (unsigned)((retry_ms + 999) / 1000)
		       : UINT32_MAX;
}
