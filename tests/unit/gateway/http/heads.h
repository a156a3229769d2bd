/*
 * For the tests of heads: guard and head in one call, whole or byte by
 * byte.
 */
#ifndef TESTS_UNIT_GATEWAY_HTTP_HEADS_H
#define TESTS_UNIT_GATEWAY_HTTP_HEADS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/http/head.h"

#define TEXT(literal) bytes_from(literal, sizeof(literal) - 1)

enum outcome { OUTCOME_MORE, OUTCOME_REFUSED, OUTCOME_ACCEPTED };

/* What came of one head. Lives in its own arena. */
struct tried {
	struct arena arena;
	struct guard guard;
	struct http_fault fault;
	struct request request;
	struct response response;
	struct bytes proxy_authorization;
	size_t head_len;
};

/* Scan text, giving step more bytes each time. */
static inline enum guard_result scan_by(struct guard *guard, struct bytes text,
					size_t step, size_t *head_len)
{
	enum guard_result result = GUARD_MORE;

	for (size_t n = step < text.len ? step : text.len;;
	     n = n + step < text.len ? n + step : text.len) {
		result = guard_scan(guard, bytes_slice(text, 0, n), head_len);
		if (result != GUARD_MORE || n == text.len)
			return result;
	}
}

static inline enum outcome try_head(struct tried *tried, struct bytes text,
				    size_t step, const char *response_to)
{
	struct bytes head;
	int result;

	arena_init(&tried->arena, HEAD_ARENA_BYTES);
	guard_init(&tried->guard, response_to ? GUARD_RESPONSE : GUARD_REQUEST);
	switch (scan_by(&tried->guard, text, step, &tried->head_len)) {
	case GUARD_MORE:
		return OUTCOME_MORE;
	case GUARD_INVALID:
		tried->fault = tried->guard.fault;
		return OUTCOME_REFUSED;
	case GUARD_COMPLETE:
		break;
	}
	head = bytes_slice(text, 0, tried->head_len);
	result = response_to ? head_response(&tried->arena, &tried->guard, head,
					     bytes_str(response_to),
					     &tried->response, &tried->fault)
			     : head_request(&tried->arena, &tried->guard, head,
					    &tried->request,
					    &tried->proxy_authorization,
					    &tried->fault);
	return result < 0 ? OUTCOME_REFUSED : OUTCOME_ACCEPTED;
}

static inline void tried_release(struct tried *tried)
{
	arena_release(&tried->arena);
}

/* A hostile head, what it is refused for, and its twin without the
 * violation. */
struct twin {
	const char *attack; /* row of security.md and what is tried */
	struct bytes refused;
	enum constraint constraint;
	struct bytes accepted;
};

#define TWIN(attack, refused, constraint, accepted)                            \
	{attack, BYTES_LITERAL(refused), constraint, BYTES_LITERAL(accepted)}

static inline void check_one(const struct twin *twin, struct bytes text,
			     size_t step, const char *response_to,
			     enum constraint constraint)
{
	struct tried tried = {.head_len = 0};
	enum outcome outcome = try_head(&tried, text, step, response_to);
	enum outcome wanted = constraint == CONSTRAINT_none ? OUTCOME_ACCEPTED
							    : OUTCOME_REFUSED;

	if (outcome != wanted || tried.fault.constraint != constraint)
		fail_msg("%s (step %zu): outcome %d, %s, %s", twin->attack,
			 step, outcome, constraint_name(tried.fault.constraint),
			 tried.fault.reason ? tried.fault.reason : "-");
	if (constraint != CONSTRAINT_none)
		assert_non_null(tried.fault.reason);
	tried_release(&tried);
}

static inline void check_twins(const struct twin *twins, size_t count,
			       const char *response_to)
{
	static const size_t steps[] = {1, 7, SIZE_MAX / 2};

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < 3; j++) {
			check_one(&twins[i], twins[i].refused, steps[j],
				  response_to, twins[i].constraint);
			check_one(&twins[i], twins[i].accepted, steps[j],
				  response_to, CONSTRAINT_none);
		}
	}
}

#endif
