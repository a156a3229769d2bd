#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/dns/answer.h"

#define TYPE_HTTPS	 65
#define TYPE_SVCB	 64
#define QUERY_MAX	 600
#define NAMES_PER_MINUTE 600

/* Names below allowed.test may be reached. */
static struct verdict decide(struct bytes name, void *owner)
{
	struct verdict verdict = {
		.kind = VERDICT_DENY,
		.constraint = CONSTRAINT_host_not_allowed,
		.rule = BYTES_LITERAL("default"),
	};

	(void)owner;
	if (bytes_ends_with(name, bytes_str("allowed.test")))
		verdict = (struct verdict){
			.kind = VERDICT_ALLOW,
			.rule = BYTES_LITERAL("tests"),
		};
	if (bytes_is(name, "wordy.test")) {
		static char reason[400];

		memset(reason, 'x', sizeof(reason));
		/* A character of two bytes where the text is cut. */
		for (size_t i = 1; i + 1 < sizeof(reason); i += 2)
			memcpy(reason + i, "\xc3\xa9", 2);
		verdict.reason = bytes_from(reason, sizeof(reason));
	}
	return verdict;
}

static int set_up(void **state)
{
	struct dns *dns = calloc(1, sizeof(*dns));

	assert_non_null(dns);
	dns_init(dns, names_new(), decide, NULL);
	dns->names_per_minute = NAMES_PER_MINUTE;
	*state = dns;
	return 0;
}

static int tear_down(void **state)
{
	struct dns *dns = *state;

	names_free(dns->names);
	free(dns);
	return 0;
}

struct asked {
	struct dns_outcome outcome;
	uint8_t answer[DNS_ANSWER_MAX];
	size_t len;
	ns_msg message;
	char data[600];	   /* of the answer's record, as text */
	char blocked[300]; /* EDE 15's text */
};

static size_t make_query(const char *name, int type, bool has_edns,
			 uint8_t out[QUERY_MAX])
{
	static const uint8_t opt[] = {0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0};
	int len = res_mkquery(ns_o_query, name, ns_c_in, type, NULL, 0, NULL,
			      out, QUERY_MAX - (int)sizeof(opt));

	assert_true(len > 0);
	if (!has_edns)
		return (size_t)len;
	memcpy(out + len, opt, sizeof(opt));
	out[11] = 1;
	return (size_t)len + sizeof(opt);
}

static void read_blocked(struct asked *asked)
{
	ns_rr opt;
	const uint8_t *data;

	if (ns_msg_count(asked->message, ns_s_ar) == 0)
		return;
	assert_int_equal(ns_parserr(&asked->message, ns_s_ar, 0, &opt), 0);
	assert_int_equal(ns_rr_type(opt), ns_t_opt);
	data = ns_rr_rdata(opt);
	if (ns_rr_rdlen(opt) == 0)
		return;
	assert_int_equal(ns_get16(data), 15);
	assert_int_equal(ns_get16(data + 2) + 4, ns_rr_rdlen(opt));
	assert_int_equal(ns_get16(data + 4), 15);
	(void)snprintf(asked->blocked, sizeof(asked->blocked), "%.*s",
		       ns_rr_rdlen(opt) - 6, (const char *)data + 6);
}

static void read_data(struct asked *asked)
{
	ns_rr record;

	if (ns_msg_count(asked->message, ns_s_an) == 0)
		return;
	assert_int_equal(ns_parserr(&asked->message, ns_s_an, 0, &record), 0);
	assert_int_equal(ns_rr_ttl(record), DNS_TTL_SECS);
	if (ns_rr_type(record) == ns_t_ptr)
		assert_true(dn_expand(ns_msg_base(asked->message),
				      ns_msg_end(asked->message),
				      ns_rr_rdata(record), asked->data,
				      sizeof(asked->data)) > 0);
	else
		assert_non_null(inet_ntop(
			ns_rr_type(record) == ns_t_a ? AF_INET : AF_INET6,
			ns_rr_rdata(record), asked->data, sizeof(asked->data)));
}

static void ask_bytes(struct dns *dns, struct bytes query, uint64_t now_ms,
		      struct asked *asked)
{
	memset(asked, 0, sizeof(*asked));
	asked->len =
		dns_answer(dns, query, now_ms, asked->answer, &asked->outcome);
	if (asked->len == 0)
		return;
	assert_int_equal(
		ns_initparse(asked->answer, (int)asked->len, &asked->message),
		0);
	assert_int_equal(ns_msg_getflag(asked->message, ns_f_qr), 1);
	assert_int_equal(ns_msg_id(asked->message), ns_get16(query.data));
	read_data(asked);
	read_blocked(asked);
}

