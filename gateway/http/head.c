#include "gateway/http/head.h"

#include <assert.h>

#include "common/cleanup.h"
#include "gateway/http/classes.h"
#include "gateway/http/parse.h"
#include "policies/path.h"

#define PORT_HTTP 80

static int refuse(struct http_fault *fault, enum constraint constraint,
		  const char *reason)
{
	*fault = (struct http_fault){constraint, reason};
	return -1;
}

static int malformed(struct http_fault *fault, const char *reason)
{
	return refuse(fault, CONSTRAINT_request_malformed, reason);
}

bool head_method_is_known(struct bytes method)
{
	static const char *const methods[] = {
		"GET",	 "HEAD",   "POST",    "PUT",
		"PATCH", "DELETE", "OPTIONS", "CONNECT",
	};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (bytes_is(method, methods[i]))
			return true;
	return false;
}

static int parse_port(struct bytes text, uint16_t *port)
{
	uint64_t value;

	if (bytes_to_u64(text, 5, &value) < 0 || value == 0 ||
	    value > UINT16_MAX)
		return -1;
	*port = (uint16_t)value;
	return 0;
}

/* Where the host of an authority ends; 0 when it is none. */
static size_t host_len(struct bytes text)
{
	size_t i = 0;

	if (text.len > 0 && text.data[0] == '[') {
		ptrdiff_t end = bytes_find(text, ']', 0);

		return end < 0 ? 0 : (size_t)end + 1;
	}
	while (i < text.len && http_classes[text.data[i]] & CLASS_AUTHORITY)
		i++;
	return i;
}

/* host[:port], no userinfo. Whether the host is a name or an address at all
 * is for host_canonical(). */
static int parse_authority(struct bytes text, struct bytes *host,
			   uint16_t *port)
{
	size_t len = host_len(text);

	*port = 0;
	*host = bytes_slice(text, 0, len);
	if (len == 0)
		return -1;
	if (len == text.len)
		return 0;
	if (text.data[len] != ':')
		return -1;
	return parse_port(bytes_slice(text, len + 1, text.len), port);
}

static int origin_form(struct arena *arena, struct request *request,
		       struct bytes raw, struct http_fault *fault)
{
	struct bytes path, rest = raw;

	request->raw_path = raw;
	request->has_query = bytes_split(&rest, '?', &path);
	request->query = request->has_query ? rest : bytes_from(NULL, 0);
	if (path_normalise(arena, path, &request->path, NULL) < 0)
		return refuse(fault, CONSTRAINT_path_ambiguous,
			      "the path can be read in two ways");
	return 0;
}

/* "http://host" and "http://host?query" have the path "/". */
static struct bytes with_slash(struct arena *arena, struct bytes rest)
{
	uint8_t *path;

	if (rest.len > 0 && rest.data[0] == '/')
		return rest;
	path = arena_alloc(arena, rest.len + 1);
	if (!path)
		return bytes_from(NULL, 0);
	path[0] = '/';
	if (rest.len)
		memcpy(path + 1, rest.data, rest.len);
	return bytes_from(path, rest.len + 1);
}

static int absolute_form(struct arena *arena, struct request *request,
			 struct bytes target, struct http_fault *fault)
{
	static const char scheme[] = "http://";
	struct bytes rest = bytes_slice(target, sizeof(scheme) - 1, target.len);
	size_t len = 0;

	if (!bytes_is_nocase(bytes_slice(target, 0, sizeof(scheme) - 1),
			     scheme))
		return malformed(fault, "the target is no http:// URL");
	while (len < rest.len && rest.data[len] != '/' && rest.data[len] != '?')
		len++;
	if (parse_authority(bytes_slice(rest, 0, len), &request->host,
			    &request->port) < 0)
		return malformed(fault, "the target's host is not host[:port]");
	rest = with_slash(arena, bytes_slice(rest, len, rest.len));
	if (!rest.data)
		return refuse(fault, CONSTRAINT_internal, "memory is out");
	return origin_form(arena, request, rest, fault);
}

static int read_target(struct arena *arena, struct request *request,
		       struct bytes target, struct http_fault *fault)
{
	if (bytes_is(request->method, "CONNECT")) {
		request->form = FORM_AUTHORITY;
		if (parse_authority(target, &request->host, &request->port) <
			    0 ||
		    request->port == 0)
			return malformed(fault,
					 "CONNECT's target is not host:port");
		return 0;
	}
	if (target.data[0] == '/') {
		request->form = FORM_ORIGIN;
		return origin_form(arena, request, target, fault);
	}
	request->form = FORM_ABSOLUTE;
	return absolute_form(arena, request, target, fault);
}

/* Host must be host[:port]. It names the host of an origin-form target, and
 * must be the same host where the target names one (A21, A25). */
static int read_host(struct request *request, struct bytes field,
		     struct http_fault *fault)
{
	struct bytes host;
	uint16_t port;

	if (parse_authority(field, &host, &port) < 0)
		return malformed(fault, "Host is not host[:port]");
	if (request->form == FORM_ORIGIN) {
		request->host = host;
		request->port = port;
		return 0;
	}
	if (port == 0 && request->form == FORM_AUTHORITY)
		port = request->port;
	if (!bytes_equal_nocase(host, request->host) ||
	    (port ? port : PORT_HTTP) !=
		    (request->port ? request->port : PORT_HTTP))
		return malformed(fault, "Host is not the target's host");
	return 0;
}

