/*
 * Time. Wall clock in UTC milliseconds since 1970 for records and expiry
 * shown to people; monotonic milliseconds for waits and lifetimes.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define CLOCK_TEXT_SIZE 25 /* "2026-11-21T19:00:59.123Z" and NUL */

uint64_t clock_wall_ms(void);
uint64_t clock_monotonic_ms(void);
/* The same, with the time in which the host slept. */
uint64_t clock_boot_ms(void);
/* Is the wall clock set to a year before that of this build (security B20)?
 * Then no certificate, token or record has a time that means anything. */
bool clock_is_before_build(uint64_t wall_ms);
/* RFC 3339, UTC, with milliseconds; what is past the year 9999 shows as its
 * last millisecond. Opens no file, as gmtime_r() would at its first call. */
void clock_format(uint64_t wall_ms, char out[CLOCK_TEXT_SIZE]);
/* Parse RFC 3339 with T and Z, years 1970 to 9999, no leap second; fraction
 * optional, cut to milliseconds. 0, or -1. */
int clock_parse(struct bytes text, uint64_t *wall_ms);

#endif
