#include "tests/replay/play_parties.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_fake.h"
#include "policies/inspect/prints.h"

#define WANTS_MAX 8

static const char *word_at(const struct cue *step, size_t at,
			   const char *otherwise)
{
	return at < step->word_count ? step->words[at] : otherwise;
}

static enum constraint constraint_at(const struct cue *step, size_t at)
{
	enum constraint constraint =
		constraint_from_name(bytes_str(word_at(step, at, "")));

	if (constraint == CONSTRAINT_MAX)
		script_fail(step, "no constraint");
	return constraint;
}

static void refuse(struct play *play, const struct cue *step, enum role role)
{
	struct asked *asked = house_asked(&play->house, step, role, NULL);

	rpc_refuse(asked->ticket, (uint16_t)constraint_at(step, 2), "%s",
		   word_at(step, 3, ""));
	house_answered(&play->house, asked);
}

/* ---- dialer, courier ---- */

static void answer_dial(struct play *play, const struct cue *step)
{
	struct asked *asked = house_asked(&play->house, step, ROLE_DIALER,
					  word_at(step, 2, "<*>"));
	const struct msg_dialed dialed = {.address = bytes_str("192.0.2.1")};
	int fd = end_pair(&play->ends, word_at(step, 3, "upstream"),
			  END_UPSTREAM);

	rpc_reply(asked->ticket, &msg_dialed_schema, &dialed, fd);
	(void)close(fd);
	house_answered(&play->house, asked);
}

static void answer_signed(const struct asked *asked, const struct cue *step)
{
	const struct msg_signed made = {
		.blob = bytes_str("a signature that is longer than one line "
				  "of its armor may be"),
		.public_key = bytes_str("ssh-ed25519 AAAA"),
	};

	if (!text_matches(bytes_str(word_at(step, 2, "<*>")),
			  bytes_str(asked->text)))
		script_fail(step, "the courier was asked \"%s\"", asked->text);
	rpc_reply(asked->ticket, &msg_signed_schema, &made, -1);
}

/* The session has one secret: this text. */
static void answer_prints(const struct asked *asked, const struct cue *step)
{
	struct secret_prints *prints = prints_new();
	auto_type(buf_release) struct buf out;
	struct msg_prints message;
	struct err err;

	buf_init(&out, PRINTS_BYTES_MAX);
	if (strcmp(word_at(step, 2, ""), asked->text) != 0)
		script_fail(step, "the courier was asked \"%s\"", asked->text);
	if (!prints ||
	    prints_add(prints, bytes_str("own"),
		       bytes_str(word_at(step, 3, "")), &err) < 0 ||
	    prints_write(prints, &out) < 0)
		script_fail(step, "no prints");
	prints_free(prints);
	message.prints = buf_view(&out);
	rpc_reply(asked->ticket, &msg_prints_schema, &message, -1);
}

static void answer_leg(struct play *play, const struct cue *step)
{
	struct asked *asked =
		house_asked(&play->house, step, ROLE_COURIER, NULL);
	const struct msg_leg_opened opened = {.tls_version =
						      bytes_str("TLSv1.3")};
	char text[ASKED_TEXT_MAX];
	int fd;

	if (asked->ticket.type == MSG_SIGN ||
	    asked->ticket.type == MSG_PRINTS_GET) {
		(asked->ticket.type == MSG_SIGN ? answer_signed
						: answer_prints)(asked, step);
		house_answered(&play->house, asked);
		return;
	}
	(void)snprintf(text, sizeof(text), "%s %s", word_at(step, 2, ""),
		       word_at(step, 3, ""));
	if (strcmp(text, asked->text) != 0)
		script_fail(step, "the courier was asked \"%s\"", asked->text);
	fd = end_pair(&play->ends, word_at(step, 4, "leg"), END_LEG);
	rpc_reply(asked->ticket, &msg_leg_opened_schema, &opened, fd);
	(void)close(fd);
	house_answered(&play->house, asked);
}

void play_leg_refuses(struct end *leg, const struct cue *step)
{
	auto_type(buf_release) struct buf frame;
	const struct leg_refused refused = {
		.constraint = (uint16_t)constraint_at(step, 2),
		.detail = bytes_str(word_at(step, 3, "")),
	};
	struct err err;

	buf_init(&frame, 4096);
	if (leg_add_message(&frame, LEG_REFUSED, &leg_refused_schema, &refused,
			    &err) < 0)
		script_fail(step, "%s", err.text);
	fake_send(leg->fd, buf_view(&frame));
	fake_end(leg->fd);
}

/* ---- minter ---- */

static void answer_mint(struct play *play, const struct cue *step)
{
	struct asked *asked =
		house_asked(&play->house, step, ROLE_MINTER, NULL);
	char name[ASKED_TEXT_MAX];
	struct leaf leaf;
	struct msg_minted minted;

	(void)snprintf(name, sizeof(name), "%s%s%s", word_at(step, 2, ""),
		       step->word_count > 3 ? " " : "", word_at(step, 3, ""));
	if (strcmp(name, asked->text) != 0)
		script_fail(step, "the minter was asked \"%s\"", asked->text);
	house_mint(&play->house, word_at(step, 2, ""), buf_view(&asked->key),
		   &leaf);
	minted = (struct msg_minted){
		.leaf = bytes_from(leaf.der, leaf.len),
		.ca = ca_der(&play->house.ca),
		.expires_ms = leaf.expires_ms,
	};
	rpc_reply(asked->ticket, &msg_minted_schema, &minted, -1);
	house_answered(&play->house, asked);
}

/* ---- packcheck ---- */

