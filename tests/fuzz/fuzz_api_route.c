/*
 * A path and a query (after the first LF) on their way to a handler: what is
 * found lies within the path, what is decoded holds what it may.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/cleanup.h"
#include "policies/path.h"
#include "sandbox-host/api/decode.h"
#include "sandbox-host/api/route.h"

#define ARENA_MAX (1024 * 1024)

static const struct route lifecycle[] = {
	{"GET", "/sandboxes", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{"POST", "/sandboxes/{}/pause", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{"GET", "/sandboxes/{}/endpoints/{}", ROUTE_KEY, 0, ROUTE_WHOLE, NULL},
	{0},
};
static const struct route proxy[] = {
	{"*", "/{}/**", ROUTE_TOKEN, 0, ROUTE_STREAM, NULL},
	{0},
};
static const struct route execd[] = {
	{"GET", "/{}/{}/{}/{}", ROUTE_TOKEN, 0, ROUTE_STREAM, NULL},
	{"PATCH", "/{}/{}/{}/{}/{}", ROUTE_TOKEN, 0, ROUTE_STREAM, NULL},
	{0},
};
static const struct route_table tables[] = {
	{ROUTES_LIFECYCLE, lifecycle},
	{ROUTES_PROXY, proxy},
	{ROUTES_EXECD, execd},
	{ROUTE_PLACE_MAX, NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(struct bytes part, struct bytes path)
{
	assert(part.len == 0 || (part.data >= path.data &&
				 part.data + part.len <= path.data + path.len));
}

static void check_route(struct arena *arena, struct bytes path)
{
	struct route_match match;
	struct bytes piece;

	route_find(tables, bytes_str("GET"), path, &match);
	check_within(match.sandbox, path);
	check_within(match.rest, path);
	assert(match.piece_count <= ROUTE_PIECES_MAX);
	assert(strlen(match.allow) < sizeof(match.allow));
	for (size_t i = 0; match.route && i < match.piece_count; i++) {
		check_within(match.pieces[i], path);
		if (decode_piece(arena, match.pieces[i], &piece) < 0)
			continue;
		assert(piece.len > 0 && piece.len <= match.pieces[i].len);
		assert(bytes_find(piece, '/', 0) < 0);
		assert(bytes_find(piece, '\0', 0) < 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_type(arena_release) struct arena arena;
	struct bytes query = bytes_from(data, size), raw, path, name, value;
	size_t left = size;
	struct err err;

	arena_init(&arena, ARENA_MAX);
	(void)bytes_split(&query, '\n', &raw);
	if (raw.len > 0 && raw.data[0] == '/' &&
	    path_normalise(&arena, raw, &path, &err) == 0)
		check_route(&arena, path);
	while (decode_pair(&arena, &query, &name, &value) == 1) {
		assert(name.len + value.len <= size);
		assert(query.len < left);
		left = query.len;
	}
	return 0;
}
