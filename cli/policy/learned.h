/*
 * What a session was recorded to have asked for, and the policy that would
 * let just that pass. Pure: rows of the ledger in, a policy's text out.
 *
 *	learned_init(&learned, source, wants_denied);
 *	learned_take(&learned, row) ...   // in the ledger's order
 *	learned_write(&learned, title, &text, &err);
 *
 * Everything in a row that a sandbox could have chosen is untrusted: what
 * cannot be said exactly in a policy is left out, and a comment says so.
 */
#ifndef CLI_POLICY_LEARNED_H
#define CLI_POLICY_LEARNED_H

#include <jansson.h>
#include <uthash.h>

#include "common/buf.h"
#include "policies/constraint.h"
#include "policies/policy.h"
#include "policies/text.h"

/* Different ones. */
#define LEARNED_REQUESTS_MAX 20000
#define LEARNED_NOTES_MAX    100
#define LEARNED_ARENA_MAX    (256 * 1024 * 1024)
/* So many paths that differ in one segment alone stay as they are; more
 * become one with a '*' there. */
#define LEARNED_SIBLINGS_MAX 8
/* Only so many segments of a path, from its start, may become a '*'. */
#define LEARNED_SEGMENTS_MAX 16

enum learned_method {
	LEARNED_GET,
	LEARNED_HEAD,
	LEARNED_POST,
	LEARNED_PUT,
	LEARNED_PATCH,
	LEARNED_DELETE,
	LEARNED_OPTIONS,
	LEARNED_METHOD_MAX,
	/* A request that no policy can say. */
	LEARNED_UNSAID = LEARNED_METHOD_MAX,
	LEARNED_TUNNEL,
	LEARNED_CONNECTION /* opened, or refused; what followed says more */
};

/* The policy that the session ran with, checked. */
struct learned_source {
	const struct policy *policy;
	const struct text_node *root;
};

#define LEARNED_NO_ORIGIN SIZE_MAX

/* One that was asked for at least once, and what was said to it. */
struct learned_request {
	size_t origin; /* which of source's own rules; LEARNED_NO_ORIGIN */
	struct bytes host, path, credential;
	uint16_t port;
	enum learned_method method;
	bool is_websocket;
	bool was_allowed, was_refused;
	enum constraint refused; /* why, the last time */
	UT_hash_handle hh;
};

struct learned_ref {
	struct bytes name; /* without refs/heads/, refs/tags/ */
	bool is_tag;
	enum constraint refused; /* none: it was allowed */
	struct learned_ref *next;
};

struct learned_repo {
	struct bytes url, host, path, credential;
	uint16_t port;
	bool has_fetched;	  /* or was refused that, and: */
	bool was_read;		  /* once it passed */
	enum constraint refused;  /* why not, the last time */
	unsigned verbs;		  /* enum policy_verbs */
	bool is_unproven;	  /* an update that nobody looked at */
	struct learned_ref *refs; /* each once, sorted */
	size_t ref_count;
};

struct learned_note {
	struct bytes text;
	struct learned_note *next;
};

struct learned {
	struct arena arena;
	const struct learned_source *source; /* NULL: not known */
	bool wants_denied;
	uint64_t rows;
	struct learned_request *requests; /* uthash */
	struct learned_repo repos[POLICY_REPOS_MAX];
	size_t repo_count;
	/* What is left out and why, each once. */
	struct learned_note *notes, **notes_end;
	size_t note_count, more_notes;
	uint64_t refused; /* rows that are left out since they were refused */
};

void learned_init(struct learned *learned, const struct learned_source *source,
		  bool wants_denied);
void learned_release(struct learned *learned);

/* One row of the ledger (gateway/ledger/row.h). 0, or -1: too much was asked
 * for. */
int learned_take(struct learned *learned, const json_t *row, struct err *err);

/* Append the policy, of at most POLICY_TEXT_MAX bytes, that was checked to be
 * one. title: of the comment on top. 0, or -1. */
int learned_write(struct learned *learned, struct bytes title, struct buf *out,
		  struct err *err);

/* ---- between the files of it ---- */

struct yaml;

/* Say once that something is left out. format: words of ours and what was
 * recorded, untrusted. */
void learned_note(struct learned *learned, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Is it to be written? */
bool learned_is_wanted(const struct learned *learned,
		       const struct learned_request *request);

/* A path, perhaps with '*', and how many it stands for. */
struct learned_path {
	struct bytes text;
	unsigned methods; /* bits */
	size_t seen;
};

/* May this pattern stand for paths of a method? */
typedef bool learned_free_fn(struct bytes pattern, void *owner);
/* Replace more than LEARNED_SIBLINGS_MAX paths that differ in one segment by
 * one with a '*' there, where is_free allows it. Returns how many are left,
 * sorted. -1 when memory is out. */
ptrdiff_t learned_generalise(struct learned_path *paths, size_t count,
			     struct arena *arena, learned_free_fn *is_free,
			     void *owner);

/* network.rules, and git. 0, or -1 when memory is out. */
int learned_write_rules(struct learned *learned, struct yaml *yaml);
void learned_write_git(struct learned *learned, struct yaml *yaml);
/* The definition of a credential, or NULL: it is not known. */
const struct text_node *learned_credential(const struct learned *learned,
					   struct bytes name);

#endif
