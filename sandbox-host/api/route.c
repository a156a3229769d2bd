#include "sandbox-host/api/route.h"

#include <stdio.h>
#include <string.h>

/* The next piece of a path that begins with '/'; false: there is none. */
static bool take_piece(struct bytes *path, struct bytes *piece)
{
	ptrdiff_t end;

	if (path->len == 0 || path->data[0] != '/')
		return false;
	end = bytes_find(*path, '/', 1);
	if (end < 0)
		end = (ptrdiff_t)path->len;
	*piece = bytes_slice(*path, 1, (size_t)end);
	*path = bytes_slice(*path, (size_t)end, path->len);
	return true;
}

static bool take_word(struct bytes *path, const char *word)
{
	struct bytes rest = *path, piece;

	if (!take_piece(&rest, &piece) || !bytes_is(piece, word))
		return false;
	*path = rest;
	return true;
}

static bool matches(const struct route *route, struct bytes path,
		    struct route_match *match)
{
	struct bytes pattern = bytes_str(route->pattern);
	struct bytes wanted, piece;
	size_t count = 0;

	while (take_piece(&pattern, &wanted)) {
		if (bytes_is(wanted, "**") && pattern.len == 0) {
			match->rest = path;
			match->piece_count = count;
			return true;
		}
		if (!take_piece(&path, &piece))
			return false;
		if (bytes_is(wanted, "{}")) {
			if (piece.len == 0 || count == ROUTE_PIECES_MAX)
				return false;
			match->pieces[count++] = piece;
		} else if (!bytes_equal(wanted, piece)) {
			return false;
		}
	}
	match->piece_count = count;
	return path.len == 0;
}

/* A HEAD is served as a GET. */
static bool serves(const struct route *route, struct bytes method)
{
	return !strcmp(route->method, "*") || bytes_is(method, route->method) ||
	       (bytes_is(method, "HEAD") && !strcmp(route->method, "GET"));
}

static void allow(struct route_match *match, const char *method)
{
	size_t len = strlen(match->allow);

	if (!strstr(match->allow, method))
		(void)snprintf(match->allow + len, sizeof(match->allow) - len,
			       "%s%s", len ? ", " : "", method);
}

static void find_in(const struct route *routes, struct bytes method,
		    struct bytes path, struct route_match *match)
{
	for (const struct route *route = routes; route->method; route++) {
		struct route_match found = {0};

		if (!matches(route, path, &found))
			continue;
		if (!serves(route, method)) {
			allow(match, route->method);
			continue;
		}
		match->route = route;
		match->rest = found.rest;
		match->piece_count = found.piece_count;
		memcpy(match->pieces, found.pieces, sizeof(match->pieces));
		return;
	}
}

/* Is it below the endpoint of a sandbox? */
static enum route_place find_place(struct bytes *path,
				   struct route_match *match)
{
	static const struct {
		const char *word;
		enum route_place place;
	} words[] = {
		{"execd", ROUTES_EXECD},
		{"egress", ROUTES_EGRESS},
		{"proxy", ROUTES_PROXY},
	};
	struct bytes rest = *path, id, proof = {0};

	if (!take_word(&rest, "sandboxes") || !take_piece(&rest, &id) ||
	    id.len == 0)
		return ROUTES_LIFECYCLE;
	if (take_word(&rest, "signed") && !take_piece(&rest, &proof))
		return ROUTES_LIFECYCLE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!take_word(&rest, words[i].word))
			continue;
		*path = rest;
		match->sandbox = id;
		match->proof = proof;
		return words[i].place;
	}
	return ROUTES_LIFECYCLE;
}

void route_find(const struct route_table *tables, struct bytes method,
		struct bytes path, struct route_match *match)
{
	*match = (struct route_match){0};
	(void)take_word(&path, "v1");
	match->place = find_place(&path, match);
	for (; tables->routes && !match->route; tables++)
		if (tables->place == match->place)
			find_in(tables->routes, method, path, match);
}
