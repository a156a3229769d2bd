/*
 * Which sources the configuration names, and how they do; no value.
 */
#include "common/cleanup.h"
#include "gateway/vault/supply.h"

/* What went wrong may be in an endpoint's words. */
static struct bytes printable(struct bytes text, struct arena *arena)
{
	char *copy = arena_str(arena, bytes_slice(text, 0, SOURCE_WHY_MAX));

	for (char *at = copy; at && *at; at++)
		if (*at < 0x20 || *at > 0x7e)
			*at = '?';
	return bytes_str(copy);
}

static void add_supply(struct msg_source_entry *entry,
		       const struct supply *supply, uint64_t now_ms,
		       uint64_t wall_ms)
{
	if (supply->why[0])
		entry->why = bytes_str(supply->why);
	if (supply->value.len == 0 || supply->expires_ms <= now_ms)
		return;
	entry->held++;
	if (wall_ms + supply->expires_ms - now_ms > entry->until_ms)
		entry->until_ms = wall_ms + supply->expires_ms - now_ms;
}

static void fill(struct msg_source_entry *entry, const struct vault *vault,
		 const struct config_source *source, uint64_t wall_ms)
{
	uint64_t now_ms = io_loop_now_ms(vault->keeper->loop);
	const struct supply *supply;

	*entry = (struct msg_source_entry){.name = source->name,
					   .kind = source->kind};
	for (supply = vault->supplies; supply; supply = supply->hh.next)
		if (supply->source == source)
			add_supply(entry, supply, now_ms, wall_ms);
	if (entry->held)
		entry->state = SOURCE_HELD;
	else if (entry->why.len)
		entry->state = SOURCE_FAILED;
}

int supply_list(const struct vault *vault, uint64_t wall_ms,
		struct arena *arena, struct msg_source_list *list,
		struct err *err)
{
	const struct gateway_config *config = &vault->keeper->config;
	struct msg_source_entry *entries =
		arena_array(arena, config->sources_count, sizeof(*entries));

	*list = (struct msg_source_list){.sources = entries};
	if (config->sources_count == 0)
		return 0;
	if (!entries)
		return err_set(err, ERR_SYSTEM, "list sources: no memory");
	for (size_t i = 0; i < config->sources_count; i++) {
		fill(&entries[i], vault, &config->sources[i], wall_ms);
		entries[i].why = printable(entries[i].why, arena);
	}
	list->sources_count = config->sources_count;
	return 0;
}
