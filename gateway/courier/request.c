/*
 * What goes out with a credential: written here, from checked parts only.
 */
#include <openssl/evp.h>

#include "common/cleanup.h"
#include "gateway/courier/courier.h"
#include "gateway/edit/headers.h"
#include "gateway/git/commands.h"
#include "gateway/git/endpoint.h"
#include "gateway/http/framing.h"
#include "gateway/http/write.h"
#include "policies/lfs.h"

#define TOKEN_MAX   (16 * 1024)
#define GITHUB_USER "x-access-token"
/* Names, host, framing: what is the same in every head. */
#define FIXED_HEAD_BYTES 2048

/* ---- the credential ---- */

static bool is_git_path(struct bytes path)
{
	static const char *const endings[] = {
		"/info/refs",
		"/git-upload-pack",
		"/git-receive-pack",
	};
	struct bytes rest = path;
	struct lfs_path lfs;

	(void)bytes_split(&rest, '?', &path);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (bytes_ends_with(path, bytes_str(endings[i])))
			return true;
	return lfs_path_split(path, &lfs);
}

static int write_basic(struct buf *out, struct bytes user, struct bytes secret)
{
	auto_type(buf_release) struct buf plain;
	int len, result = -1;

	buf_init(&plain, TOKEN_MAX + 512);
	if (buf_add(&plain, user) == 0 && buf_add_byte(&plain, ':') == 0 &&
	    buf_add(&plain, secret) == 0) {
		uint8_t *room = buf_reserve(out, 4 * (buf_len(&plain) / 3 + 2));

		len = room ? EVP_EncodeBlock(room, buf_view(&plain).data,
					     (int)buf_len(&plain))
			   : -1;
		if (len > 0) {
			buf_commit(out, (size_t)len);
			result = 0;
		}
	}
	if (plain.data)
		secret_wipe(plain.data, plain.size);
	return result;
}

/* GitHub's git endpoints take Basic, its API takes Bearer (git.md). */
static int write_credential(struct buf *out, const struct msg_token *token,
			    struct bytes path)
{
	enum policy_attach attach = (enum policy_attach)token->attach;
	bool is_basic = attach == ATTACH_BASIC ||
			(attach == ATTACH_GITHUB && is_git_path(path));

	if (attach == ATTACH_CERTIFICATE)
		return 0;
	if (!http_is_value(token->secret) || token->secret.len > TOKEN_MAX)
		return -1;
	if (buf_add_str(out, "Authorization: ") < 0)
		return -1;
	if (is_basic) {
		struct bytes user = attach == ATTACH_GITHUB
					    ? bytes_str(GITHUB_USER)
					    : token->username;

		if (buf_add_str(out, "Basic ") < 0 ||
		    write_basic(out, user, token->secret) < 0)
			return -1;
	} else if (buf_add_str(out, "Bearer ") < 0 ||
		   buf_add(out, token->secret) < 0) {
		return -1;
	}
	return buf_add_str(out, "\r\n");
}

/* ---- the heads ---- */

