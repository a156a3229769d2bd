/*
 * A look at a pack's entries before libgit2 works on them (gitformat-pack(5)):
 * each is inflated and thrown away, to know how large the objects are that
 * the pack would make. So a bomb costs what its first bytes cost.
 *
 *	pack_scan_feed(&scan, bytes, &err)	for each piece, in order
 *
 * The pack is untrusted. Chains of deltas are measured where a delta names
 * its base by place; one that names it by id is as deep as one may be that
 * has no base, and is bounded by the process's time.
 */
#ifndef GATEWAY_PACKCHECK_SCAN_H
#define GATEWAY_PACKCHECK_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "common/err.h"

/* Of what all objects of a pack hold: so much always may be, beyond it so
 * many times the pack's own bytes. */
#define SCAN_INFLATED_FREE ((uint64_t)256 << 20)
#define SCAN_RATIO_MAX	   200
/* Of one object; git's own hosts stop at 100 MiB. */
#define SCAN_OBJECT_MAX ((uint64_t)256 << 20)
/* What git itself makes at most (pack.depth). */
#define SCAN_DEPTH_MAX 4095

struct pack_scan;

/* NULL: memory is out. */
struct pack_scan *pack_scan_new(uint64_t objects_max);
void pack_scan_free(struct pack_scan *scan);
/* Look at the next bytes. 0, or -1: ERR_TOO_LARGE, the pack is more than it
 * may be; ERR_INVALID, it is none. Not to be called again then. */
int pack_scan_feed(struct pack_scan *scan, struct bytes bytes, struct err *err);
/* Were all entries and the trailer there? */
bool pack_scan_is_whole(const struct pack_scan *scan);
/* Bytes that the objects seen so far hold. */
uint64_t pack_scan_inflated(const struct pack_scan *scan);

#endif
