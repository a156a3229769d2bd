#include "cli/policy/yaml.h"

#include <stdarg.h>
#include <stdio.h>

#define PUT_BYTES 512

void yaml_raw(struct yaml *yaml, struct bytes bytes)
{
	if (yaml->is_full || buf_add(yaml->out, bytes) < 0)
		yaml->is_full = true;
}

void yaml_put(struct yaml *yaml, const char *format, ...)
{
	char text[PUT_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		yaml->is_full = true;
	else
		yaml_raw(yaml, bytes_from(text, (size_t)len));
}

static void quote_byte(struct yaml *yaml, uint8_t c)
{
	if (c == '"' || c == '\\')
		yaml_put(yaml, "\\%c", c);
	else if (c == '\n')
		yaml_put(yaml, "\\n");
	else if (c < ' ' || c == 0x7f)
		yaml_put(yaml, "\\x%02x", c);
	else
		yaml_raw(yaml, bytes_from(&c, 1));
}

void yaml_quote(struct yaml *yaml, struct bytes text)
{
	yaml_put(yaml, "\"");
	for (size_t i = 0; i < text.len; i++)
		quote_byte(yaml, text.data[i]);
	yaml_put(yaml, "\"");
}

/* ---- comments ---- */

void yaml_remark(struct yaml *yaml, int indent, const char *words,
		 struct bytes text)
{
	yaml_put(yaml, "%*s# %s", indent, "", words);
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c < ' ' || c > 0x7e)
			c = '?';
		yaml_raw(yaml, bytes_from(&c, 1));
	}
	yaml_put(yaml, "\n");
}

/* ---- what was read ---- */

static bool is_word(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (!(c >= 'a' && c <= 'z') && c != '-')
			return false;
	}
	return text.len > 0 && text.data[0] != '-';
}

static void put_scalar(struct yaml *yaml, const struct text_node *node)
{
	yaml_put(yaml, " ");
	if (node->is_plain)
		yaml_raw(yaml, node->value);
	else
		yaml_quote(yaml, node->value);
	yaml_put(yaml, "\n");
}

/* What stands behind "key:" or "-". */
static void put_value(struct yaml *yaml, int indent,
		      const struct text_node *node)
{
	if (node->kind == TEXT_SCALAR) {
		put_scalar(yaml, node);
		return;
	}
	if (!node->first) {
		yaml_put(yaml, node->kind == TEXT_MAP ? " {}\n" : " []\n");
		return;
	}
	yaml_put(yaml, "\n");
	for (const struct text_node *item = node->first; item;
	     item = item->next) {
		if (node->kind == TEXT_MAP)
			yaml_node(yaml, indent + 2, item);
		else
			yaml_item(yaml, indent + 2, item);
	}
}

void yaml_pair(struct yaml *yaml, int indent, const struct text_node *node)
{
	if (is_word(node->key))
		yaml_raw(yaml, node->key);
	else
		yaml_quote(yaml, node->key);
	yaml_put(yaml, ":");
	put_value(yaml, indent, node);
}

void yaml_node(struct yaml *yaml, int indent, const struct text_node *node)
{
	yaml_put(yaml, "%*s", indent, "");
	yaml_pair(yaml, indent, node);
}

/* A map's first pair stands behind the dash. */
void yaml_item(struct yaml *yaml, int indent, const struct text_node *node)
{
	yaml_put(yaml, "%*s-", indent, "");
	if (node->kind != TEXT_MAP || !node->first) {
		put_value(yaml, indent, node);
		return;
	}
	yaml_put(yaml, " ");
	yaml_pair(yaml, indent + 2, node->first);
	for (const struct text_node *item = node->first->next; item;
	     item = item->next)
		yaml_node(yaml, indent + 2, item);
}
