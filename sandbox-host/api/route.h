/*
 * What can be asked for: method and pattern to a handler, who may, what
 * becomes of the body. One table for each area; route.c lists the tables.
 *
 * A pattern's "{}" is one piece of the path (exchange->pieces, in order), a
 * last piece "**" all the rest. Tables of kind ROUTES_LIFECYCLE stand below
 * "/" and "/v1/"; the others below the endpoint of a sandbox,
 * "/sandboxes/ID/execd", ".../egress", ".../proxy", which the pattern leaves
 * out: execd's "/command" is served at "/sandboxes/ID/execd/command", and its
 * exchange->sandbox is ID. The same stand below "/sandboxes/ID/signed/PROOF/".
 * Of two patterns the first one matches.
 */
#ifndef SANDBOX_HOST_API_ROUTE_H
#define SANDBOX_HOST_API_ROUTE_H

#include "common/bytes.h"

#define ROUTE_PIECES_MAX 4
#define ROUTE_ALLOW_SIZE 96

struct exchange;

enum route_may {
	ROUTE_OPEN, /* anybody */
	ROUTE_KEY,  /* who has an API key: lifecycle */
	/* Who has this sandbox's token of the endpoint's kind: execd's in
	 * X-EXECD-ACCESS-TOKEN, egress' in OPENSANDBOX-EGRESS-AUTH, any in
	 * X-SALLYPORT-TOKEN. */
	ROUTE_TOKEN,
	/* the same, but by no signed path: what answers is a page of the
	 * sandbox's, which could read the path that it is at */
	ROUTE_FIELD
};

enum route_body {
	ROUTE_WHOLE, /* collected, up to body_max; then the handler is called */
	ROUTE_STREAM /* the handler is called at once, sets on_piece and
			on_complete, and gets it piece by piece; body_max
			bounds the whole of it (0: no bound) */
};

struct route {
	const char *method; /* NULL ends a table; "*": any */
	const char *pattern;
	enum route_may may;
	size_t body_max;
	enum route_body body;
	void (*handle)(struct exchange *exchange);
};

enum route_place {
	ROUTES_LIFECYCLE,
	ROUTES_EXECD,
	ROUTES_EGRESS,
	ROUTES_PROXY,
	ROUTE_PLACE_MAX
};

struct route_table {
	enum route_place place;
	const struct route *routes;
};
/* All of them; ends with routes NULL. */
extern const struct route_table route_tables[];

/* What was found for a path. */
struct route_match {
	const struct route *route; /* NULL: see allow */
	enum route_place place;
	struct bytes sandbox; /* id; empty: none */
	struct bytes proof; /* of a signed route (auth.h); empty: it is none */
	struct bytes pieces[ROUTE_PIECES_MAX]; /* encoded */
	size_t piece_count;
	struct bytes rest;
	char allow[ROUTE_ALLOW_SIZE]; /* "GET, PUT"; "": no such path */
};
/* Look for a path (normalised; policies/path.h). Views borrow from it. */
void route_find(const struct route_table *tables, struct bytes method,
		struct bytes path, struct route_match *match);

#endif
