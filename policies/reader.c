#include "policies/reader.h"

#include "common/cleanup.h"
#include "common/quantity.h"

#define KNOWN_MAX     32 /* keys of one table, words of one choice */
#define NAME_MAX_LEN  64
#define NUMBER_DIGITS 15

static bool is_null(const struct text_node *node)
{
	return node->kind == TEXT_SCALAR && node->is_plain &&
	       (node->value.len == 0 || bytes_is(node->value, "~") ||
		bytes_is(node->value, "null"));
}

bool reader_kind(struct reader *reader, const struct text_node *node,
		 enum text_kind kind)
{
	static const char *const names[TEXT_KIND_MAX] = {
		[TEXT_SCALAR] = "one value",
		[TEXT_LIST] = "a list",
		[TEXT_MAP] = "a map of keys and values",
	};

	if (is_null(node))
		return node->key.len ? reader_error(reader, node,
						    "\"%.*s\" has no value",
						    BYTES_ARGS(node->key))
				     : reader_error(reader, node, "no value");
	if (node->kind != kind)
		return reader_error(reader, node, "this must be %s",
				    names[kind]);
	if (node->has_lines)
		return reader_error(reader, node,
				    "the value has line feeds "
				    "or tabs in it");
	return true;
}

bool reader_lines(struct reader *reader, const struct text_node *node,
		  struct bytes *text)
{
	struct text_node alone = *node;

	alone.has_lines = false;
	if (!reader_kind(reader, &alone, TEXT_SCALAR))
		return false;
	*text = node->value;
	return true;
}

static bool no_memory(struct reader *reader, const struct text_node *node)
{
	return reader_error(reader, node, "the text is too large to be read");
}

/* ---- maps ---- */

static void tell_unknown(struct reader *reader, const struct text_node *item,
			 const struct reader_field *fields, size_t count)
{
	const char *names[KNOWN_MAX], *hint;
	size_t known = 0;

	for (size_t i = 0; i < count && known < KNOWN_MAX; i++)
		if (fields[i].read)
			names[known++] = fields[i].name;
	hint = reader_place(reader, item->key);
	text_error(&reader->source, item->key_at, "unknown key \"%.*s\"%s",
		   BYTES_ARGS(item->key),
		   *hint ? hint : reader_hint(reader, item->key, names, known));
}

bool reader_map(struct reader *reader, const struct text_node *node,
		const struct reader_field *fields, size_t count, void *target)
{
	if (!reader_kind(reader, node, TEXT_MAP))
		return false;
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		size_t i = 0;

		while (i < count && !bytes_is(item->key, fields[i].name))
			i++;
		if (i == count)
			tell_unknown(reader, item, fields, count);
		else if (!fields[i].read)
			text_error(&reader->source, item->key_at,
				   "\"%s\" is not supported yet",
				   fields[i].name);
		else
			fields[i].read(reader, item, target, fields[i].offset);
	}
	return true;
}

void reader_keep(struct reader *reader, const struct text_node *node,
		 void *target, size_t offset)
{
	(void)reader;
	memcpy((char *)target + offset, &node, sizeof(node));
}

bool reader_require(struct reader *reader, const struct text_node *map,
		    const char *key)
{
	if (text_child(map, key))
		return true;
	return reader_error(reader, map, "\"%s\" is missing here", key);
}

/* ---- scalars ---- */

bool reader_scalar(struct reader *reader, const struct text_node *node,
		   struct bytes *value)
{
	if (!reader_kind(reader, node, TEXT_SCALAR))
		return false;
	if (node->value.len > READER_WORD_MAX)
		return reader_error(reader, node, "longer than %d bytes",
				    READER_WORD_MAX);
	*value = node->value;
	return true;
}

bool reader_word(struct reader *reader, const struct text_node *node,
		 struct bytes *word)
{
	struct bytes value;
	struct bytes copy;

	if (!reader_scalar(reader, node, &value))
		return false;
	if (bytes_find_bytes(value, bytes_str("${"), 0) >= 0)
		return reader_error(reader, node,
				    "variables have no meaning here");
	copy = arena_copy(reader->arena, value);
	if (copy.len != value.len)
		return no_memory(reader, node);
	*word = copy;
	return true;
}

static bool is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("._-", c));
}

