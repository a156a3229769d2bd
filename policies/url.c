#include "policies/url.h"

#include "policies/host.h"
#include "policies/path.h"

/* Where the first of stops is in text, or its length. */
static size_t find_any(struct bytes text, const char *stops)
{
	for (size_t i = 0; i < text.len; i++)
		for (const char *stop = stops; *stop; stop++)
			if (text.data[i] == (uint8_t)*stop)
				return i;
	return text.len;
}

static struct bytes take_scheme(struct bytes url, bool *is_tls)
{
	*is_tls = bytes_starts_with(url, bytes_str("https://"));
	if (*is_tls)
		return bytes_slice(url, 8, url.len);
	if (bytes_starts_with(url, bytes_str("http://")))
		return bytes_slice(url, 7, url.len);
	return bytes_from(NULL, 0);
}

/* host[:port]; an IPv6 address in brackets. */
static int take_authority(struct bytes authority, struct arena *arena,
			  struct request_facts *facts, struct err *err)
{
	char *canonical = arena_alloc(arena, HOST_NAME_MAX_LEN + 1);
	size_t from = find_any(authority, "]");
	size_t colon;
	uint64_t port = facts->is_tls ? 443 : 80;

	from = from == authority.len ? 0 : from;
	colon = from +
		find_any(bytes_slice(authority, from, authority.len), ":");
	if (find_any(authority, "@") < authority.len)
		return err_set(err, ERR_INVALID,
			       "a URL with a user's name in it: credentials "
			       "belong into the vault");
	if (colon < authority.len &&
	    (bytes_to_u64(bytes_slice(authority, colon + 1, authority.len), 5,
			  &port) < 0 ||
	     port == 0 || port > UINT16_MAX))
		return err_set(err, ERR_INVALID,
			       "'%.*s': a port is a number from 1 to 65535",
			       BYTES_ARGS(authority));
	if (!canonical || host_canonical(bytes_slice(authority, 0, colon),
					 canonical) == HOST_INVALID)
		return err_set(err, ERR_INVALID, "'%.*s' is no host",
			       BYTES_ARGS(bytes_slice(authority, 0, colon)));
	facts->target.host = bytes_str(canonical);
	facts->target.port = (uint16_t)port;
	return 0;
}

int url_facts(const char *url, struct arena *arena, struct request_facts *facts,
	      enum constraint *constraint, struct err *err)
{
	struct bytes rest = take_scheme(bytes_str(url), &facts->is_tls);
	struct bytes path;
	size_t end;

	*constraint = CONSTRAINT_none;
	rest = bytes_slice(rest, 0, find_any(rest, "#"));
	if (!rest.len)
		return err_set(err, ERR_INVALID, "'%s' is no http(s) URL", url);
	end = find_any(rest, "/?");
	if (take_authority(bytes_slice(rest, 0, end), arena, facts, err) < 0)
		return -1;
	path = bytes_slice(rest, end, rest.len);
	end = find_any(path, "?");
	facts->query = end < path.len ? bytes_slice(path, end + 1, path.len)
				      : bytes_from(NULL, 0);
	path = end ? bytes_slice(path, 0, end) : bytes_str("/");
	if (path_normalise(arena, path, &facts->path, err) == 0)
		return 0;
	*constraint = CONSTRAINT_path_ambiguous;
	return -1;
}

int url_to_ascii(const char **url, struct arena *arena, struct err *err)
{
	char name[HOST_NAME_MAX_LEN + 1];
	struct bytes rest, host, ascii;
	bool is_tls;

	rest = take_scheme(bytes_str(*url), &is_tls);
	host = bytes_slice(rest, 0, find_any(rest, "/?#"));
	if (find_any(host, "@") < host.len)
		return 0;
	host = bytes_slice(host, 0, find_any(host, ":"));
	if (host_to_ascii(arena, host, &ascii, err) < 0)
		return -1;
	if (bytes_equal(ascii, host))
		return 0;
	/* What its letters become could end a host where none ended. */
	if (host_canonical(ascii, name) == HOST_INVALID)
		return err_set(err, ERR_INVALID, "'%.*s' is no host",
			       BYTES_ARGS(host));
	rest = bytes_slice(rest, host.len, rest.len);
	*url = arena_format(arena, "http%s://%s%.*s", is_tls ? "s" : "", name,
			    BYTES_ARGS(rest));
	return *url ? 0 : err_set(err, ERR_TOO_LARGE, "no memory for a URL");
}
