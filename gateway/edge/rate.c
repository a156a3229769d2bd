#include "gateway/edge/rate.h"

#include "common/cleanup.h"
#include "gateway/decide/name_check.h"
#include "gateway/edge/conn.h"

/* What the other processes bound they bound by the second. */
#define RETRY_AFTER_DEFAULT_S 1

static bool has_rate(const struct policy_rate *rate)
{
	return rate->requests.count || rate->upload.count ||
	       rate->download.count;
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

static int hold_back(struct conn *conn, uint64_t wait_ms)
{
	conn->rate.retry_ms = wait_ms;
	conn->rate.is_open = false;
	return -1;
}

static int refuse(struct conn *conn, const char *what, uint64_t wait_ms)
{
	conn_refuse(conn, CONSTRAINT_limit_rate,
		    wait_ms == BUCKET_NEVER
			    ? "this is more than the limit of %s ever allows"
			    : "the limit of %s is used up for now",
		    what);
	return hold_back(conn, wait_ms);
}

/* What conn->verdict's request is charged to. */
static int find_sets(struct conn *conn, struct rate_charge *charge)
{
	const struct policy_rule *const rules[] = {conn->verdict.by,
						   conn->verdict.guard};
	struct rates *rates = &conn->law->rates;

	*charge = (struct rate_charge){
		.is_open = true, .sets = {rates->session}, .count = 1};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct rate_buckets *set;

		if (!rules[i] || !has_rate(&rules[i]->rate))
			continue;
		set = rates_of_rule(rates, conn->law->policy, rules[i],
				    now_of(conn));
		if (!set) {
			conn_refuse(conn, CONSTRAINT_internal, "memory is out");
			return -1;
		}
		charge->sets[charge->count++] = set;
	}
	return 0;
}

/* At least a byte down must be left: what would be cut at once does not
 * begin. */
static int check_begin(struct conn *conn, const struct rate_charge *charge,
		       uint64_t upload)
{
	uint64_t now = now_of(conn);
	uint64_t one = 0, up = 0, down = 0;

	for (size_t i = 0; i < charge->count; i++) {
		struct rate_buckets *set = charge->sets[i];

		one = later(one, bucket_wait_ms(&set->requests, now, 1));
		up = later(up, bucket_wait_ms(&set->upload, now, upload));
		down = later(down, bucket_wait_ms(&set->download, now, 1));
	}
	if (one == 0 && up == 0 && down == 0)
		return 0;
	if (one >= up && one >= down)
		return refuse(conn, "requests", one);
	return up >= down ? refuse(conn, "upload", up)
			  : refuse(conn, "download", down);
}

/* Every new name is one more that a resolver outside is asked for: names
 * that no DNS query was made for count like those. */
static int admit_name(struct conn *conn)
{
	struct bytes name = bytes_str(conn->errand->target.host);
	struct dns *dns = &conn->edge->dns;
	struct in_addr ipv4;
	struct in6_addr ipv6;
	char spent[DNS_SPENT_MAX + 1];
	const char *fault;

	if (conn->errand->target.kind != HOST_NAME)
		return 0;
	fault = name_fault(conn->law->policy, name);
	if (fault) {
		conn_refuse(conn, CONSTRAINT_host_not_allowed, "%s", fault);
		return -1;
	}
	if (dns_admit(dns, name, now_of(conn), &ipv4, &ipv6) == 0)
		return 0;
	dns_spent(dns, now_of(conn), spent);
	conn_refuse(conn, CONSTRAINT_limit_rate, "%s", spent);
	return hold_back(conn, dns_wait_ms(dns, now_of(conn)));
}

int rate_mint(struct conn *conn)
{
	struct bucket *mints = &conn->law->rates.mints;
	uint64_t now = now_of(conn);
	uint64_t wait = bucket_wait_ms(mints, now, 1);

	if (wait > 0)
		return refuse(conn, "new certificates", wait);
	bucket_take(mints, now, 1);
	return 0;
}

int rate_begin(struct conn *conn, uint64_t upload)
{
	struct rate_charge charge;

	if (find_sets(conn, &charge) < 0 ||
	    check_begin(conn, &charge, upload) < 0 || admit_name(conn) < 0)
		return -1;
	for (size_t i = 0; i < charge.count; i++) {
		bucket_take(&charge.sets[i]->requests, now_of(conn), 1);
		bucket_take(&charge.sets[i]->upload, now_of(conn), upload);
	}
	charge.up = upload;
	conn->rate = charge;
	return 0;
}

int rate_move(struct conn *conn)
{
	struct rate_charge charge;

	if (!conn->rate.is_open)
		return 0;
	if (find_sets(conn, &charge) < 0)
		return -1;
	charge.up = conn->rate.up;
	charge.down = conn->rate.down;
	conn->rate = charge;
	return 0;
}

static int charge_up(struct conn *conn, uint64_t bytes)
{
	const struct rate_charge *charge = &conn->rate;
	uint64_t now = now_of(conn), wait = 0;

	for (size_t i = 0; i < charge->count; i++)
		wait = later(wait, bucket_wait_ms(&charge->sets[i]->upload, now,
						  bytes));
	if (wait > 0)
		return refuse(conn, "upload", wait);
	for (size_t i = 0; i < charge->count; i++)
		bucket_take(&charge->sets[i]->upload, now, bytes);
	return 0;
}

static int charge_down(struct conn *conn, uint64_t bytes)
{
	const struct rate_charge *charge = &conn->rate;
	uint64_t now = now_of(conn), wait = 0;

	for (size_t i = 0; i < charge->count; i++)
		wait = later(wait, bucket_wait_ms(&charge->sets[i]->download,
						  now, bytes));
	if (wait > 0)
		return refuse(conn, "download", wait);
	for (size_t i = 0; i < charge->count; i++)
		bucket_take(&charge->sets[i]->download, now, bytes);
	return 0;
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