static void ask(struct dns *dns, const char *name, int type, bool has_edns,
		struct asked *asked)
{
	uint8_t query[QUERY_MAX];
	size_t len = make_query(name, type, has_edns, query);

	ask_bytes(dns, bytes_from(query, len), 0, asked);
}

static int rcode_of(struct asked *asked)
{
	assert_int_equal(ns_msg_getflag(asked->message, ns_f_rcode),
			 asked->outcome.rcode & 0xf);
	return (int)asked->outcome.rcode;
}

static void allowed_names_get_synthetic_addresses_and_others_none(void **state)
{
	static const struct {
		const char *name;
		int type, rcode;
		const char *data, *blocked;
	} rows[] = {
		{"allowed.test", ns_t_a, ns_r_noerror, "198.18.0.2", ""},
		{"Allowed.Test", ns_t_aaaa, ns_r_noerror, "fd00::c612:2", ""},
		{"allowed.test", TYPE_HTTPS, ns_r_noerror, "", ""},
		{"allowed.test", TYPE_SVCB, ns_r_noerror, "", ""},
		{"b.allowed.test", ns_t_a, ns_r_noerror, "198.18.0.3", ""},
		{"denied.test", ns_t_a, ns_r_nxdomain, "",
		 "sallyport: default: no rule allows this host"},
		{"denied.test", TYPE_HTTPS, ns_r_nxdomain, "",
		 "sallyport: default: no rule allows this host"},
		{"allowed.test", ns_t_txt, ns_r_refused, "",
		 "sallyport: the protocol cannot be inspected"},
		{"allowed.test", ns_t_mx, ns_r_refused, "",
		 "sallyport: the protocol cannot be inspected"},
		{"allowed.test", ns_t_any, ns_r_refused, "",
		 "sallyport: the protocol cannot be inspected"},
		{"denied.test", ns_t_txt, ns_r_refused, "",
		 "sallyport: the protocol cannot be inspected"},
		{"data_in_a_label.allowed.test", ns_t_a, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
		{"a\\.b.allowed.test", ns_t_a, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
		{".", ns_t_a, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
		{"localhost", ns_t_a, ns_r_noerror, "127.0.0.1", ""},
		{"x.localhost", ns_t_aaaa, ns_r_noerror, "::1", ""},
		{"sallyport.internal", ns_t_a, ns_r_noerror, "198.18.0.1", ""},
		{"sallyport.internal", ns_t_aaaa, ns_r_noerror, "fd00::1", ""},
		{"x.sallyport.internal", ns_t_a, ns_r_nxdomain, "",
		 "sallyport: default: no rule allows this host"},
		{"2.0.18.198.in-addr.arpa", ns_t_ptr, ns_r_noerror,
		 "allowed.test", ""},
		{"2.0.0.0.2.1.6.c.0.0.0.0.0.0.0.0."
		 "0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa",
		 ns_t_ptr, ns_r_noerror, "allowed.test", ""},
		{"9.0.18.198.in-addr.arpa", ns_t_ptr, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
		{"1.1.1.1.in-addr.arpa", ns_t_ptr, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
		{"x.0.18.198.in-addr.arpa", ns_t_ptr, ns_r_nxdomain, "",
		 "sallyport: no rule allows this host"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct asked asked;

		ask(*state, rows[i].name, rows[i].type, true, &asked);

		print_message("%s type %d\n", rows[i].name, rows[i].type);
		assert_int_equal(rcode_of(&asked), rows[i].rcode);
		assert_string_equal(asked.data, rows[i].data);
		assert_string_equal(asked.blocked, rows[i].blocked);
		assert_int_equal(asked.outcome.allowed,
				 rows[i].rcode == ns_r_noerror);
		assert_int_equal(asked.outcome.type, rows[i].type);
	}
}

static void answer_repeats_the_question_as_it_was_asked(void **state)
{
	struct asked asked;
	ns_rr question, record;

	ask(*state, "ALLOWED.test", ns_t_a, false, &asked);
	assert_int_equal(ns_parserr(&asked.message, ns_s_qd, 0, &question), 0);
	assert_string_equal(ns_rr_name(question), "ALLOWED.test");
	assert_int_equal(ns_parserr(&asked.message, ns_s_an, 0, &record), 0);
	assert_string_equal(ns_rr_name(record), "ALLOWED.test");
	assert_string_equal(asked.outcome.name, "allowed.test");
	assert_true(bytes_is(asked.outcome.rule, "tests"));
	assert_int_equal(ns_msg_getflag(asked.message, ns_f_rd), 1);
	assert_int_equal(ns_msg_getflag(asked.message, ns_f_ra), 1);
}

static void reason_is_told_only_to_who_speaks_edns(void **state)
{
	struct asked plain;
	struct asked edns;
	struct asked wordy;

	ask(*state, "denied.test", ns_t_a, false, &plain);
	ask(*state, "denied.test", ns_t_a, true, &edns);
	ask(*state, "wordy.test", ns_t_a, true, &wordy);

	assert_int_equal(rcode_of(&plain), ns_r_nxdomain);
	assert_int_equal(ns_msg_count(plain.message, ns_s_ar), 0);
	assert_int_equal(ns_msg_count(edns.message, ns_s_ar), 1);
	assert_int_equal(strlen(wordy.blocked), 199);
	/* Cut between characters: it ends with a whole one. */
	assert_string_equal(wordy.blocked + strlen(wordy.blocked) - 2,
			    "\xc3\xa9");
}

static void longest_name_fits_with_its_reason(void **state)
{
	char name[254];
	struct asked asked;

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	name[253] = '\0';
	ask(*state, name, ns_t_a, true, &asked);
	assert_int_equal(rcode_of(&asked), ns_r_nxdomain);
	assert_true(strlen(asked.blocked) > 0);
}

/* Each row changes one byte of a good query. */
static void query_that_breaks_the_protocol_is_refused(void **state)
{
	static const struct {
		size_t offset;
		uint8_t value;
		int rcode; /* -1: no answer at all */
	} rows[] = {
		{4, 0, ns_r_noerror},	  /* as it is */
		{2, 0x81, -1},		  /* itself an answer */
		{2, 0x11, ns_r_notimpl},  /* opcode 2 */
		{2, 0x29, ns_r_notimpl},  /* UPDATE */
		{5, 2, ns_r_formerr},	  /* two questions, one there */
		{5, 0, ns_r_formerr},	  /* none, bytes left */
		{7, 1, ns_r_formerr},	  /* an answer is missing */
		{11, 0, ns_r_formerr},	  /* OPT is left over */
		{29, 3, ns_r_refused},	  /* class CHAOS */
		{29, 255, ns_r_refused},  /* class ANY */
		{12, 0xc0, ns_r_formerr}, /* a pointer to itself */
		{12, 0x40, ns_r_formerr}, /* a label type that is none */
		{36, 1, 16},		  /* EDNS version 1: BADVERS */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint8_t query[QUERY_MAX];
		size_t len = make_query("allowed.test", ns_t_a, true, query);
		struct asked asked;

		assert_int_equal(len, 12 + 14 + 4 + 11);
		query[rows[i].offset] = rows[i].value;
		if (rows[i].offset == 12)
			query[13] = 12;
		print_message("row %zu\n", i);
		ask_bytes(*state, bytes_from(query, len), 0, &asked);
		assert_int_equal(asked.len > 0, rows[i].rcode >= 0);
		if (asked.len > 0)
			assert_int_equal(rcode_of(&asked), rows[i].rcode);
		assert_int_equal(asked.outcome.allowed,
				 rows[i].rcode == ns_r_noerror);
	}
}

static void query_of_any_shorter_length_is_survived(void **state)
{
	uint8_t query[QUERY_MAX];
	size_t len = make_query("allowed.test", ns_t_a, true, query);

	for (size_t i = 0; i < len; i++) {
		struct asked asked;

		ask_bytes(*state, bytes_from(query, i), 0, &asked);

		assert_int_equal(asked.len > 0, i >= 12);
		assert_false(asked.outcome.allowed);
		if (asked.len > 0)
			assert_int_equal(rcode_of(&asked), ns_r_formerr);
	}
}

static void ask_at(struct dns *dns, unsigned number, uint64_t now_ms,
		   struct asked *asked)
{
	uint8_t query[QUERY_MAX];
	char name[64];
	size_t len;

	(void)snprintf(name, sizeof(name), "n%u.allowed.test", number);
	len = make_query(name, ns_t_a, true, query);
	ask_bytes(dns, bytes_from(query, len), now_ms, asked);
}

static void new_names_are_limited_per_minute(void **state)
{
	struct asked asked;

	for (unsigned i = 0; i < NAMES_PER_MINUTE; i++) {
		ask_at(*state, i, 1000, &asked);
		assert_true(asked.outcome.allowed);
	}
	ask_at(*state, NAMES_PER_MINUTE, 59999, &asked);
	assert_int_equal(rcode_of(&asked), ns_r_refused);
	assert_int_equal(asked.outcome.constraint, CONSTRAINT_limit_rate);
	ask_at(*state, 7, 59999, &asked);
	assert_true(asked.outcome.allowed);
	ask_at(*state, NAMES_PER_MINUTE, 61000, &asked);
	assert_true(asked.outcome.allowed);
}

/* Names with an even number are the policy's own. */
static unsigned weigh(struct bytes name, void *owner)
{
	(void)owner;
	return name.data[1] % 2 ? 30 : 0;
}

static void check_spent(const struct asked *asked, const char *spent)
{
	assert_int_equal(asked->outcome.constraint, CONSTRAINT_limit_rate);
	assert_non_null(spent);
	assert_true(bytes_is(asked->outcome.reason, spent));
}

static void names_below_a_wildcard_have_a_budget_of_their_own(void **state)
{
	static const struct {
		uint64_t names, bits;
		unsigned allowed; /* of the odd ones among the first ten */
		const char *spent;
	} rows[] = {
		{5, 1000, 5, NULL},
		{2, 1000, 2,
		 "the 2 new names below a wildcard a minute "
		 "(network.limits.wildcard-names) are used up: more in 60 s"},
		{5, 90, 3,
		 "the 90 bits in new names below a wildcard a minute "
		 "(network.limits.wildcard-bits) are used up: more in 60 s"},
		{5, 89, 2,
		 "the 89 bits in new names below a wildcard a minute "
		 "(network.limits.wildcard-bits) are used up: more in 60 s"},
	};
	struct dns *dns = *state;
	struct asked asked;

	dns->names_per_minute = 1000;
	dns->weigh = weigh;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t now = (i + 1) * 1000000;
		unsigned allowed = 0;

		dns->wild_names_per_minute = rows[i].names;
		dns->wild_bits_per_minute = rows[i].bits;
		names_free(dns->names);
		dns->names = names_new();
		for (unsigned number = 0; number < 10; number++) {
			ask_at(dns, number, now, &asked);
			if (number % 2 == 0)
				assert_true(asked.outcome.allowed);
			else if (asked.outcome.allowed)
				allowed++;
			else
				check_spent(&asked, rows[i].spent);
		}
		assert_int_equal(allowed, rows[i].allowed);
		/* What was seen costs nothing. */
		ask_at(dns, 1, now, &asked);
		assert_true(asked.outcome.allowed);
		ask_at(dns, 9, now + 60000, &asked);
		assert_true(asked.outcome.allowed);
	}
}

static void tcp_queries_are_cut_by_their_length(void **state)
{
	static const uint8_t input[] = {0, 3, 'a', 'b', 'c', 0, 1, 'd'};
	static const uint8_t empty[] = {0, 0, 'a'};
	static const uint8_t large[] = {0x10, 0x01};
	struct bytes rest = bytes_from(input, sizeof(input));
	struct bytes query;
	uint8_t prefix[2];
	size_t used;

	(void)state;
	assert_int_equal(dns_tcp_next(bytes_slice(rest, 0, 1), &query, &used),
			 0);
	assert_int_equal(dns_tcp_next(bytes_slice(rest, 0, 4), &query, &used),
			 0);
	assert_int_equal(dns_tcp_next(rest, &query, &used), 1);
	assert_true(bytes_is(query, "abc"));
	assert_int_equal(used, 5);
	rest = bytes_slice(rest, used, rest.len);
	assert_int_equal(dns_tcp_next(rest, &query, &used), 1);
	assert_true(bytes_is(query, "d"));
	assert_int_equal(dns_tcp_next(bytes_from(empty, 3), &query, &used), -1);
	assert_int_equal(dns_tcp_next(bytes_from(large, 2), &query, &used), -1);
	dns_tcp_prefix(0x123, prefix);
	assert_int_equal(prefix[0], 1);
	assert_int_equal(prefix[1], 0x23);
}

#define DNS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* What is behind the name in memory is not told. */
static void answer_names_an_address_whatever_the_name_s_length(void **state)
{
	for (int i = 0; i < 32; i++) {
		struct asked asked;
		char name[64], reverse[64];

		(void)snprintf(name, sizeof(name), "%.*s.allowed.test", i + 1,
			       "abcdefghijklmnopqrstuvwxyzabcdef");
		(void)snprintf(reverse, sizeof(reverse),
			       "%d.0.18.198.in-addr.arpa", i + 2);
		ask(*state, name, ns_t_a, true, &asked);
		ask(*state, reverse, ns_t_ptr, true, &asked);
		assert_string_equal(asked.data, name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DNS_TEST(allowed_names_get_synthetic_addresses_and_others_none),
		DNS_TEST(answer_repeats_the_question_as_it_was_asked),
		DNS_TEST(reason_is_told_only_to_who_speaks_edns),
		DNS_TEST(answer_names_an_address_whatever_the_name_s_length),
		DNS_TEST(longest_name_fits_with_its_reason),
		DNS_TEST(query_that_breaks_the_protocol_is_refused),
		DNS_TEST(query_of_any_shorter_length_is_survived),
		DNS_TEST(new_names_are_limited_per_minute),
		DNS_TEST(names_below_a_wildcard_have_a_budget_of_their_own),
		DNS_TEST(tcp_queries_are_cut_by_their_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
