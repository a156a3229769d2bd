/*
 * How long something took that waits for sockets and timers, less the time in
 * which the machine was busy with others: no turn waits for longer than
 * PATIENCE_TURN_MS, and what one took beyond that was not ours.
 */
#ifndef TESTS_DIALER_PATIENCE_H
#define TESTS_DIALER_PATIENCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/io.h"

#define PATIENCE_TURN_MS 20

struct patience {
	uint64_t began_ms;
	uint64_t lost_ms;
};

static inline struct patience patience_begin(void)
{
	return (struct patience){.began_ms = clock_monotonic_ms()};
}

/* All of it. */
static inline uint64_t patience_real_ms(const struct patience *patience)
{
	return clock_monotonic_ms() - patience->began_ms;
}

/* Less what was lost. */
static inline uint64_t patience_ms(const struct patience *patience)
{
	return patience_real_ms(patience) - patience->lost_ms;
}

static inline void patience_turn(struct patience *patience,
				 struct io_loop *loop)
{
	uint64_t began_ms = clock_monotonic_ms();
	uint64_t took_ms;
	struct err err;

	assert_int_equal(io_loop_turn(loop, PATIENCE_TURN_MS, &err), 0);
	took_ms = clock_monotonic_ms() - began_ms;
	if (took_ms > PATIENCE_TURN_MS)
		patience->lost_ms += took_ms - PATIENCE_TURN_MS;
}

#endif