/* Fields that are ours alone to write. */
static bool is_ours(struct bytes name)
{
	static const char *const names[] = {
		"host",
		"content-length",
		"transfer-encoding",
		"connection",
		"keep-alive",
		"te",
		"trailer",
		"upgrade",
		"expect",
		"proxy-authorization",
		"proxy-connection",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return upgrade_is_ours(name) || edit_is_credential(name);
}

/* The answer comes whole and uncompressed, so that the credential would be
 * seen in it (security D15, D16). */
static bool is_left_out(const struct leg *leg, struct bytes name)
{
	static const char *const names[] = {
		"accept-encoding",
		"range",
		"if-range",
		"a-im",
	};

	if (is_ours(name))
		return true;
	for (size_t i = 0; !leg->is_certificate && i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

static int write_plain(const struct leg *leg, const struct msg_token *token,
		       struct buf *out)
{
	const struct leg_request *request = &leg->request;
	enum framing framing = !request->has_body    ? FRAMING_NONE
			       : request->has_length ? FRAMING_LENGTH
						     : FRAMING_CHUNKED;

	if (write_request_line(out, request->method, request->path,
			       &leg->target) < 0)
		return -1;
	for (size_t i = 0; i < request->fields_count; i++)
		if (!is_left_out(leg, request->fields[i].name) &&
		    write_field(out, request->fields[i].name,
				request->fields[i].value) < 0)
			return -1;
	if (write_credential(out, token, request->path) < 0)
		return -1;
	if (!leg->is_certificate &&
	    write_field(out, bytes_str("Accept-Encoding"),
			bytes_str("identity")) < 0)
		return -1;
	if (leg->kind == LEG_UPGRADE)
		return upgrade_write(leg, out) < 0 ? -1 : write_end(out);
	if (framing == FRAMING_NONE && bytes_is(request->method, "POST"))
		framing = FRAMING_LENGTH;
	if (write_framing(out, framing, request->body_len) < 0)
		return -1;
	return write_end(out);
}

/* All that a head can take beside the command list: so that out never moves
 * once the credential stands in it, and no copy stays behind. */
static size_t head_bytes_max(const struct leg *leg)
{
	const struct leg_request *request = &leg->request;
	size_t bytes = 2 * TOKEN_MAX + HEAD_LINE_MAX + FIXED_HEAD_BYTES;

	if (leg->kind == LEG_PUSH)
		return bytes;
	bytes += request->path.len;
	if (leg->kind == LEG_UPGRADE)
		bytes += leg->upgrade.key.len + leg->upgrade.protocols.len;
	for (size_t i = 0; i < request->fields_count; i++)
		bytes += request->fields[i].name.len +
			 request->fields[i].value.len + 4;
	return bytes;
}

static int write_push(const struct leg *leg, const struct msg_token *token,
		      struct buf *out, struct err *err)
{
	const struct leg_push *push = &leg->push;
	auto_type(buf_release) struct buf path;
	auto_type(buf_release) struct buf commands;

	buf_init(&path, HEAD_LINE_MAX);
	buf_init(&commands, LEG_HEAD_MAX);
	if (commands_write(push, &commands, err) < 0)
		return -1;
	(void)err_set(err, ERR_TOO_LARGE, "write push: too large");
	if (!buf_reserve(out, head_bytes_max(leg) + buf_len(&commands)) ||
	    buf_add(&path, push->url_path) < 0 ||
	    buf_add_str(&path, "/git-receive-pack") < 0 ||
	    write_request_line(out, bytes_str("POST"), buf_view(&path),
			       &leg->target) < 0 ||
	    write_field(out, bytes_str("User-Agent"),
			bytes_str("git/sallyport-" SP_VERSION)) < 0 ||
	    write_field(out, bytes_str("Content-Type"),
			bytes_str(git_request_type(GIT_RECEIVE_PACK))) < 0 ||
	    write_field(out, bytes_str("Accept"),
			bytes_str(git_answer_type(GIT_RECEIVE_PACK))) < 0 ||
	    write_credential(out, token, buf_view(&path)) < 0 ||
	    write_framing(out, FRAMING_CHUNKED, 0) < 0 || write_end(out) < 0)
		return -1;
	return body_encode(out, FRAMING_CHUNKED, buf_view(&commands));
}

int request_write(const struct leg *leg, const struct msg_token *token,
		  struct buf *out, struct err *err)
{
	if (!buf_reserve(out, head_bytes_max(leg)))
		return err_set(err, ERR_TOO_LARGE, "write request: no room");
	if (leg->kind == LEG_PUSH)
		return write_push(leg, token, out, err);
	if (write_plain(leg, token, out) < 0)
		return err_set(err, ERR_INVALID,
			       "the request could not be written");
	return 0;
}

int request_watch(struct leg *leg, const struct msg_token *token,
		  struct err *err)
{
	pass_forget(leg);
	leg->reflect.masks = leg->scrub == SCRUB_MASK;
	if (leg->is_certificate)
		return 0;
	return reflect_watch(&leg->reflect, token->secret, err);
}
