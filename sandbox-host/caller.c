#include "sandbox-host/caller.h"

#include <assert.h>

#include "sandbox-host/handle.h"

#define OWN_MAX (LIMITS_GROUPS_MAX + 2)

int caller_confine(const struct sandbox *sandbox,
		   const struct outside_place *places, size_t count,
		   struct err *err)
{
	struct outside_place all[CALLER_PLACES_MAX + OWN_MAX];
	size_t all_count = 0;

	assert(count <= CALLER_PLACES_MAX);
	for (size_t i = 0; i < count; i++)
		all[all_count++] = places[i];
	all[all_count++] = (struct outside_place){"/proc", OUTSIDE_READ};
	all[all_count++] = (struct outside_place){"/dev/null", OUTSIDE_WRITE};
	for (unsigned i = 0; i < sandbox->limits.group_count; i++)
		all[all_count++] = (struct outside_place){
			sandbox->limits.groups[i], OUTSIDE_REMOVE};
	return outside_confine(all, all_count, err);
}
