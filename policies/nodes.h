/*
 * GitHub's GraphQL names things by opaque ids: an id does not say whose
 * repository the thing is in, so a rule cannot know from a mutation alone
 * what it is about. body.graphql.nodes says which arguments are ids and what
 * they must be of; before the mutation leaves, GitHub is asked, by a query
 * of ours, and what it answers is held against the rule. Pure: who sends the
 * query is gateway/edge/verify.c.
 *
 *	nodes_collect(rule, body, &arena, &questions)	 the ids, what is asked
 *	nodes_write(&questions, &out)			 our query
 *	nodes_hold(&questions, reply, &why)		 its answer
 *
 * What the policy asks stands true at the time of the answer: a pull request
 * keeps its head and its repository for life.
 */
#ifndef POLICIES_NODES_H
#define POLICIES_NODES_H

#include <jansson.h>

#include "common/arena.h"
#include "common/buf.h"
#include "policies/policy_rule.h"

#define NODES_MAX	16 /* of one request */
#define NODE_ID_MAX	256
#define NODES_QUERY_MAX (NODES_MAX * (NODE_ID_MAX + 128) + 1024)
#define NODES_REPLY_MAX (64 * 1024)
#define NODES_WHY_MAX	512

struct inspection;

/* An id (untrusted, of the letters that ids have) and what it must be of. */
struct node_question {
	struct bytes id;
	const struct policy_node *asked;
};
struct node_questions {
	struct node_question items[NODES_MAX];
	size_t count;
};

/* Do the arguments of a root field of that name have an id wherever asked
 * says, and at least one? Of another field: true. Adds them to questions,
 * which may be NULL; false as well when there are more than NODES_MAX. */
bool nodes_add(const struct policy_node *asked, struct bytes field,
	       const json_t *arguments, struct node_questions *questions);

/* All ids of the operations that would run, copied into arena. The body was
 * read and the rule allows it. 0; -1: too many, or memory is out. */
int nodes_collect(const struct policy_rule *rule, struct inspection *body,
		  struct arena *arena, struct node_questions *questions);

/* Append the query, as the JSON of a request. 0, or -1: out has no room
 * (NODES_QUERY_MAX is enough). */
int nodes_write(const struct node_questions *questions, struct buf *out);

/* Does the reply (untrusted JSON) say of every id what is asked? When not,
 * why gets a sentence (NODES_WHY_MAX is enough). */
bool nodes_hold(const struct node_questions *questions, struct bytes reply,
		struct buf *why);

#endif
