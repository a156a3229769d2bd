#include "gateway/edge/placeholders.h"

#include "policies/inspect/secrets.h"

static void add(struct placeholders *all,
		const struct policy_credential *credential,
		enum placeholder_part part, struct bytes text)
{
	all->items[all->count] = (struct placeholder){
		.credential = credential,
		.part = part,
		.text = text,
	};
	all->count++;
}

static int add_made(struct placeholders *all,
		    const struct policy_credential *credential,
		    enum placeholder_part part, const uint8_t *lease_hash,
		    struct arena *arena)
{
	char *text = arena_alloc(arena, PLACEHOLDER_SIZE);
	size_t len;

	if (!text)
		return -1;
	len = placeholder_make(lease_hash, credential->name, credential->shape,
			       part, text);
	add(all, credential, part, bytes_from(text, len));
	/* One that a policy chose may be somebody's secret. */
	if (all->texts_count < SECRET_EXEMPT_MAX)
		all->texts[all->texts_count++] = bytes_from(text, len);
	return 0;
}

const struct placeholders *placeholders_make(struct policy *policy,
					     const uint8_t *lease_hash)
{
	size_t most = PLACEHOLDER_PART_MAX * policy->credential_count;
	struct arena *arena = &policy->arena;
	struct placeholders *all = arena_alloc(arena, sizeof(*all));

	if (!all)
		return NULL;
	*all = (struct placeholders){
		.items = arena_array(arena, most, sizeof(all->items[0])),
		.texts = arena_array(arena, most, sizeof(all->texts[0])),
	};
	if (!all->items || !all->texts)
		return NULL;
	for (size_t i = 0; i < policy->credential_count; i++) {
		const struct policy_credential *of = &policy->credentials[i];
		unsigned parts = of->placeholder_env.count
					 ? placeholder_parts(of->shape)
					 : 0;

		if (of->placeholder_text.len > 0)
			add(all, of, PLACEHOLDER_VALUE, of->placeholder_text);
		for (unsigned part = 0; part < parts; part++)
			if (add_made(all, of, (enum placeholder_part)part,
				     lease_hash, arena) < 0)
				return NULL;
	}
	return all;
}
