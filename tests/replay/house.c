#include "tests/replay/house.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <utlist.h>

#include "certs/bundle.h"
#include "common/cleanup.h"
#include "common/io_fake.h"
#include "gateway/git/commands.h"

#define RECORDS_TEXT_MAX (4 << 20)
#define CONNECTIONS_MAX	 20
#define SESSION_ID	 "s-replay"

/* ---- the wall clock goes with the fake one (--wrap, CMakeLists.txt) ---- */

uint64_t __real_clock_wall_ms(void);
uint64_t __wrap_clock_wall_ms(void);

void __real_random_bytes(void *out, size_t len);
void __wrap_random_bytes(void *out, size_t len);

static bool is_random_zero;

void house_random_zeros(void)
{
	is_random_zero = true;
}

void __wrap_random_bytes(void *out, size_t len)
{
	if (is_random_zero)
		memset(out, 0, len);
	else
		__real_random_bytes(out, len);
}

static struct io_loop *wall_loop;

uint64_t __wrap_clock_wall_ms(void)
{
	static uint64_t started, first;

	if (!started)
		started = __real_clock_wall_ms();
	if (!wall_loop)
		return started;
	if (!first)
		first = io_loop_now_ms(wall_loop);
	return started + io_loop_now_ms(wall_loop) - first;
}

/* ---- questions ---- */

static struct asked *ask_add(struct rpc_ticket ticket, int *fd, void *owner)
{
	struct party *party = owner;
	struct asked *asked = calloc(1, sizeof(*asked));

	if (!asked)
		exit(EXIT_FAILURE);
	asked->role = party->role;
	asked->ticket = ticket;
	asked->fd = take_fd(fd);
	buf_init(&asked->key, 1024);
	rpc_ticket_hold(ticket);
	DL_APPEND(party->house->asked, asked);
	return asked;
}

static void on_mint(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct msg_mint *mint = message;
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)buf_add(&asked->key, mint->public_key);
	(void)snprintf(asked->text, sizeof(asked->text), "%.*s%s",
		       BYTES_ARGS(mint->name),
		       mint->purpose == MINT_REFUSE ? " refuse" : "");
}

static void on_dial(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct msg_dial *dial = message;
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)snprintf(asked->text, sizeof(asked->text), "%.*s:%u",
		       BYTES_ARGS(dial->host), dial->port);
}

static void on_leg_open(struct rpc_ticket ticket, const void *message, int *fd,
			void *owner)
{
	const struct msg_leg_open *leg = message;
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)snprintf(asked->text, sizeof(asked->text), "%.*s %.*s:%u",
		       BYTES_ARGS(leg->binding), BYTES_ARGS(leg->host),
		       leg->port);
}

static void on_sign(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct msg_sign *wanted = message;
	struct asked *asked = ask_add(ticket, fd, owner);
	char digest[2 * SIGN_DIGEST_LEN + 1];

	bytes_to_hex(wanted->digest, digest);
	(void)snprintf(asked->text, sizeof(asked->text),
		       "sign %.8s tag=%.*s oid=%.4s", digest,
		       BYTES_ARGS(wanted->tag), wanted->oid.data);
}

static void on_prints_get(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)message;
	(void)snprintf(asked->text, sizeof(asked->text), "prints");
}

static void on_packcheck_start(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)message;
	(void)snprintf(asked->text, sizeof(asked->text), "start");
}

static long long size_of(int fd)
{
	struct stat stat;

	return fstat(fd, &stat) < 0 ? -1 : (long long)stat.st_size;
}

static void on_check(struct rpc_ticket ticket, const void *message, int *fd,
		     void *owner)
{
	const struct msg_pack_check *check = message;
	struct asked *asked = ask_add(ticket, fd, owner);
	int len = snprintf(asked->text, sizeof(asked->text), "check %lld",
			   size_of(asked->fd));

	for (size_t i = 0; i < check->updates_count; i++)
		len += snprintf(asked->text + len,
				sizeof(asked->text) - (size_t)len,
				" %.4s..%.4s", check->updates[i].old_oid.data,
				check->updates[i].new_oid.data);
}

static void on_add(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)message;
	(void)snprintf(asked->text, sizeof(asked->text), "add %lld",
		       size_of(asked->fd));
}

