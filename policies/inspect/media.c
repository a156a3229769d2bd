#include "policies/inspect/media.h"

/* RFC 9110 5.6.2. */
static bool is_token_byte(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

static size_t token_len(struct bytes text)
{
	size_t len = 0;

	while (len < text.len && is_token_byte(text.data[len]))
		len++;
	return len;
}

/* Take len bytes off the front. */
static struct bytes take(struct bytes *text, size_t len)
{
	struct bytes taken = bytes_slice(*text, 0, len);

	*text = bytes_slice(*text, len, text->len);
	return taken;
}

static void skip_blanks(struct bytes *text)
{
	while (text->len && (text->data[0] == ' ' || text->data[0] == '\t'))
		take(text, 1);
}

/* What escapes mean inside quotes differs between readers: none here. */
static int take_quoted(struct bytes *text, struct bytes *value)
{
	size_t len = 1;

	while (len < text->len && text->data[len] != '"') {
		uint8_t c = text->data[len++];

		if (c == '\\' || c < ' ' || c == 0x7f)
			return -1;
	}
	if (len == text->len)
		return -1;
	*value = bytes_slice(take(text, len + 1), 1, len);
	return 0;
}

static int take_param(struct bytes *text, struct media *media)
{
	struct media_param *param = &media->params[media->count];

	if (media->count == MEDIA_PARAMS_MAX)
		return -1;
	param->name = take(text, token_len(*text));
	/* RFC 2231: "boundary*" wins over "boundary" for some readers. */
	if (param->name.len == 0 || text->len < 2 || text->data[0] != '=' ||
	    bytes_find(param->name, '*', 0) >= 0)
		return -1;
	take(text, 1);
	if (text->data[0] == '"') {
		if (take_quoted(text, &param->value) < 0)
			return -1;
	} else {
		param->value = take(text, token_len(*text));
		if (param->value.len == 0)
			return -1;
	}
	for (size_t i = 0; i < media->count; i++)
		if (bytes_equal_nocase(media->params[i].name, param->name))
			return -1;
	media->count++;
	return 0;
}

int media_parse(struct bytes text, struct media *media)
{
	size_t len;

	*media = (struct media){0};
	text = bytes_trim(text);
	len = token_len(text);
	if (len < text.len && text.data[len] == '/')
		len += 1 + token_len(bytes_slice(text, len + 1, text.len));
	media->value = take(&text, len);
	if (len == 0)
		return -1;
	while (text.len > 0) {
		skip_blanks(&text);
		if (text.len == 0 || text.data[0] != ';')
			return -1;
		take(&text, 1);
		skip_blanks(&text);
		if (take_param(&text, media) < 0)
			return -1;
	}
	return 0;
}

const struct bytes *media_param(const struct media *media, const char *name)
{
	for (size_t i = 0; i < media->count; i++)
		if (bytes_is_nocase(media->params[i].name, name))
			return &media->params[i].value;
	return NULL;
}

bool media_is_utf8(const struct media *media)
{
	const struct bytes *charset = media_param(media, "charset");

	return !charset || bytes_is_nocase(*charset, "utf-8");
}

bool media_is_type(const struct media *media)
{
	ptrdiff_t slash = bytes_find(media->value, '/', 0);

	return slash > 0 && (size_t)slash + 1 < media->value.len;
}

bool media_is_json(const struct media *media)
{
	static const char suffix[] = "+json";
	const size_t len = sizeof(suffix) - 1;
	struct bytes subtype = media->value;
	struct bytes type;

	if (bytes_is_nocase(media->value, "application/json"))
		return true;
	return media_is_type(media) && bytes_split(&subtype, '/', &type) &&
	       subtype.len > len &&
	       bytes_is_nocase(
		       bytes_slice(subtype, subtype.len - len, subtype.len),
		       suffix);
}
