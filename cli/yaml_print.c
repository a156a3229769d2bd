#include "cli/yaml_print.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A JSON string is a YAML one in double quotes (YAML 1.2.2, 1.3). */
static int put_scalar(FILE *out, const json_t *value)
{
	int put = json_dumpf(value, out, JSON_ENCODE_ANY);

	return put < 0 || fputc('\n', out) == EOF ? -1 : 0;
}

static bool is_word(const char *key)
{
	return key[0] &&
	       strspn(key, "abcdefghijklmnopqrstuvwxyz_") == strlen(key);
}

static int put_key(FILE *out, const char *key)
{
	json_t *text = is_word(key) ? NULL : json_string(key);
	int put =
		text ? json_dumpf(text, out, JSON_ENCODE_ANY) : fputs(key, out);

	json_decref(text);
	return put < 0 || fputc(':', out) == EOF ? -1 : 0;
}

static int put_value(FILE *out, const json_t *value, int indent);

static bool is_nested(const json_t *value)
{
	return json_object_size(value) > 0 || json_array_size(value) > 0;
}

/* What stands behind "key:" or "-". */
static int put_behind(FILE *out, const json_t *value, int indent)
{
	if (fputc(is_nested(value) ? '\n' : ' ', out) == EOF)
		return -1;
	return is_nested(value) ? put_value(out, value, indent + 2)
				: put_scalar(out, value);
}

static int put_value(FILE *out, const json_t *value, int indent)
{
	json_t *item;
	const char *key;
	size_t index;

	json_array_foreach(value, index, item)
	{
		if (fprintf(out, "%*s-", indent, "") < 0 ||
		    put_behind(out, item, indent) < 0)
			return -1;
	}
	json_object_foreach((json_t *)(uintptr_t)value, key, item)
	{
		if (fprintf(out, "%*s", indent, "") < 0 ||
		    put_key(out, key) < 0 || put_behind(out, item, indent) < 0)
			return -1;
	}
	return 0;
}

int yaml_print(FILE *out, const json_t *value)
{
	if (fputs("---\n", out) == EOF)
		return -1;
	return is_nested(value) ? put_value(out, value, 0)
				: put_scalar(out, value);
}
