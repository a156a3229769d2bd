#include "policies/host.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <libpsl.h>

#include "common/cleanup.h"
#include "policies/host_range.h"

#define LABEL_MAX_LEN 63

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool all(struct bytes text, bool (*is)(uint8_t))
{
	for (size_t i = 0; i < text.len; i++)
		if (!is(text.data[i]))
			return false;
	return true;
}

/* The literal as inet_ntop writes it, into out. */
static bool address_canonical(int family, struct bytes text,
			      char out[HOST_NAME_MAX_LEN + 1])
{
	char in[INET6_ADDRSTRLEN];
	uint8_t address[16];

	if (text.len == 0 || text.len >= sizeof(in) ||
	    bytes_find(text, 0, 0) >= 0)
		return false;
	memcpy(in, text.data, text.len);
	in[text.len] = '\0';
	if (inet_pton(family, in, address) != 1)
		return false;
	return inet_ntop(family, address, out, HOST_NAME_MAX_LEN + 1);
}

/* The LDH label in lower case into out[label.len]. */
static bool label_canonical(struct bytes label, char *out)
{
	if (label.len == 0 || label.len > LABEL_MAX_LEN ||
	    label.data[0] == '-' || label.data[label.len - 1] == '-')
		return false;
	for (size_t i = 0; i < label.len; i++) {
		uint8_t c = label.data[i];

		if (c >= 'A' && c <= 'Z')
			c = (uint8_t)(c + ('a' - 'A'));
		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-')
			return false;
		out[i] = (char)c;
	}
	return true;
}

/* Would some resolver read a name that ends so as a number? */
static bool label_is_number(struct bytes label)
{
	if (bytes_starts_with(label, bytes_str("0x")))
		return all(bytes_slice(label, 2, label.len), is_hex);
	return all(label, is_digit);
}

static bool name_canonical(struct bytes name, char out[HOST_NAME_MAX_LEN + 1])
{
	struct bytes label = {NULL, 0};
	size_t at = 0;
	bool more = true;

	if (name.len && name.data[name.len - 1] == '.')
		name.len--;
	if (name.len == 0 || name.len > HOST_NAME_MAX_LEN)
		return false;
	while (more) {
		more = bytes_split(&name, '.', &label);
		if (!label_canonical(label, out + at))
			return false;
		label = bytes_from(out + at, label.len);
		at += label.len;
		if (more)
			out[at++] = '.';
	}
	out[at] = '\0';
	return !label_is_number(label);
}

/* An IPv4 address in an IPv6 one (RFC 4291 2.5.5.2) is that: what a policy says
 * of it holds however it is written. */
static enum host_kind v6_canonical(struct bytes text,
				   char out[HOST_NAME_MAX_LEN + 1])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t address[16];

	if (!address_canonical(AF_INET6, text, out) ||
	    inet_pton(AF_INET6, out, address) != 1)
		return HOST_INVALID;
	if (memcmp(address, mapped, sizeof(mapped)) != 0)
		return HOST_IPV6;
	return inet_ntop(AF_INET, address + sizeof(mapped), out,
			 HOST_NAME_MAX_LEN + 1)
		       ? HOST_IPV4
		       : HOST_INVALID;
}

enum host_kind host_canonical(struct bytes host,
			      char out[HOST_NAME_MAX_LEN + 1])
{
	if (host.len >= 2 && host.data[0] == '[' &&
	    host.data[host.len - 1] == ']')
		return v6_canonical(bytes_slice(host, 1, host.len - 1), out);
	if (bytes_find(host, ':', 0) >= 0)
		return v6_canonical(host, out);
	/* Most names say by their first byte that they are none. */
	if (host.len > 0 && is_digit(host.data[0]) &&
	    address_canonical(AF_INET, host, out))
		return HOST_IPV4;
	return name_canonical(host, out) ? HOST_NAME : HOST_INVALID;
}

