/*
 * The parameters of a tool: one table says what a client reads as JSON
 * Schema and what its arguments are held against.
 */
#ifndef CLI_MCP_PARAM_H
#define CLI_MCP_PARAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

enum param_type {
	PARAM_TEXT,   /* a string without NUL; max: its bytes */
	PARAM_WORDS,  /* strings; max: how many */
	PARAM_NUMBER, /* 0 to max */
	PARAM_MAP     /* strings by name; max: how many */
};

struct param {
	const char *name; /* NULL: the table's end */
	enum param_type type;
	bool is_required;
	int64_t max;
	const char *description;
};

/* JSON Schema (2020-12) of the arguments. New, or NULL: memory is out. */
json_t *param_schema(const struct param *params);
/* Are these (NULL: none) arguments for them? Unknown ones are refused by
 * name. 0, or -1 with what is wrong. */
int param_check(const struct param *params, json_t *arguments, struct err *err);

#endif
