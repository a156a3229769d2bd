#include "gateway/courier/proxy_talk.h"

#include <arpa/inet.h>
#include <openssl/evp.h>

#include "common/cleanup.h"
#include "common/secret.h"
#include "gateway/http/head.h"
#include "policies/host.h"

#define SECRET_MAX     1024
#define SOCKS_PART_MAX 255
#define SOCKS_VERSION  5
#define LOGIN_VERSION  1
#define METHOD_NONE    0
#define METHOD_LOGIN   2

enum { AT_HTTP, AT_METHOD, AT_LOGIN, AT_REPLY };

static bool is_ipv6(struct bytes host)
{
	return bytes_find(host, ':', 0) >= 0;
}

/* ---- CONNECT ---- */

static int add_base64(struct buf *out, struct bytes secret)
{
	uint8_t *room = buf_reserve(out, 4 * (secret.len / 3 + 2));

	if (!room)
		return -1;
	buf_commit(out,
		   (size_t)EVP_EncodeBlock(room, secret.data, (int)secret.len));
	return 0;
}

static int say_connect(const struct proxy_talk *talk, struct buf *out,
		       struct err *err)
{
	char authority[HOST_NAME_MAX_LEN + 16];
	bool has_brackets = is_ipv6(talk->host);

	(void)snprintf(authority, sizeof(authority), "%s%.*s%s:%u",
		       has_brackets ? "[" : "", BYTES_ARGS(talk->host),
		       has_brackets ? "]" : "", talk->port);
	if (buf_add_format(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n",
			   authority, authority) < 0)
		return err_set(err, ERR_TOO_LARGE, "ask the proxy");
	if (talk->secret.len > 0 &&
	    (buf_add_str(out, "Proxy-Authorization: Basic ") < 0 ||
	     add_base64(out, talk->secret) < 0 || buf_add_str(out, "\r\n") < 0))
		return err_set(err, ERR_TOO_LARGE, "ask the proxy");
	return buf_add_str(out, "\r\n") < 0
		       ? err_set(err, ERR_TOO_LARGE, "ask the proxy")
		       : 0;
}

static const char *words_of_status(unsigned status)
{
	if (status == 407 || status == 401)
		return "it wants other credentials";
	if (status == 403)
		return "it does not allow the target";
	return status >= 500 ? "it could not reach the target"
			     : "it does not connect";
}

static enum proxy_step take_status(struct proxy_talk *talk, struct bytes head,
				   struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct response response;
	struct http_fault fault;

	arena_init(&arena, HEAD_ARENA_BYTES);
	if (head_response(&arena, &talk->guard, head, bytes_str("CONNECT"),
			  &response, &fault) < 0) {
		(void)err_set(err, ERR_INVALID, "its answer: %s", fault.reason);
		return PROXY_FAILED;
	}
	if (response.status / 100 == 2)
		return PROXY_DONE;
	(void)err_set(err, ERR_DENIED, "it answered %u: %s", response.status,
		      words_of_status(response.status));
	return PROXY_FAILED;
}

static enum proxy_step read_http(struct proxy_talk *talk, struct buf *in,
				 struct err *err)
{
	enum proxy_step step;
	size_t len;

	switch (guard_scan(&talk->guard, buf_view(in), &len)) {
	case GUARD_COMPLETE:
		step = take_status(talk, bytes_slice(buf_view(in), 0, len),
				   err);
		buf_consume(in, len);
		return step;
	case GUARD_INVALID:
		(void)err_set(err, ERR_INVALID, "its answer: %s",
			      talk->guard.fault.reason);
		return PROXY_FAILED;
	case GUARD_MORE:
	default:
		return PROXY_MORE;
	}
}

/* ---- SOCKS 5 ---- */

/* With a secret both are offered: what a proxy does not want it does not
 * ask for. */
static int say_methods(const struct proxy_talk *talk, struct buf *out)
{
	static const uint8_t both[] = {SOCKS_VERSION, 2, METHOD_NONE,
				       METHOD_LOGIN};
	static const uint8_t none[] = {SOCKS_VERSION, 1, METHOD_NONE};

	return buf_add(out, talk->secret.len > 0
				    ? bytes_from(both, sizeof(both))
				    : bytes_from(none, sizeof(none)));
}

static int say_login(const struct proxy_talk *talk, struct buf *out)
{
	struct bytes password = talk->secret, user;

	(void)bytes_split(&password, ':', &user);
	if (buf_add_byte(out, LOGIN_VERSION) < 0 ||
	    buf_add_byte(out, (uint8_t)user.len) < 0 ||
	    buf_add(out, user) < 0 ||
	    buf_add_byte(out, (uint8_t)password.len) < 0)
		return -1;
	return buf_add(out, password);
}

static int add_host(struct buf *out, struct bytes host)
{
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr v6;
	struct in_addr v4;

	if (host.len < sizeof(text))
		memcpy(text, host.data, host.len);
	if (inet_pton(AF_INET, text, &v4) == 1)
		return buf_add_byte(out, 1) < 0
			       ? -1
			       : buf_add(out, bytes_from(&v4, sizeof(v4)));
	if (inet_pton(AF_INET6, text, &v6) == 1)
		return buf_add_byte(out, 4) < 0
			       ? -1
			       : buf_add(out, bytes_from(&v6, sizeof(v6)));
	if (buf_add_byte(out, 3) < 0 ||
	    buf_add_byte(out, (uint8_t)host.len) < 0)
		return -1;
	return buf_add(out, host);
}