static void ask_add_proposal(struct rpc_ticket ticket, const char *verb,
			     const struct proposal *proposal, void *owner)
{
	int none = -1;
	struct asked *asked = ask_add(ticket, &none, owner);
	auto_type(buf_release) struct buf words;

	buf_init(&words, ASKED_TEXT_MAX);
	(void)proposal_add_words(&words, proposal);
	(void)snprintf(
		asked->text, sizeof(asked->text), "%s %s rule=%.*s%s%.*s", verb,
		buf_str(&words), BYTES_ARGS(proposal->rule),
		proposal->why.len ? " why=" : "", BYTES_ARGS(proposal->why));
}

static void on_take(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	(void)fd;
	ask_add_proposal(ticket, "take", message, owner);
}

static void on_ask(struct rpc_ticket ticket, const void *message, int *fd,
		   void *owner)
{
	(void)fd;
	ask_add_proposal(ticket, "ask", message, owner);
}

static void on_show(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	const struct msg_proposal_ref *ref = message;
	struct asked *asked = ask_add(ticket, fd, owner);

	(void)snprintf(asked->text, sizeof(asked->text), "show %.*s",
		       BYTES_ARGS(ref->id));
}

struct asked *house_asked(struct house *house, const struct cue *step,
			  enum role role, const char *text)
{
	struct asked *asked;

	DL_FOREACH(house->asked, asked)
	if (asked->role == role)
		break;
	if (!asked)
		script_fail(step, "the %s was asked nothing", role_name(role));
	if (text && !text_matches(bytes_str(text), bytes_str(asked->text)))
		script_fail(step, "the %s was asked \"%s\"", role_name(role),
			    asked->text);
	return asked;
}

void house_answered(struct house *house, struct asked *asked)
{
	DL_DELETE(house->asked, asked);
	buf_release(&asked->key);
	if (asked->fd >= 0)
		(void)close(asked->fd);
	free(asked);
}

bool house_has_asked(const struct house *house, enum role role)
{
	const struct asked *asked;

	DL_FOREACH(house->asked, asked)
	if (asked->role == role)
		return true;
	return false;
}

/* ---- records ---- */

static const char *or_dash(struct bytes text, char out[64])
{
	(void)snprintf(out, 64, "%.*s", BYTES_ARGS(text));
	return text.len ? out : "-";
}

static void add_record(struct house *house, const struct record *record)
{
	char host[64], method[64], path[64], rule[64], credential[64];

	(void)buf_add_format(
		&house->records, "%s %s %s %s:%u %s %s %u rule=%s",
		record_kind_name((enum record_kind)record->kind),
		record->allowed ? "allowed" : "denied",
		constraint_name((enum constraint)record->constraint),
		or_dash(record->host, host), record->port,
		or_dash(record->method, method), or_dash(record->path, path),
		record->status, or_dash(record->rule, rule));
	if (record->credential.len)
		(void)buf_add_format(&house->records, " credential=%s",
				     or_dash(record->credential, credential));
	if (record->kind == RECORD_RESPONSE)
		(void)buf_add_format(&house->records, " up=%llu down=%llu",
				     (unsigned long long)record->bytes_up,
				     (unsigned long long)record->bytes_down);
	if (record->new_oid.len)
		(void)buf_add_format(&house->records, " %.4s..%.4s",
				     record->old_oid.data,
				     record->new_oid.data);
	if (record->count)
		(void)buf_add_format(&house->records, " count=%llu",
				     (unsigned long long)record->count);
	if (record->approval.len)
		(void)buf_add_format(&house->records, " approval=%.*s",
				     BYTES_ARGS(record->approval));
	(void)buf_add_str(&house->records, "\n");
}

static void on_records(struct rpc_ticket ticket, const void *message, int *fd,
		       void *owner)
{
	const struct msg_records *records = message;
	struct party *party = owner;

	(void)ticket;
	(void)fd;
	for (size_t i = 0; i < records->records_count; i++)
		add_record(party->house, &records->records[i]);
}

/* ---- parties ---- */

static void on_ready(struct rpc_ticket ticket, const void *message, int *fd,
		     void *owner)
{
	(void)ticket;
	(void)message;
	(void)fd;
	(void)owner;
}