static void frame_request(struct request *request,
			  const struct guard_facts *facts)
{
	request->framing = facts->is_chunked   ? FRAMING_CHUNKED
			   : facts->has_length ? FRAMING_LENGTH
					       : FRAMING_NONE;
	request->body_len = facts->length;
	request->is_http10 = facts->is_http10;
	request->keep_alive = !facts->is_http10 && !facts->says_close;
	/* RFC 9110 10.1.1: HTTP/1.0 knows no interim response. */
	request->expects_continue =
		facts->expects_continue && !facts->is_http10;
}

/* RFC 6455 4.2.1 and 4.1: exactly this protocol, and said twice. */
static bool to_websocket(const struct guard_facts *facts)
{
	return facts->says_upgrade && facts->upgrades == 1 &&
	       facts->is_websocket;
}

/* What the guard let through but no server of ours does. */
static int check_services(const struct request *request,
			  const struct guard_facts *facts,
			  const struct parsed_head *parsed,
			  struct http_fault *fault)
{
	if (facts->has_upgrade && !to_websocket(facts))
		return refuse(fault, CONSTRAINT_upgrade_not_supported,
			      "the request asks for another protocol");
	if (parsed->proxy_authorizations > 1)
		return malformed(fault, "there are two Proxy-Authorizations");
	if (request->form == FORM_AUTHORITY &&
	    (facts->is_chunked || facts->length > 0))
		return malformed(fault, "CONNECT has a body");
	return 0;
}

int head_request(struct arena *arena, const struct guard *guard,
		 struct bytes head, struct request *request,
		 struct bytes *proxy_authorization, struct http_fault *fault)
{
	struct parsed_head parsed;
	struct bytes rest = head, method;

	assert(guard->kind == GUARD_REQUEST);
	bytes_split(&rest, ' ', &method);
	if (!head_method_is_known(method))
		return refuse(fault, CONSTRAINT_method_unknown,
			      "the method is unknown or not served");
	if (parse_head(arena, guard, head, &parsed, fault) < 0)
		return -1;
	*request = (struct request){
		.method = bytes_slice(parsed.head, 0, method.len),
		.fields = parsed.fields,
	};
	if (read_target(arena, request, parsed.start, fault) < 0)
		return -1;
	if (guard->facts.hosts && read_host(request, parsed.host, fault) < 0)
		return -1;
	frame_request(request, &guard->facts);
	request->takes_trailers = parsed.takes_trailers;
	request->is_websocket = to_websocket(&guard->facts);
	*proxy_authorization = parsed.proxy_authorization;
	return check_services(request, &guard->facts, &parsed, fault);
}

enum guard_result head_take_request(struct arena *arena, struct guard *guard,
				    struct buf *in, struct request *request,
				    struct bytes *proxy_authorization,
				    struct http_fault *fault)
{
	size_t len = 0;
	enum guard_result result = guard_scan(guard, buf_view(in), &len);

	if (result == GUARD_INVALID)
		*fault = guard->fault;
	if (result != GUARD_COMPLETE)
		return result;
	if (head_request(arena, guard, bytes_slice(buf_view(in), 0, len),
			 request, proxy_authorization, fault) < 0)
		return GUARD_INVALID;
	buf_consume(in, len);
	return GUARD_COMPLETE;
}

static bool has_no_body(const struct response *response,
			struct bytes request_method)
{
	return response->status < 200 || response->status == 204 ||
	       response->status == 304 || bytes_is(request_method, "HEAD") ||
	       (response->status < 300 && bytes_is(request_method, "CONNECT"));
}

/* Does Content-Length tell the length that a body would have had? */
static bool may_announce(const struct response *response,
			 struct bytes request_method)
{
	return response->status == 304 ||
	       (response->status >= 200 && response->status != 204 &&
		bytes_is(request_method, "HEAD"));
}

static void frame_response(struct response *response,
			   const struct guard_facts *facts,
			   struct bytes request_method)
{
	bool announces = facts->is_chunked || facts->length > 0;

	response->body_len = facts->length;
	response->keep_alive = !facts->is_http10 && !facts->says_close;
	if (has_no_body(response, request_method)) {
		response->framing = FRAMING_NONE;
		if (response->status == 204 && announces)
			response->keep_alive = false;
		if (!may_announce(response, request_method))
			response->body_len = 0;
	} else if (facts->is_chunked) {
		response->framing = FRAMING_CHUNKED;
	} else if (facts->has_length) {
		response->framing = FRAMING_LENGTH;
	} else {
		response->framing = FRAMING_TO_CLOSE;
		response->keep_alive = false;
	}
}

int head_response(struct arena *arena, const struct guard *guard,
		  struct bytes head, struct bytes request_method,
		  struct response *response, struct http_fault *fault)
{
	struct parsed_head parsed;

	assert(guard->kind == GUARD_RESPONSE);
	if (parse_head(arena, guard, head, &parsed, fault) < 0)
		return -1;
	*response = (struct response){
		.status = parsed.status,
		.reason = parsed.start,
		.fields = parsed.fields,
	};
	response->is_websocket =
		response->status == 101 && to_websocket(&guard->facts);
	if (response->status == 101 &&
	    !(guard->may_switch && response->is_websocket))
		return refuse(fault, CONSTRAINT_response_malformed,
			      "the upstream changes protocol unasked");
	frame_response(response, &guard->facts, request_method);
	return 0;
}
