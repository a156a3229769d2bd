/*
 * A JSON value as YAML, for -o yaml. Strings stay in double quotes: what
 * somebody inside chose is a string and nothing else, and keeps its type.
 */
#ifndef CLI_YAML_PRINT_H
#define CLI_YAML_PRINT_H

#include <jansson.h>
#include <stdio.h>

/* Print one document, keys in their order. 0, or -1. */
int yaml_print(FILE *out, const json_t *value);

#endif