static const struct rpc_permit warden_permits[] = {
	{MSG_READY, &wire_empty_schema, on_ready, false, 0},
	{MSG_PACKCHECK_START, &wire_empty_schema, on_packcheck_start, false, 0},
	{MSG_PACKCHECK_SOON, &wire_empty_schema, on_ready, false, 0},
};
static const struct rpc_permit minter_permits[] = {
	{MSG_MINT, &msg_mint_schema, on_mint, false, 0},
};
static const struct rpc_permit dialer_permits[] = {
	{MSG_DIAL, &msg_dial_schema, on_dial, false, 0},
};
static const struct rpc_permit courier_permits[] = {
	{MSG_LEG_OPEN, &msg_leg_open_schema, on_leg_open, true, 0},
	{MSG_SIGN, &msg_sign_schema, on_sign, false, 0},
	{MSG_PRINTS_GET, &wire_empty_schema, on_prints_get, false, 0},
};
static const struct rpc_permit ledger_permits[] = {
	{MSG_RECORDS, &msg_records_schema, on_records, false, 0},
	{MSG_PROPOSAL_TAKE, &proposal_schema, on_take, false, 0},
	{MSG_PROPOSAL_ASK, &proposal_schema, on_ask, false, 0},
	{MSG_PROPOSAL_SHOW, &msg_proposal_ref_schema, on_show, false, 0},
};
static const struct rpc_permit packcheck_permits[] = {
	{MSG_PACK_CHECK, &msg_pack_check_schema, on_check, true, 0},
	{MSG_PACK_ADD, &wire_empty_schema, on_add, true, 0},
};

static const struct {
	const struct rpc_permit *permits;
	size_t count;
} permits_of[ROLE_MAX] = {
	[ROLE_WARDEN] = {warden_permits, ARRAY_SIZE(warden_permits)},
	[ROLE_MINTER] = {minter_permits, ARRAY_SIZE(minter_permits)},
	[ROLE_DIALER] = {dialer_permits, ARRAY_SIZE(dialer_permits)},
	[ROLE_COURIER] = {courier_permits, ARRAY_SIZE(courier_permits)},
	[ROLE_LEDGER] = {ledger_permits, ARRAY_SIZE(ledger_permits)},
	[ROLE_PACKCHECK] = {packcheck_permits, ARRAY_SIZE(packcheck_permits)},
};

static void on_party_gone(struct rpc *rpc, const char *why, void *owner)
{
	struct party *party = owner;

	(void)rpc;
	(void)why;
	party->rpc = NULL;
}

int house_party_open(struct house *house, enum role role)
{
	struct party *party = &house->parties[role];
	const struct rpc_config config = {
		.permits = permits_of[role].permits,
		.permit_count = permits_of[role].count,
		.owner = party,
		.on_closed = on_party_gone,
	};
	struct err err;
	int fds[2];

	if (party->rpc)
		rpc_close(party->rpc);
	(void)io_message_pair(fds, &err);
	*party = (struct party){.house = house, .role = role};
	party->rpc = rpc_new(house->loop, fds[1], &config, &err);
	if (!party->rpc)
		exit(EXIT_FAILURE);
	return fds[0];
}

void house_forget_asked(struct house *house, enum role role)
{
	struct asked *asked, *next;

	DL_FOREACH_SAFE(house->asked, asked, next)
	if (asked->role == role) {
		rpc_refuse(asked->ticket, 0, "gone");
		house_answered(house, asked);
	}
}

void house_party_leaves(struct house *house, enum role role)
{
	if (house->parties[role].rpc)
		rpc_close(house->parties[role].rpc);
	house->parties[role].rpc = NULL;
	house_forget_asked(house, role);
}

static void tell(struct house *house, uint16_t type,
		 const struct wire_schema *schema, const void *message, int fd)
{
	struct err err;

	if (rpc_tell(house->parties[ROLE_WARDEN].rpc, type, schema, message, fd,
		     &err) < 0) {
		(void)fprintf(stderr, "warden: %s\n", err.text);
		exit(EXIT_FAILURE);
	}
	(void)close(fd);
	fake_run(house->loop);
}

void house_party_joins(struct house *house, enum role role)
{
	const struct msg_peer message = {.role = (uint8_t)role};

	tell(house, MSG_PEER, &msg_peer_schema, &message,
	     house_party_open(house, role));
}

/* ---- the edge ---- */

