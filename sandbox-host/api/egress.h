/*
 * The egress API of a sandbox (OpenSandbox's, port 18080): what it may reach,
 * and which credentials go where. What holds stands in one place, the policy
 * of the sandbox's session, which this API wrote and reads back; nothing of it
 * is kept here. A change is made of the policy that was read, for the case that
 * it still holds, or begun again.
 *
 *	egress.c	 a channel, the policy, its change
 *	egress_model.c	 policy text to rules and bindings, and back
 *	egress_target.c	 a target, and its rule in a policy
 *	egress_routes.c	 /policy, /healthz
 *	egress_vault.c	 /credential-vault
 *	egress_bindings.c  what a binding may be, and what it is in a policy
 */
#ifndef SANDBOX_HOST_API_EGRESS_H
#define SANDBOX_HOST_API_EGRESS_H

#include "sandbox-host/api/exchange.h"

#define EGRESS_BODY_MAX	    (1024 * 1024)
#define EGRESS_RULES_MAX    4096
#define EGRESS_TARGET_MAX   253
#define EGRESS_BINDINGS_MAX 32
#define EGRESS_LENT_MAX	    64 /* credentials */
#define EGRESS_TRIES_MAX    8
#define EGRESS_PACE_MS	    200 /* where the gateway takes no more just now */
#define EGRESS_PACES_MAX    100 /* in one change: 20 s */
#define EGRESS_WHY_MAX	    900

/* ---- egress_model.c ---- */

/* What a policy of this API says. Zeroed: nothing. */
struct egress_model {
	bool allows;   /* what no rule names */
	bool of_names; /* but no address that is none's: a bare * of a create */
	json_t *rules; /* [{action, target}] */
	/* {revision, credentials: [{name, secret}], bindings: [{name, match,
	 * auth}]}, or NULL: there is no vault. secret is what the value is lent
	 * to the session as. */
	json_t *vault;
};

void egress_model_release(struct egress_model *model);
/* Read one of a policy (untrusted). 0, or -1: it is none of this API's. */
int egress_model_read(struct bytes text, struct egress_model *model);
/* As a policy, to be freed. NULL: memory is out. */
char *egress_model_write(const struct egress_model *model);
/* Put rules (stolen) before those that are there, the first of a target
 * counts; more than EGRESS_RULES_MAX: -1. */
int egress_model_add(struct egress_model *model, json_t *rules);
/* The rule that decides about a host or pattern; -1: none names it. */
int egress_model_rule_for(const struct egress_model *model, const char *host);

/* ---- egress_target.c ---- */

/* Why a target, or a rule with one, cannot be one: NULL, or one line. */
const char *egress_target_fault(const char *target);
const char *egress_rule_fault(const char *action, const char *target);
/* As a rule of a policy; what defaultAction: allow is there; and the policy's
 * `network` with such rules (taken). NULL: memory is out. */
json_t *egress_target_rule(const char *target, const char *action);
json_t *egress_default_rule(void);
json_t *egress_network(json_t *rules);

/* ---- egress_bindings.c ---- */

/* NULL, or what is against a vault with these rules, in arena. */
const char *egress_vault_fault(struct arena *arena,
			       const struct egress_model *model);
/* The policy's `credentials` for the bindings, and, appended to rules, those
 * of its rules that are for hosts of the rule at `at`. 0, or -1. */
json_t *egress_policy_credentials(const json_t *vault);
int egress_policy_rules(const struct egress_model *model, int at,
			json_t *rules);

/* ---- egress.c ---- */

struct egress_task;

/* Change the model as the request wants. 0, or -1: the request is answered. */
typedef int egress_edit_fn(struct egress_task *task,
			   struct egress_model *model);
/* Answer with the model that holds. */
typedef void egress_tell_fn(struct egress_task *task,
			    const struct egress_model *model);

/* A value that is to be lent before the change, or taken back after it. */
struct egress_lent {
	char secret[EGRESS_NAME_MAX + 1];
	struct bytes value; /* empty: taken back; of the exchange's arena */
};

struct egress_task {
	struct exchange *exchange;
	struct api *api;
	char sandbox[HOST_ID_MAX + 1];
	struct rpc *rpc;
	egress_edit_fn *edit; /* NULL: it is only shown */
	egress_tell_fn *tell;
	json_t *body; /* NULL: there is none */
	bool is_over;
	bool is_foreign; /* the policy is none of this API's */
	unsigned tries;
	char tag[27];		   /* no other's: of the names of values */
	struct egress_model model; /* that holds once it is done */
	char *text;
	char hash[EGRESS_HASH_MAX + 1];
	struct egress_lent lent[2 * EGRESS_LENT_MAX];
	size_t lent_count, lent_at;
	struct io_timer *pace; /* until the next is lent; NULL: never waited */
	unsigned paces;
	bool is_changed; /* it holds: what is left is taken back */
	bool is_undone;	 /* it does not: what was lent is taken back */
	uint16_t status; /* why, then */
	char why[EGRESS_WHY_MAX + 1];
};

/* Begin: read what holds, edit it (NULL: not), make it hold, tell it. body
 * (may be NULL) is taken. */
void egress_begin(struct exchange *exchange, egress_edit_fn *edit,
		  egress_tell_fn *tell, json_t *body);
/* Lend a value before the change (copied); empty: take it back after it. 0, or
 * -1: too many. */
int egress_lend(struct egress_task *task, const char *secret,
		struct bytes value);

#endif
