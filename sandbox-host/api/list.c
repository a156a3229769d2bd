/* GET /sandboxes: the daemon answers some at a time, a page has more. */
#include "common/cleanup.h"
#include "sandbox-host/api/decode.h"
#include "sandbox-host/api/lifecycle.h"
#include "sandbox-host/api/shown.h"

#define PAGE_MAX	1000000
#define PAGE_SIZE_MAX	200
#define PAGE_SIZE_USUAL 20
#define STATES_MAX	32

struct listing {
	struct host_query query; /* what is still to be asked */
	struct lifecycle_page page;
	json_t *items;
};

static void on_end(struct exchange *exchange)
{
	const struct listing *listing = exchange->task;

	json_decref(listing->items);
}

static bool read_states(struct exchange *exchange, struct host_query *query)
{
	struct bytes names[STATES_MAX];
	size_t count = exchange_query_all(exchange, "state", names, STATES_MAX);
	bool is_known = count == 0;

	for (size_t i = 0; i < count; i++) {
		enum host_state state;

		if (host_state_find(names[i], &state) < 0)
			continue;
		query->states |= 1u << state;
		is_known = true;
	}
	return is_known;
}

/* Encoded once more than the query that it stands in. */
static bool read_metadata(struct exchange *exchange, struct host_query *query)
{
	struct bytes text, name, value;
	struct text_pair *pairs = arena_array(
		exchange->arena, REQUEST_METADATA_MAX, sizeof(*pairs));
	int result = 1;

	if (!exchange_query(exchange, "metadata", &text))
		return true;
	while (pairs && query->metadata_count < REQUEST_METADATA_MAX) {
		result = decode_pair(exchange->arena, &text, &name, &value);
		if (result <= 0)
			break;
		if (name.len > REQUEST_KEY_MAX ||
		    value.len > REQUEST_VALUE_MAX || !wire_is_text(name) ||
		    !wire_is_text(value))
			result = -1;
		if (result < 0)
			break;
		pairs[query->metadata_count++] =
			(struct text_pair){name, value};
	}
	query->metadata = pairs;
	if (result == 0)
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST",
		      "metadata must be name=value&name=value, encoded");
	return false;
}

void lifecycle_reply_page(struct exchange *exchange,
			  const struct lifecycle_page *page, json_t *items,
			  uint64_t total)
{
	uint64_t pages = (total + page->size - 1) / page->size;
	json_t *shown =
		json_pack("{s:O, s:{s:I, s:I, s:I, s:I, s:b}}", "items", items,
			  "pagination", "page", (json_int_t)page->page,
			  "pageSize", (json_int_t)page->size, "totalItems",
			  (json_int_t)total, "totalPages", (json_int_t)pages,
			  "hasNextPage", page->page < pages);

	exchange_reply_json(exchange, 200, shown);
}

static void reply(struct exchange *exchange, uint64_t total)
{
	const struct listing *listing = exchange->task;

	lifecycle_reply_page(exchange, &listing->page, listing->items, total);
}

static void ask(struct exchange *exchange);

static void on_list(struct exchange *exchange, const void *message, int *fd)
{
	struct listing *listing = exchange->task;
	const struct host_list *list = message;

	(void)fd;
	for (size_t i = 0; i < list->sandboxes_count; i++)
		(void)json_array_append_new(
			listing->items,
			shown_sandbox(&list->sandboxes[i], true));
	listing->query.skip += (uint32_t)list->sandboxes_count;
	if (list->sandboxes_count == 0 ||
	    json_array_size(listing->items) >= listing->page.size ||
	    listing->query.skip >= list->total)
		reply(exchange, list->total);
	else
		ask(exchange);
}

static void ask(struct exchange *exchange)
{
	struct listing *listing = exchange->task;
	uint64_t wanted = listing->page.size - json_array_size(listing->items);
	const struct exchange_question question = {
		.type = MSG_HOST_LIST,
		.schema = &host_query_schema,
		.message = &listing->query,
		.fd = -1,
		.reply_schema = &host_list_schema,
	};

	listing->query.limit =
		(uint32_t)(wanted < HOST_LIST_MAX ? wanted : HOST_LIST_MAX);
	exchange_ask(exchange, &question, on_list);
}

bool lifecycle_read_page(struct exchange *exchange, struct lifecycle_page *page)
{
	*page = (struct lifecycle_page){1, PAGE_SIZE_USUAL};
	if (!exchange_query_number(exchange, "page", PAGE_MAX, &page->page) ||
	    !exchange_query_number(exchange, "pageSize", PAGE_SIZE_MAX,
				   &page->size))
		return false;
	if (page->page > 0 && page->size > 0)
		return true;
	exchange_fail(exchange, 400, "INVALID_REQUEST",
		      "page and pageSize begin at 1");
	return false;
}

void lifecycle_list(struct exchange *exchange)
{
	struct listing *listing =
		arena_alloc(exchange->arena, sizeof(*listing));

	if (!listing) {
		exchange_fail_memory(exchange);
		return;
	}
	if (!lifecycle_read_page(exchange, &listing->page) ||
	    !read_metadata(exchange, &listing->query))
		return;
	listing->items = json_array();
	exchange->task = listing;
	exchange->on_end = on_end;
	listing->query.skip =
		(uint32_t)((listing->page.page - 1) * listing->page.size);
	/* Of states that there are not, there are no sandboxes. */
	if (read_states(exchange, &listing->query))
		ask(exchange);
	else
		reply(exchange, 0);
}