static void make_authority(struct house *house)
{
	struct err err;

	buf_init(&house->ca_pem, 8192);
	if (ca_make(__wrap_clock_wall_ms(), &house->ca, &err) < 0 ||
	    leaf_template_init(&house->minting, &house->ca, &err) < 0 ||
	    bundle_pem(&house->ca, &house->ca_pem, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		exit(EXIT_FAILURE);
	}
}

void house_mint(struct house *house, const char *name, struct bytes public_key,
		struct leaf *leaf)
{
	const struct leaf_request request = {
		.name = bytes_str(name),
		.public_key = public_key,
		.wall_ms = __wrap_clock_wall_ms(),
		.valid_ms = LEAF_VALID_MS,
	};
	struct err err;

	if (leaf_mint(&house->minting, &request, leaf, &err) < 0) {
		(void)fprintf(stderr, "mint: %s\n", err.text);
		exit(EXIT_FAILURE);
	}
}

void house_open(struct house *house)
{
	static const enum role peers[] = {ROLE_MINTER, ROLE_DIALER,
					  ROLE_COURIER, ROLE_LEDGER};
	struct confine_spec confine = {0};
	struct err err;

	*house = (struct house){.expires_in_ms = 86400000};
	house->loop = io_loop_new(&err);
	wall_loop = house->loop;
	buf_init(&house->records, RECORDS_TEXT_MAX);
	make_authority(house);
	house->keeper = (struct keeper){
		.spec = &edge_spec,
		.owner = &house->edge,
		.loop = house->loop,
		.config.connections_max = CONNECTIONS_MAX,
		.config.ca_bundle = buf_view(&house->ca_pem),
	};
	if (edge_spec.prepare(&house->keeper, &confine, &err) < 0 ||
	    keeper_join(&house->keeper, house_party_open(house, ROLE_WARDEN),
			&err) < 0) {
		(void)fprintf(stderr, "edge: %s\n", err.text);
		exit(EXIT_FAILURE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(peers); i++)
		house_party_joins(house, peers[i]);
}

/* A package with this policy, of the session; its descriptor. */
static int seal(const struct cue *step, struct bytes policy, uint64_t ms)
{
	static const uint8_t lease[DIGEST_LEN] = {1};
	const struct session_package package = {
		.id = bytes_str(SESSION_ID),
		.branch = bytes_str("agent/42"),
		.policy_name = bytes_str("replay"),
		.expires_ms = __wrap_clock_wall_ms() + ms,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.policy_text = policy,
	};
	struct err err;
	int fd = package_seal(&package, &err);

	if (fd < 0)
		script_fail(step, "%s", err.text);
	return fd;
}

static void give_package(struct house *house, const struct cue *step,
			 struct bytes policy, uint64_t ms)
{
	const struct wire_empty empty = {0};

	tell(house, MSG_SESSION_OPEN, &wire_empty_schema, &empty,
	     seal(step, policy, ms));
}

void house_give_session(struct house *house, const struct cue *step,
			struct bytes policy)
{
	const struct msg_listener listener = {.kind = LISTENER_TCP};

	give_package(house, step, policy, house->expires_in_ms);
	if (!house->edge.law)
		script_fail(step, "the edge did not take the session");
	house->listener = fake_listener();
	tell(house, MSG_LISTENER, &msg_listener_schema, &listener,
	     dup(house->listener));
}

void house_renew(struct house *house, const struct cue *step, uint64_t ms)
{
	give_package(house, step, bytes_str("version: 1\nname: other\n"), ms);
}

static void on_done(struct rpc_outcome *outcome, void *owner)
{
	bool *done = owner;

	*done = !outcome->err;
}

void house_change(struct house *house, const struct cue *step,
		  struct bytes policy)
{
	static bool done;
	const struct wire_empty empty = {0};
	const struct rpc_call call = {
		.type = MSG_SESSION_CHANGE,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = seal(step, policy, house->expires_in_ms),
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 5000,
		.on_outcome = on_done,
		.owner = &done,
	};
	struct err err;

	done = false;
	if (rpc_ask(house->parties[ROLE_WARDEN].rpc, &call, NULL, &err) < 0)
		script_fail(step, "%s", err.text);
	(void)close(call.fd);
	fake_run(house->loop);
	if (!done)
		script_fail(step, "the edge did not take the policy");
}

void house_revoke(struct house *house, const struct cue *step)
{
	static bool done;
	const struct msg_session_ref ref = {
		.id = bytes_str(SESSION_ID),
		.reason = bytes_str("revoked"),
	};
	const struct rpc_call call = {
		.type = MSG_SESSION_CLOSE,
		.schema = &msg_session_ref_schema,
		.message = &ref,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = 5000,
		.on_outcome = on_done,
		.owner = &done,
	};
	struct err err;

	done = false;
	if (rpc_ask(house->parties[ROLE_WARDEN].rpc, &call, NULL, &err) < 0)
		script_fail(step, "%s", err.text);
	fake_run(house->loop);
	/* The ledger may be away, and records wait for it. */
	if (!done)
		fake_advance(house->loop, KEEPER_CLOSE_MS);
	if (!done)
		script_fail(step, "the edge did not close its session");
}
