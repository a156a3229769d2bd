#include "gateway/http/guard_fields.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "gateway/http/classes.h"

#define LENGTH_DIGITS_MAX 15

static bool all_of_class(struct bytes text, uint8_t class)
{
	for (size_t i = 0; i < text.len; i++)
		if (!(http_classes[text.data[i]] & class))
			return false;
	return true;
}

bool http_is_token(struct bytes text)
{
	return text.len > 0 && all_of_class(text, CLASS_TOKEN);
}

bool http_is_value(struct bytes text)
{
	/* What is printable is of the class. */
	return all_of_class(bytes_slice(text, words_printable(text), text.len),
			    CLASS_VALUE);
}

bool http_is_target(struct bytes text)
{
	return text.len > 0 && all_of_class(text, CLASS_TARGET);
}

static const char *version(struct guard_facts *facts, struct bytes text)
{
	facts->is_http10 = bytes_is(text, "HTTP/1.0");
	if (!facts->is_http10 && !bytes_is(text, "HTTP/1.1"))
		return "the version is not HTTP/1.1 or HTTP/1.0";
	return NULL;
}

const char *guard_request_line(struct guard_facts *facts, struct bytes line)
{
	struct bytes rest = line, method, target;

	if (!bytes_split(&rest, ' ', &method) || !http_is_token(method))
		return "the request line does not start with a method";
	if (method.len > GUARD_METHOD_MAX)
		return "the method is too long";
	if (!bytes_split(&rest, ' ', &target) || !http_is_target(target))
		return "the request target has bytes that it may not have";
	facts->names_host = target.data[0] != '/';
	return version(facts, rest);
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

const char *guard_status_line(struct guard_facts *facts, struct bytes line)
{
	struct bytes rest = line, protocol;
	const char *reason;

	if (!bytes_split(&rest, ' ', &protocol))
		return "the status line has no status";
	reason = version(facts, protocol);
	if (reason)
		return reason;
	if (rest.len < 3 || rest.data[0] < '1' || rest.data[0] > '5' ||
	    !is_digit(rest.data[1]) || !is_digit(rest.data[2]) ||
	    (rest.len > 3 && rest.data[3] != ' '))
		return "the status is not a number from 100 to 599";
	return NULL;
}

static const char *field_length(struct guard_facts *facts, struct bytes value)
{
	if (facts->has_length)
		return "there are two Content-Length fields";
	facts->has_length = true;
	if (value.len > 1 && value.data[0] == '0')
		return "Content-Length has a leading zero";
	if (bytes_to_u64(value, LENGTH_DIGITS_MAX, &facts->length) < 0)
		return "Content-Length is not 1 to 15 digits";
	return NULL;
}

static const char *field_coding(struct guard_facts *facts, struct bytes value)
{
	if (facts->is_chunked)
		return "there are two Transfer-Encoding fields";
	if (!bytes_is_nocase(value, "chunked"))
		return "Transfer-Encoding is not chunked";
	facts->is_chunked = true;
	return NULL;
}

/* Options name fields that a hop takes out: only those we take out anyway,
 * so that no option can hide a field from a rule (A32). Some servers list
 * Transfer-Encoding, which we take out too. */
static const char *field_connection(struct guard_facts *facts,
				    enum guard_kind kind, struct bytes value)
{
	struct bytes option;
	bool more;

	do {
		more = bytes_split(&value, ',', &option);
		option = bytes_trim(option);
		if (bytes_is_nocase(option, "close"))
			facts->says_close = true;
		else if (bytes_is_nocase(option, "keep-alive"))
			facts->says_keep_alive = true;
		else if (bytes_is_nocase(option, "upgrade"))
			facts->has_upgrade = facts->says_upgrade = true;
		else if (option.len > 0 && !bytes_is_nocase(option, "te") &&
			 (kind == GUARD_REQUEST ||
			  !bytes_is_nocase(option, "transfer-encoding")))
			return "Connection names a field that it may not";
	} while (more);
	return NULL;
}

static void field_upgrade(struct guard_facts *facts, struct bytes value)
{
	facts->has_upgrade = true;
	facts->upgrades++;
	facts->is_websocket = bytes_is_nocase(value, "websocket");
}

static const char *field_expect(struct guard_facts *facts, struct bytes value)
{
	if (facts->expects_continue || !bytes_is_nocase(value, "100-continue"))
		return "Expect is not 100-continue";
	facts->expects_continue = true;
	return NULL;
}

static bool is_letter_or_digit(uint8_t c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Compare letters and digits only. */
static bool looks_like(struct bytes name, const char *guarded)
{
	for (size_t i = 0; i < name.len; i++) {
		if (!is_letter_or_digit(name.data[i]))
			continue;
		if (*guarded == '\0' || (name.data[i] | 0x20) != *guarded)
			return false;
		guarded++;
	}
	return *guarded == '\0';
}

/* A name that a server behind us may take for one that was checked: CGI
 * turns '-' into '_', others drop what they do not know (A13). */
static bool is_look_alike(struct bytes name)
{
	static const char *const guarded[] = {
		"host",
		"contentlength",
		"transferencoding",
		"connection",
		"upgrade",
		"expect",
		"te",
		"trailer",
		"contentencoding",
		"contenttype",
		"authorization",
		"cookie",
		"proxyauthorization",
		"keepalive",
		"proxyconnection",
		"gitprotocol",
	};
	size_t i = 0;

	while (i < name.len &&
	       (is_letter_or_digit(name.data[i]) || name.data[i] == '-'))
		i++;
	if (i == name.len)
		return false;
	for (i = 0; i < ARRAY_SIZE(guarded); i++)
		if (looks_like(name, guarded[i]))
			return true;
	return false;
}

const char *guard_field(struct guard_facts *facts, enum guard_kind kind,
			struct bytes name, struct bytes value)
{
	bool is_request = kind == GUARD_REQUEST;

	if (name.len == 14 && bytes_is_nocase(name, "Content-Length"))
		return field_length(facts, value);
	if (name.len == 17 && bytes_is_nocase(name, "Transfer-Encoding"))
		return field_coding(facts, value);
	if (name.len == 10 && bytes_is_nocase(name, "Connection"))
		return field_connection(facts, kind, value);
	if (name.len == 7 && bytes_is_nocase(name, "Upgrade"))
		field_upgrade(facts, value);
	if (name.len == 4 && bytes_is_nocase(name, "Host"))
		facts->hosts++;
	if (is_request && name.len == 6 && bytes_is_nocase(name, "Expect"))
		return field_expect(facts, value);
	if (is_look_alike(name))
		return "a field name looks like one that delimits or routes";
	return NULL;
}

const char *guard_whole(const struct guard_facts *facts, enum guard_kind kind)
{
	bool may_lack_host = facts->is_http10 && facts->names_host;

	if (facts->is_chunked && facts->has_length)
		return "Content-Length and Transfer-Encoding are both there";
	if (facts->is_chunked && facts->is_http10)
		return "Transfer-Encoding is not for HTTP/1.0";
	if (kind != GUARD_REQUEST)
		return NULL;
	if (facts->hosts > 1)
		return "there are two Host fields";
	if (facts->hosts == 0 && !may_lack_host)
		return "there is no Host field";
	return NULL;
}
