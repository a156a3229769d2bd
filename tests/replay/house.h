/*
 * A real edge over the fake io, and everybody it talks to, played by the
 * scenario: what the edge asks of them waits in a queue until the scenario
 * answers it.
 */
#ifndef TESTS_REPLAY_HOUSE_H
#define TESTS_REPLAY_HOUSE_H

#include "certs/ca.h"
#include "certs/leaf.h"
#include "gateway/edge/conn.h"
#include "tests/replay/script.h"

#define ASKED_TEXT_MAX 512

/* Something that the edge asked, in words. */
struct asked {
	enum role role;
	struct rpc_ticket ticket;
	int fd; /* that came with it, or -1 */
	char text[ASKED_TEXT_MAX];
	struct buf key; /* MINT: the public key */
	struct asked *next, *prev;
};

/* A keeper's end of a channel. */
struct party {
	struct house *house;
	enum role role;
	struct rpc *rpc; /* NULL: not there */
};

struct house {
	struct io_loop *loop;
	struct keeper keeper;
	struct edge edge;
	struct party parties[ROLE_MAX];
	struct asked *asked;
	struct buf records; /* a line each, since they were last looked at */
	int listener;
	struct ca ca;
	struct leaf_template minting;
	struct buf ca_pem;
	uint64_t expires_in_ms;
};

/* Start the edge: all its peers are there, no session yet. */
void house_open(struct house *house);
/* From here on random bytes are zeros: a scenario then knows the keys and
 * masks of a WebSocket. */
void house_random_zeros(void);
/* Give it its session, and its listener. */
void house_give_session(struct house *house, const struct cue *step,
			struct bytes policy);
/* Let it end so long from now. */
void house_renew(struct house *house, const struct cue *step, uint64_t ms);
/* Another policy holds from here on. */
void house_change(struct house *house, const struct cue *step,
		  struct bytes policy);
void house_revoke(struct house *house, const struct cue *step);
/* A peer goes away, or comes (again). */
void house_party_leaves(struct house *house, enum role role);
void house_party_joins(struct house *house, enum role role);
/* Only the channel: what the edge gets of it. */
int house_party_open(struct house *house, enum role role);

/* The oldest question to role. Fails the scenario when there is none, or
 * when it does not match text. Free it with house_answered(). */
struct asked *house_asked(struct house *house, const struct cue *step,
			  enum role role, const char *text);
void house_answered(struct house *house, struct asked *asked);
/* Refuse whatever role was asked and did not answer. */
void house_forget_asked(struct house *house, enum role role);
/* Does anything wait that role was asked? */
bool house_has_asked(const struct house *house, enum role role);

/* Sign a leaf of the house's authority for a P-256 key. */
void house_mint(struct house *house, const char *name, struct bytes public_key,
		struct leaf *leaf);

#endif