static void start_packcheck(struct play *play, const struct cue *step)
{
	const struct wire_empty empty = {0};
	struct asked *asked =
		house_asked(&play->house, step, ROLE_WARDEN, "start");
	int fd = house_party_open(&play->house, ROLE_PACKCHECK);

	rpc_reply(asked->ticket, &wire_empty_schema, &empty, fd);
	(void)close(fd);
	house_answered(&play->house, asked);
}

static enum pack_result result_at(const struct cue *step, size_t at)
{
	static const char *const names[] = {
		[PACK_PASSED] = "passed",     [PACK_REWRITE] = "rewrite",
		[PACK_UNPROVEN] = "unproven", [PACK_INVALID] = "invalid",
		[PACK_REFUSED] = "refused",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(word_at(step, at, ""), names[i]))
			return (enum pack_result)i;
	script_fail(step, "no result");
}

/* A want is one character, of which the object id is made. */
static void answer_check(struct play *play, const struct cue *step)
{
	struct asked *asked = house_asked(&play->house, step, ROLE_PACKCHECK,
					  word_at(step, 2, "<*>"));
	char oids[WANTS_MAX][41] = {{0}};
	struct msg_pack_oid wants[WANTS_MAX];
	struct msg_pack_verdict verdict = {
		.result = (uint8_t)result_at(step, 3),
		.index = (uint32_t)strtoul(word_at(step, 4, "0"), NULL, 10),
		.wants = wants,
		.constraint = CONSTRAINT_push_path_protected,
		.detail = bytes_str("as the scenario says"),
	};

	for (size_t i = 5; i < step->word_count; i++) {
		if (!strcmp(step->words[i], "bases")) {
			verdict.wants_kind = WANTS_BASES;
			continue;
		}
		memset(oids[verdict.wants_count], step->words[i][0], 40);
		wants[verdict.wants_count].oid =
			bytes_str(oids[verdict.wants_count]);
		verdict.wants_count++;
	}
	rpc_reply(asked->ticket, &msg_pack_verdict_schema, &verdict, -1);
	house_answered(&play->house, asked);
}

/* ---- ledger ---- */

/* There is one proposal, p-1; for SHOW "none" is a state as well. */
static void answer_proposal(struct play *play, const struct cue *step)
{
	struct asked *asked = house_asked(&play->house, step, ROLE_LEDGER,
					  word_at(step, 2, "<*>"));
	const char *state = word_at(step, 3, "");
	bool is_none = !strcmp(state, "none");
	const struct proposal proposal = {
		.id = bytes_str("p-1"),
		.rule = bytes_str("release"),
		.method = bytes_str("POST"),
		.host = bytes_str("api.test"),
		.port = 80,
		.path = bytes_str("/release"),
		.state = is_none ? 0
				 : (uint8_t)proposal_state_from_name(
					   bytes_str(state)),
		.scope = (uint8_t)grant_scope_from_name(
			bytes_str(word_at(step, 4, "session"))),
		.until_ms = UINT64_MAX,
	};
	const struct msg_proposal_found found = {&proposal, !is_none, false};

	if (proposal.state == PROPOSAL_STATE_MAX ||
	    proposal.scope == GRANT_SCOPE_MAX)
		script_fail(step, "no state of a proposal");
	if (asked->ticket.type == MSG_PROPOSAL_SHOW)
		rpc_reply(asked->ticket, &msg_proposal_found_schema, &found,
			  -1);
	else
		rpc_reply(asked->ticket, &proposal_schema, &proposal, -1);
	house_answered(&play->house, asked);
}

static void tell_decided(struct play *play, const struct cue *step)
{
	const struct msg_proposal_ref ref = {bytes_str(word_at(step, 2, ""))};
	struct err err;

	if (rpc_tell(play->house.parties[ROLE_LEDGER].rpc, MSG_PROPOSAL_DECIDED,
		     &msg_proposal_ref_schema, &ref, -1, &err) < 0)
		script_fail(step, "%s", err.text);
}

/* ---- any of them ---- */

static void answer(struct play *play, const struct cue *step, enum role role)
{
	switch ((unsigned)role) {
	case ROLE_DIALER:
		answer_dial(play, step);
		break;
	case ROLE_COURIER:
		answer_leg(play, step);
		break;
	case ROLE_MINTER:
		answer_mint(play, step);
		break;
	case ROLE_PACKCHECK:
		answer_check(play, step);
		break;
	case ROLE_LEDGER:
		answer_proposal(play, step);
		break;
	default:
		script_fail(step, "the %s answers nothing", role_name(role));
	}
}

static enum role role_at(const struct cue *step)
{
	for (unsigned role = 0; role < ROLE_MAX; role++)
		if (!strcmp(step->words[0], role_name((enum role)role)))
			return (enum role)role;
	return ROLE_MAX;
}

bool play_parties(struct play *play, const struct cue *step)
{
	enum role role = role_at(step);
	const char *word = word_at(step, 1, "");

	if (role == ROLE_MAX)
		return false;
	if (!strcmp(word, "answers"))
		answer(play, step, role);
	else if (!strcmp(word, "refuses"))
		refuse(play, step, role);
	else if (!strcmp(word, "decides"))
		tell_decided(play, step);
	else if (!strcmp(word, "starts"))
		start_packcheck(play, step);
	else if (!strcmp(word, "leaves"))
		house_party_leaves(&play->house, role);
	else if (!strcmp(word, "joins"))
		house_party_joins(&play->house, role);
	else if (strcmp(word, "is") != 0)
		return false;
	else if (house_has_asked(&play->house, role))
		script_fail(step, "the %s was asked \"%s\"", role_name(role),
			    house_asked(&play->house, step, role, NULL)->text);
	return true;
}