bool reader_name(struct reader *reader, const struct text_node *node,
		 struct bytes *name)
{
	struct bytes word;

	if (!reader_word(reader, node, &word))
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!is_name_byte(word.data[i]))
			return reader_error(reader, node,
					    "a name is made of letters, "
					    "digits, '.', '_' and '-'");
	if (word.len == 0 || word.len > NAME_MAX_LEN)
		return reader_error(reader, node, "a name has 1 to %d bytes",
				    NAME_MAX_LEN);
	*name = word;
	return true;
}

bool reader_bool(struct reader *reader, const struct text_node *node,
		 bool *value)
{
	struct bytes word;

	if (!reader_scalar(reader, node, &word))
		return false;
	if (!node->is_plain ||
	    (!bytes_is(word, "true") && !bytes_is(word, "false")))
		return reader_error(reader, node, "this must be true or false");
	*value = bytes_is(word, "true");
	return true;
}

bool reader_number(struct reader *reader, const struct text_node *node,
		   uint64_t min, uint64_t max, uint64_t *value)
{
	struct bytes word;
	uint64_t number;

	if (!reader_scalar(reader, node, &word))
		return false;
	if (bytes_to_u64(word, NUMBER_DIGITS, &number) ||
	    (word.len > 1 && word.data[0] == '0') || number < min ||
	    number > max)
		return reader_error(
			reader, node, "this must be a number from %llu to %llu",
			(unsigned long long)min, (unsigned long long)max);
	*value = number;
	return true;
}

bool reader_size(struct reader *reader, const struct text_node *node,
		 uint64_t *bytes)
{
	struct bytes word;

	if (!reader_scalar(reader, node, &word))
		return false;
	if (quantity_size(word, bytes) < 0)
		return reader_error(reader, node, "this must be a size: %s",
				    QUANTITY_SIZE_WORDS);
	return true;
}

bool reader_duration(struct reader *reader, const struct text_node *node,
		     uint64_t *ms)
{
	struct bytes word;

	if (!reader_scalar(reader, node, &word))
		return false;
	if (quantity_time(word, ms) < 0)
		return reader_error(reader, node, "this must be a time: %s",
				    QUANTITY_TIME_WORDS);
	return true;
}

bool reader_choice(struct reader *reader, const struct text_node *node,
		   const struct choice *choices, size_t count, int *value)
{
	const char *names[KNOWN_MAX];
	const char *hint;
	size_t known = 0;
	struct bytes word;

	if (!reader_scalar(reader, node, &word))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!bytes_is(word, choices[i].name))
			continue;
		if (choices[i].value < 0)
			return reader_error(reader, node,
					    "\"%s\" is not supported yet",
					    choices[i].name);
		*value = choices[i].value;
		return true;
	}
	for (size_t i = 0; i < count && known < KNOWN_MAX; i++)
		if (choices[i].value >= 0)
			names[known++] = choices[i].name;
	hint = reader_hint(reader, word, names, known);
	if (*hint)
		return reader_error(reader, node,
				    "\"%.*s\" has no meaning here%s",
				    BYTES_ARGS(word), hint);
	return reader_error(reader, node, "this must be %s",
			    reader_words(reader, names, known));
}

/* ---- lists ---- */

bool reader_list(struct reader *reader, const struct text_node *node,
		 size_t size, reader_item_fn *read, void **items, size_t *count)
{
	size_t done = 0;
	char *array;

	if (!reader_kind(reader, node, TEXT_LIST))
		return false;
	if (node->count > POLICY_LIST_MAX)
		return reader_error(reader, node, "more than %d items",
				    POLICY_LIST_MAX);
	array = arena_array(reader->arena, node->count, size);
	if (!array)
		return no_memory(reader, node);
	for (const struct text_node *item = node->first; item;
	     item = item->next)
		if (read(reader, item, array + done * size))
			done++;
	*items = array;
	*count = done;
	return true;
}

bool reader_strings(struct reader *reader, const struct text_node *node,
		    reader_item_fn *read, struct policy_strings *strings)
{
	void *items = NULL;

	if (!reader_list(reader, node, sizeof(struct bytes), read, &items,
			 &strings->count))
		return false;
	strings->items = items;
	return true;
}

bool reader_word_item(struct reader *reader, const struct text_node *node,
		      void *item)
{
	return reader_word(reader, node, item);
}
