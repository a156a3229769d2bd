#include "policies/constraint.h"

#include <assert.h>

static const struct {
	const char *name;
	unsigned status;
	const char *text;
} constraints[CONSTRAINT_MAX] = {
#define X(name, status, text) [CONSTRAINT_##name] = {#name, status, text},
	CONSTRAINTS(X)
#undef X
};

const char *constraint_name(enum constraint constraint)
{
	assert(constraint < CONSTRAINT_MAX);
	return constraints[constraint].name;
}

const char *constraint_text(enum constraint constraint)
{
	assert(constraint < CONSTRAINT_MAX);
	return constraints[constraint].text;
}

unsigned constraint_status(enum constraint constraint)
{
	assert(constraint < CONSTRAINT_MAX);
	return constraints[constraint].status;
}

enum constraint constraint_from_name(struct bytes name)
{
	unsigned i = 0;

	while (i < CONSTRAINT_MAX && !bytes_is(name, constraints[i].name))
		i++;
	return (enum constraint)i;
}
