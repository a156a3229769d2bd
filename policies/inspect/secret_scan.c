#include <assert.h>
#include <hs/hs_runtime.h>
#include <stdlib.h>

#include "common/digest.h"
#include "policies/inspect/prints.h"
#include "policies/inspect/secret_database.h"
#include "policies/inspect/secret_kinds.h"
#include "policies/inspect/secrets.h"

/* Fed at once, so that offsets fit Vectorscan's types. */
#define PIECE_MAX ((size_t)1024 * 1024)

struct secret_scan {
	struct secret_look look;
	hs_stream_t *stream;
	struct prints_scan *prints; /* NULL: none to look for */
	uint64_t offset;	    /* in the stream, of piece */
	struct bytes piece;	    /* what is being fed */
	uint8_t past[SECRET_TEXT_MAX];
	size_t past_len; /* the last bytes before piece */
	const char *found;
};

static const char failed[] = "text that could not be scanned";

/* One process, one thread: read once, kept. */
static hs_database_t *database;
static hs_scratch_t *scratch;

static int load(struct err *err)
{
	if (database)
		return 0;
	if (hs_deserialize_database((const char *)secret_database,
				    secret_database_len,
				    &database) != HS_SUCCESS)
		return err_set(err, ERR_UNSUPPORTED,
			       "read secret database: not for this machine");
	if (hs_alloc_scratch(database, &scratch) == HS_SUCCESS)
		return 0;
	(void)hs_free_database(database);
	database = NULL;
	return err_set(err, ERR_LIBRARY, "read secret database: memory is out");
}

struct secret_scan *secret_scan_open(const struct secret_look *look,
				     struct err *err)
{
	struct secret_scan *scan;

	assert(look->exempt_count <= SECRET_EXEMPT_MAX);
	if (load(err) < 0)
		return NULL;
	scan = calloc(1, sizeof(*scan));
	if (scan && hs_open_stream(database, 0, &scan->stream) == HS_SUCCESS) {
		scan->look = *look;
		if (!look->prints)
			return scan;
		scan->prints = prints_scan_open(look->prints);
		if (scan->prints)
			return scan;
	}
	secret_scan_close(scan);
	err_set(err, ERR_LIBRARY, "scan for secrets: memory is out");
	return NULL;
}

/* The bytes [from, to) of the stream, less what is past remembering. */
static struct bytes text_of(const struct secret_scan *scan, uint64_t from,
			    uint64_t to, uint8_t room[SECRET_TEXT_MAX])
{
	uint64_t known = scan->offset - scan->past_len;
	size_t len = 0;

	/* A start too far away is told as HS_OFFSET_PAST_HORIZON. */
	if (from > to || from < known)
		from = known;
	if (to - from > SECRET_TEXT_MAX)
		from = to - SECRET_TEXT_MAX;
	if (from >= scan->offset)
		return bytes_slice(scan->piece, (size_t)(from - scan->offset),
				   (size_t)(to - scan->offset));
	for (; from < to; from++)
		room[len++] = from < scan->offset
				      ? scan->past[from - known]
				      : scan->piece.data[from - scan->offset];
	return bytes_from(room, len);
}

static bool is_exempt(const struct secret_look *look, struct bytes text)
{
	uint8_t digest[DIGEST_LEN];

	if (look->exempt_digest) {
		digest_sha256(text, bytes_from(NULL, 0), digest);
		if (!memcmp(digest, look->exempt_digest, DIGEST_LEN))
			return true;
	}
	for (size_t i = 0; i < look->exempt_count; i++)
		if (bytes_find_bytes(look->exempt[i], text, 0) >= 0)
			return true;
	return false;
}

/* Vectorscan's: not 0 ends the scan. */
static int on_match(unsigned id, unsigned long long from, unsigned long long to,
		    unsigned flags, void *context)
{
	const struct secret_kind *kind = &secret_kinds[id];
	struct secret_scan *scan = context;
	uint8_t room[SECRET_TEXT_MAX];
	struct bytes text = text_of(scan, from, to, room);

	(void)flags;
	if ((kind->check && !kind->check(text)) ||
	    !secret_entropy_reaches(text, kind->entropy_min) ||
	    is_exempt(&scan->look, text))
		return 0;
	scan->found = kind->name;
	return 1;
}

static void remember(struct secret_scan *scan, struct bytes piece)
{
	size_t kept;

	if (piece.len >= SECRET_TEXT_MAX) {
		piece = bytes_slice(piece, piece.len - SECRET_TEXT_MAX,
				    piece.len);
		scan->past_len = 0;
	}
	kept = SECRET_TEXT_MAX - piece.len;
	if (kept > scan->past_len)
		kept = scan->past_len;
	memmove(scan->past, scan->past + scan->past_len - kept, kept);
	memcpy(scan->past + kept, piece.data, piece.len);
	scan->past_len = kept + piece.len;
}

static void feed_piece(struct secret_scan *scan, struct bytes piece)
{
	hs_error_t rc;

	scan->piece = piece;
	rc = hs_scan_stream(scan->stream, (const char *)piece.data,
			    (unsigned)piece.len, 0, scratch, on_match, scan);
	if (rc != HS_SUCCESS && !scan->found)
		scan->found = failed;
	if (!scan->found && scan->prints)
		scan->found = prints_scan_feed(scan->prints, piece);
	remember(scan, piece);
	scan->offset += piece.len;
	scan->piece = bytes_from(NULL, 0);
}

const char *secret_scan_feed(struct secret_scan *scan, struct bytes bytes)
{
	while (bytes.len > 0 && !scan->found) {
		feed_piece(scan, bytes_slice(bytes, 0, PIECE_MAX));
		bytes = bytes_slice(bytes, PIECE_MAX, bytes.len);
	}
	return scan->found;
}

const char *secret_scan_end(struct secret_scan *scan)
{
	const char *found;

	if (hs_reset_stream(scan->stream, 0, scratch,
			    scan->found ? NULL : on_match,
			    scan) != HS_SUCCESS &&
	    !scan->found)
		scan->found = failed;
	found = scan->found;
	scan->found = NULL;
	scan->offset = 0;
	scan->past_len = 0;
	if (scan->prints)
		prints_scan_reset(scan->prints);
	return found;
}

void secret_scan_close(struct secret_scan *scan)
{
	if (!scan)
		return;
	if (scan->stream)
		(void)hs_close_stream(scan->stream, NULL, NULL, NULL);
	prints_scan_close(scan->prints);
	free(scan);
}
