#include "policies/policy_credential.h"

#include "common/cleanup.h"
#include "policies/compile.h"
#include "policies/path.h"

/* ---- headers ---- */

/* As CGI reads a name: '_' is '-'. */
static bool is_name(struct bytes name, const char *wanted)
{
	size_t i = 0;

	for (; i < name.len && wanted[i]; i++) {
		uint8_t c = name.data[i] == '_' ? '-' : name.data[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != (uint8_t)wanted[i])
			return false;
	}
	return i == name.len && !wanted[i];
}

static bool is_one_of(struct bytes name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_name(name, names[i]))
			return true;
	return false;
}

static bool begins(struct bytes name, const char *prefix)
{
	return is_name(bytes_slice(name, 0, strlen(prefix)), prefix);
}

const char *credential_header_fault(struct bytes name)
{
	static const char *const hop[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"connection",
		"te",
		"keep-alive",
		"trailer",
		"upgrade",
		"expect",
		"http2-settings",
		"content-encoding",
		"date",
		"content-type",
		"accept-encoding",
		"range",
		"via",
	};
	static const char *const overrides[] = {
		"x-http-method-override",
		"x-http-method",
		"x-method-override",
		"x-original-url",
		"x-rewrite-url",
		"x-original-method",
		"x-forwarded-host",
		"x-forwarded-prefix",
		"x-forwarded-server",
		"x-forwarded-uri",
		"x-forwarded-path",
		"x-forwarded-method",
		"forwarded",
		"x-original-host",
		"x-original-uri",
		"x-http-host-override",
		"x-host",
		"x-script-name",
		"script-name",
	};

	if (is_one_of(name, hop, ARRAY_SIZE(hop)) || begins(name, "proxy-"))
		return "this header belongs to the connection";
	if (begins(name, "sec-websocket-") || begins(name, "sallyport-") ||
	    begins(name, "x-sallyport-"))
		return "this header is the gateway's own";
	if (is_one_of(name, overrides, ARRAY_SIZE(overrides)))
		return "this header asks for another request";
	return NULL;
}

/* ---- what is covered ---- */

static bool has_port(const struct policy_credential *credential, uint16_t port)
{
	for (size_t i = 0; i < credential->port_count; i++)
		if (credential->ports[i] == port)
			return true;
	return credential->port_count == 0;
}

static bool has_method(const struct policy_credential *credential,
		       struct bytes method)
{
	for (size_t i = 0; i < credential->methods.count; i++)
		if (bytes_equal(credential->methods.items[i], method))
			return true;
	return credential->methods.count == 0;
}

static bool has_path(const struct policy_credential *credential,
		     struct bytes path)
{
	for (size_t i = 0; i < credential->paths.count; i++)
		if (path_matches(credential->paths.items[i], path))
			return true;
	return credential->paths.count == 0;
}

enum constraint credential_covers(const struct policy_credential *credential,
				  uint16_t port, struct bytes method,
				  struct bytes path)
{
	if (!has_port(credential, port))
		return CONSTRAINT_port_not_allowed;
	if (!has_method(credential, method))
		return CONSTRAINT_method_not_allowed;
	if (!has_path(credential, path))
		return CONSTRAINT_path_not_allowed;
	return CONSTRAINT_none;
}

/* ---- two of them ---- */

static bool hosts_meet(const struct policy_strings *one,
		       const struct policy_strings *two)
{
	for (size_t i = 0; i < one->count; i++)
		for (size_t j = 0; j < two->count; j++)
			if (pattern_covers(one->items[i], two->items[j]) ||
			    pattern_covers(two->items[j], one->items[i]))
				return true;
	return false;
}

static bool ports_meet(const struct policy_credential *one,
		       const struct policy_credential *two)
{
	for (size_t i = 0; i < one->port_count; i++)
		if (has_port(two, one->ports[i]))
			return true;
	return one->port_count == 0;
}

static bool methods_meet(const struct policy_credential *one,
			 const struct policy_credential *two)
{
	for (size_t i = 0; i < one->methods.count; i++)
		if (has_method(two, one->methods.items[i]))
			return true;
	return one->methods.count == 0;
}

static struct bytes before_star(struct bytes glob)
{
	ptrdiff_t star = bytes_find(glob, '*', 0);

	return star < 0 ? glob : bytes_slice(glob, 0, (size_t)star);
}

static struct bytes after_star(struct bytes glob)
{
	size_t from = glob.len;

	while (from > 0 && glob.data[from - 1] != '*')
		from--;
	return bytes_slice(glob, from, glob.len);
}

static bool globs_meet(struct bytes one, struct bytes two)
{
	struct bytes a = before_star(one), b = before_star(two);

	if (a.len == one.len)
		return path_matches(two, one);
	if (b.len == two.len)
		return path_matches(one, two);
	if (!bytes_starts_with(a, b) && !bytes_starts_with(b, a))
		return false;
	a = after_star(one);
	b = after_star(two);
	return bytes_ends_with(a, b) || bytes_ends_with(b, a);
}

static bool paths_meet(const struct policy_strings *one,
		       const struct policy_strings *two)
{
	for (size_t i = 0; i < one->count; i++)
		for (size_t j = 0; j < two->count; j++)
			if (globs_meet(one->items[i], two->items[j]))
				return true;
	return one->count == 0 || two->count == 0;
}

bool credential_meets(const struct policy_credential *one,
		      const struct policy_credential *two)
{
	return hosts_meet(&one->hosts, &two->hosts) && ports_meet(one, two) &&
	       methods_meet(one, two) && paths_meet(&one->paths, &two->paths);
}

/* ---- AWS ---- */

/* The last label, taken off names. */
static struct bytes take_last(struct bytes *names)
{
	size_t from = names->len;
	struct bytes label;

	while (from > 0 && names->data[from - 1] != '.')
		from--;
	label = bytes_slice(*names, from, names->len);
	*names = bytes_slice(*names, 0, from ? from - 1 : 0);
	return label;
}

/* "eu-central-1", "us-gov-west-1": two dashes and a digit at the end. */
static bool is_region(struct bytes label)
{
	unsigned dashes = 0;

	for (size_t i = 0; i < label.len; i++)
		dashes += label.data[i] == '-';
	return dashes >= 2 && label.data[label.len - 1] >= '0' &&
	       label.data[label.len - 1] <= '9';
}

bool credential_aws_names(struct bytes host, struct bytes *service,
			  struct bytes *region)
{
	static const struct bytes suffix = BYTES_LITERAL(".amazonaws.com");
	static const struct bytes china = BYTES_LITERAL(".amazonaws.com.cn");
	bool is_china = bytes_ends_with(host, china);
	struct bytes names, last;

	if (!is_china && !bytes_ends_with(host, suffix))
		return false;
	names = bytes_slice(host, 0,
			    host.len - (is_china ? china.len : suffix.len));
	last = take_last(&names);
	if (is_region(last)) {
		*region = last;
		*service = take_last(&names);
	} else {
		*region = bytes_str("us-east-1");
		*service = last;
	}
	return service->len > 0 && !bytes_is(*service, "*");
}
