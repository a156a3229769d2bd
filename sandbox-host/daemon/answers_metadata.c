#include "sandbox-host/daemon/answers.h"
#include "sandbox-host/daemon/isolate.h"

static bool is_named(const struct host_patch *patch, struct bytes name)
{
	for (size_t i = 0; i < patch->unset_count; i++)
		if (bytes_equal(patch->unset[i].text, name))
			return true;
	return false;
}

/* What it stands beside is not a word of the asker's. */
static bool is_about_us(const struct host_patch *patch)
{
	for (size_t i = 0; i < patch->set_count; i++)
		if (isolate_is_key(patch->set[i].name))
			return true;
	for (size_t i = 0; i < patch->unset_count; i++)
		if (isolate_is_key(patch->unset[i].text))
			return true;
	return false;
}

/* Append or replace; -1: there are too many. */
static int put(struct text_pair *pairs, size_t *count,
	       const struct text_pair *pair)
{
	for (size_t i = 0; i < *count; i++)
		if (bytes_equal(pairs[i].name, pair->name)) {
			pairs[i].value = pair->value;
			return 0;
		}
	if (*count == REQUEST_METADATA_MAX)
		return -1;
	pairs[(*count)++] = *pair;
	return 0;
}

void answers_metadata(struct rpc_ticket ticket, const void *message, int *fd,
		      void *owner)
{
	const struct host_patch *patch = message;
	struct entry *entry = answers_find(owner, patch->id, ticket);
	struct text_pair pairs[REQUEST_METADATA_MAX];
	struct host_sandbox copy;
	size_t count = 0;
	int result = 0;
	struct err err;

	(void)fd;
	if (!entry)
		return;
	if (!state_accepts((enum host_state)entry->sandbox.state,
			   STATE_CHANGE)) {
		rpc_refuse(ticket, HOST_REFUSED_STATE, "the sandbox is over");
		return;
	}
	if (is_about_us(patch)) {
		rpc_refuse(ticket, HOST_REFUSED_FORBIDDEN,
			   ISOLATED_OF_KEY " is the daemon's to say");
		return;
	}
	copy = entry->sandbox;
	for (size_t i = 0; i < copy.metadata_count; i++)
		if (!is_named(patch, copy.metadata[i].name))
			pairs[count++] = copy.metadata[i];
	for (size_t i = 0; i < patch->set_count && result == 0; i++)
		if (!is_named(patch, patch->set[i].name))
			result = put(pairs, &count, &patch->set[i]);
	copy.metadata = pairs;
	copy.metadata_count = count;
	if (result < 0)
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "more than %d entries",
			   REQUEST_METADATA_MAX);
	else if (entry_store(entry, &copy, &err) < 0)
		rpc_refuse(ticket, HOST_REFUSED, "%s", err.text);
	else
		rpc_reply(ticket, &host_sandbox_schema, &entry->sandbox, -1);
}