static int say_request(const struct proxy_talk *talk, struct buf *out)
{
	static const uint8_t connect[] = {SOCKS_VERSION, 1, 0};

	if (buf_add(out, bytes_from(connect, sizeof(connect))) < 0 ||
	    add_host(out, talk->host) < 0 ||
	    buf_add_byte(out, (uint8_t)(talk->port >> 8)) < 0)
		return -1;
	return buf_add_byte(out, (uint8_t)talk->port);
}

static enum proxy_step fail(struct err *err, const char *why)
{
	(void)err_set(err, ERR_INVALID, "%s", why);
	return PROXY_FAILED;
}

static enum proxy_step take_method(struct proxy_talk *talk, struct bytes answer,
				   struct buf *out, struct err *err)
{
	bool wants_login = answer.data[1] == METHOD_LOGIN;

	if (answer.data[0] != SOCKS_VERSION)
		return fail(err, "it does not speak SOCKS 5");
	if (answer.data[1] == 0xff || (wants_login && talk->secret.len == 0))
		return fail(err, "it wants other credentials");
	if (!wants_login && answer.data[1] != METHOD_NONE)
		return fail(err, "it chose a method that was not offered");
	talk->state = wants_login ? AT_LOGIN : AT_REPLY;
	if ((wants_login ? say_login(talk, out) : say_request(talk, out)) < 0)
		return fail(err, "memory is out");
	return PROXY_SAY;
}

static enum proxy_step take_login(struct proxy_talk *talk, struct bytes answer,
				  struct buf *out, struct err *err)
{
	if (answer.data[0] != LOGIN_VERSION || answer.data[1] != 0)
		return fail(err, "it wants other credentials");
	talk->state = AT_REPLY;
	return say_request(talk, out) < 0 ? fail(err, "memory is out")
					  : PROXY_SAY;
}

static const char *words_of_reply(uint8_t reply)
{
	static const char *const words[] = {
		"",
		"it failed",
		"it does not allow the target",
		"it could not reach the network",
		"it could not reach the target",
		"the target refused the connection",
		"the target did not answer in time",
		"it does not connect",
		"it does not know this kind of address",
	};

	return reply < ARRAY_SIZE(words) ? words[reply]
					 : "its answer is none of SOCKS 5";
}

/* How long a reply is; 0: not known yet. */
static size_t reply_len(struct bytes in)
{
	if (in.len < 5)
		return 0;
	if (in.data[3] == 3)
		return (size_t)4 + 1 + in.data[4] + 2;
	return in.data[3] == 4 ? 4 + 16 + 2 : 4 + 4 + 2;
}

static enum proxy_step take_reply(struct bytes in, struct err *err)
{
	if (in.data[0] != SOCKS_VERSION || in.data[2] != 0 ||
	    (in.data[3] != 1 && in.data[3] != 3 && in.data[3] != 4))
		return fail(err, "its answer is none of SOCKS 5");
	return in.data[1] == 0 ? PROXY_DONE
			       : fail(err, words_of_reply(in.data[1]));
}

static enum proxy_step read_socks(struct proxy_talk *talk, struct buf *in,
				  struct buf *out, struct err *err)
{
	struct bytes got = buf_view(in);
	size_t len = talk->state == AT_REPLY ? reply_len(got) : 2;
	enum proxy_step step;

	if (len == 0 || got.len < len)
		return PROXY_MORE;
	if (talk->state == AT_METHOD)
		step = take_method(talk, got, out, err);
	else if (talk->state == AT_LOGIN)
		step = take_login(talk, got, out, err);
	else
		step = take_reply(got, err);
	buf_consume(in, len);
	return step;
}

/* ---- both ---- */

static int check_secret(const struct proxy_talk *talk, struct err *err)
{
	struct bytes password = talk->secret, user;

	if (talk->secret.len == 0)
		return 0;
	if (talk->secret.len > SECRET_MAX ||
	    !bytes_split(&password, ':', &user) || user.len == 0 ||
	    user.len > SOCKS_PART_MAX || password.len == 0 ||
	    password.len > SOCKS_PART_MAX)
		return err_set(err, ERR_INVALID,
			       "the proxy's secret is not user:password");
	return 0;
}

int proxy_talk_begin(struct proxy_talk *talk, struct buf *out, struct err *err)
{
	if (check_secret(talk, err) < 0)
		return -1;
	talk->state = talk->kind == PROXY_HTTP ? AT_HTTP : AT_METHOD;
	guard_init(&talk->guard, GUARD_RESPONSE);
	if (talk->kind == PROXY_HTTP)
		return say_connect(talk, out, err);
	return say_methods(talk, out) < 0
		       ? err_set(err, ERR_TOO_LARGE, "ask the proxy")
		       : 0;
}

enum proxy_step proxy_talk_read(struct proxy_talk *talk, struct buf *in,
				struct buf *out, struct err *err)
{
	enum proxy_step step = talk->state == AT_HTTP
				       ? read_http(talk, in, err)
				       : read_socks(talk, in, out, err);

	/* Whatever comes before the target was asked, or with the answer, has
	 * no place: what is read here cannot be put back. */
	if ((step == PROXY_DONE || step == PROXY_SAY) && buf_len(in) > 0)
		return fail(err, "it says more than it was asked");
	return step;
}