/* A canonical name never ends with a digit-only label. */
static bool is_address(struct bytes host)
{
	size_t at = host.len;

	while (at > 0 && is_digit(host.data[at - 1]))
		at--;
	if (at < host.len && (at == 0 || host.data[at - 1] == '.'))
		return true;
	return bytes_find(host, ':', 0) >= 0 || host_is_range(host);
}

bool host_matches(struct bytes pattern, struct bytes host)
{
	if (pattern.len == 0 || host.len == 0)
		return false;
	if (pattern.data[0] != '*')
		return bytes_equal(pattern, host) ||
		       (host_is_range(pattern) &&
			host_range_covers(pattern, host));
	if (pattern.len == 1)
		return !is_address(host);
	pattern = bytes_slice(pattern, 1, pattern.len);
	return host.len > pattern.len && bytes_ends_with(host, pattern);
}

static bool is_8bit(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] >= 0x80)
			return true;
	return false;
}

int host_to_ascii(struct arena *arena, struct bytes text, struct bytes *out,
		  struct err *err)
{
	const char *in;
	char *ascii = NULL;
	int status;

	if (!is_8bit(text)) {
		*out = text;
		return 0;
	}
	in = arena_str(arena, text);
	if (!in)
		return err_set(err, ERR_TOO_LARGE, "no memory for a host");
	if (bytes_find(text, 0, 0) >= 0)
		return err_set(err, ERR_INVALID, "the host holds a NUL");
	status = idn2_to_ascii_8z(in, &ascii,
				  IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);
	if (status != IDN2_OK)
		return err_set(err, ERR_INVALID,
			       "\"%s\" is not an internationalised name: %s",
			       in, idn2_strerror(status));
	*out = arena_copy(arena, bytes_str(ascii));
	idn2_free(ascii);
	return out->len ? 0 : err_set(err, ERR_TOO_LARGE, "no memory");
}

/* The builtin list also takes every unlisted top-level name as a suffix. */
static bool is_public_suffix(const char *name)
{
	const psl_ctx_t *psl = psl_builtin();

	return !psl || psl_is_public_suffix(psl, name);
}

/* As example.com:443. An address of IPv6 has more colons. */
static bool has_port(struct bytes text)
{
	ptrdiff_t colon = bytes_find(text, ':', 0);
	size_t at = colon < 0 ? text.len : (size_t)colon + 1;

	if (colon <= 0 || at == text.len)
		return false;
	while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
		at++;
	return at == text.len;
}

int host_pattern(struct arena *arena, struct bytes text, struct bytes *pattern,
		 struct err *err)
{
	char name[HOST_NAME_MAX_LEN + 1];
	bool wildcard = bytes_starts_with(text, bytes_str("*."));
	struct bytes rest = bytes_slice(text, wildcard ? 2 : 0, text.len);
	enum host_kind kind;
	char *out;

	if (bytes_is(text, "*")) {
		*pattern = arena_copy(arena, text);
		return pattern->len ? 0 : err_set(err, ERR_TOO_LARGE, "memory");
	}
	if (bytes_find(rest, '*', 0) >= 0)
		return err_set(err, ERR_INVALID,
			       "'*' may only be a host's whole first label");
	if (host_to_ascii(arena, rest, &rest, err) < 0)
		return -1;
	kind = host_canonical(rest, name);
	if (kind == HOST_INVALID || (wildcard && kind != HOST_NAME))
		return err_set(err, ERR_INVALID,
			       has_port(text)
				       ? "\"%.*s\" has a port: write its host "
					 "alone, the port in \"ports\""
				       : "\"%.*s\" is not a host name or "
					 "address",
			       BYTES_ARGS(text));
	if (wildcard && is_public_suffix(name))
		return err_set(err, ERR_INVALID,
			       "anybody can have a name under \"%s\" (it is a "
			       "public suffix): list the hosts",
			       name);
	out = arena_format(arena, "%s%s", wildcard ? "*." : "", name);
	if (!out)
		return err_set(err, ERR_TOO_LARGE, "no memory for a host");
	*pattern = bytes_str(out);
	return 0;
}
