/*
 * Reading a text's tree by tables: every key is known, every value is
 * checked, everything that is wrong is told (text.h) and reading goes on.
 * Functions return false when they have told an error; what they would
 * have set then keeps its value.
 *
 *	static const struct reader_field fields[] = {
 *		{"memory", read_memory, 0},
 *		{"cpu", NULL, 0},	// "cpu" is not supported yet
 *	};
 *	reader_map(reader, node, fields, ARRAY_SIZE(fields), limits);
 */
#ifndef POLICIES_READER_H
#define POLICIES_READER_H

#include "policies/text.h"

#define READER_WORD_MAX 4096

struct reader {
	struct text_source source;
	struct arena *arena; /* where what is read lives */
	void *owner;	     /* whose reader it is, for the read functions */
};

struct reader_field {
	const char *name;
	/* target is what reader_map() was given. NULL: the key is known and
	 * not supported yet. */
	void (*read)(struct reader *reader, const struct text_node *node,
		     void *target, size_t offset);
	size_t offset; /* handed to read */
};

/* A word with a meaning; value -1: known and not supported yet. */
struct choice {
	const char *name;
	int value;
};

/* Read a map, key by key in the text's order. */
bool reader_map(struct reader *reader, const struct text_node *node,
		const struct reader_field *fields, size_t count, void *target);
/* A read function: keep the node itself, a const struct text_node *. */
void reader_keep(struct reader *reader, const struct text_node *node,
		 void *target, size_t offset);
/* Is node of that kind, with a value, of one line if it is a scalar? */
bool reader_kind(struct reader *reader, const struct text_node *node,
		 enum text_kind kind);
/* Is the key there? It is an error when it is not. */
bool reader_require(struct reader *reader, const struct text_node *map,
		    const char *key);

/* A scalar with a value, as it stands; borrows from node. */
bool reader_scalar(struct reader *reader, const struct text_node *node,
		   struct bytes *value);
/* The same, and it may have line feeds and tabs in it. */
bool reader_lines(struct reader *reader, const struct text_node *node,
		  struct bytes *text);
/* The same, copied, without variables in it. */
bool reader_word(struct reader *reader, const struct text_node *node,
		 struct bytes *word);
/* A word of letters, digits, '.', '_' and '-', at most 64 bytes. */
bool reader_name(struct reader *reader, const struct text_node *node,
		 struct bytes *name);
bool reader_bool(struct reader *reader, const struct text_node *node,
		 bool *value);
bool reader_number(struct reader *reader, const struct text_node *node,
		   uint64_t min, uint64_t max, uint64_t *value);
/* "64KiB", in bytes, not 0. */
bool reader_size(struct reader *reader, const struct text_node *node,
		 uint64_t *bytes);
/* "90s", in milliseconds, not 0. */
bool reader_duration(struct reader *reader, const struct text_node *node,
		     uint64_t *ms);
bool reader_choice(struct reader *reader, const struct text_node *node,
		   const struct choice *choices, size_t count, int *value);

/* Read one item of a list into item, which is zeroed. */
typedef bool reader_item_fn(struct reader *reader, const struct text_node *node,
			    void *item);
/* An array of all items of a list that were read, of size bytes each. */
bool reader_list(struct reader *reader, const struct text_node *node,
		 size_t size, reader_item_fn *read, void **items,
		 size_t *count);
/* A list of struct bytes. */
bool reader_strings(struct reader *reader, const struct text_node *node,
		    reader_item_fn *read, struct policy_strings *strings);
/* A reader_item_fn: reader_word(). */
bool reader_word_item(struct reader *reader, const struct text_node *node,
		      void *item);

/* "; did you mean "x"?" in arena, or "" when no name is close to word. */
const char *reader_hint(struct reader *reader, struct bytes word,
			const char *const *names, size_t count);

/* "; a policy has it in "network"" in arena, or "" when key is none of those
 * that are often put elsewhere. */
const char *reader_place(struct reader *reader, struct bytes key);

/* "a, b or c" in arena. */
const char *reader_words(struct reader *reader, const char *const *names,
			 size_t count);

/* Tell an error where node stands. Always false. */
#define reader_error(reader, node, ...)                                        \
	(text_error(&(reader)->source, (node)->at, __VA_ARGS__), false)

#endif
