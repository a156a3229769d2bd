#include "gateway/vault/former.h"

#include <string.h>

static void drop(struct former *former, size_t at)
{
	secret_release(&former->values[at].value);
	former->count--;
	memmove(&former->values[at], &former->values[at + 1],
		(former->count - at) * sizeof(former->values[0]));
}

void former_keep(struct former *former, struct bytes name, struct secret *value,
		 uint64_t now_ms)
{
	struct former_value *kept;

	if (former->count == FORMER_MAX)
		drop(former, 0);
	kept = &former->values[former->count++];
	*kept = (struct former_value){.value = *value,
				      .until_ms = now_ms + FORMER_KEEP_MS};
	memcpy(kept->name, name.data,
	       name.len < SECRET_NAME_MAX ? name.len : SECRET_NAME_MAX);
	secret_init(value);
}

void former_expire(struct former *former, uint64_t now_ms)
{
	while (former->count > 0 && former->values[0].until_ms <= now_ms)
		drop(former, 0);
}

void former_forget(struct former *former, struct bytes name)
{
	for (size_t i = former->count; i-- > 0;)
		if (bytes_is(name, former->values[i].name))
			drop(former, i);
}

void former_release(struct former *former)
{
	while (former->count > 0)
		drop(former, former->count - 1);
}
