#include "gateway/courier/attach.h"

#include <openssl/evp.h>

#include "common/cleanup.h"
#include "gateway/http/guard.h"
#include "policies/lfs.h"

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

const struct scope_binding *attach_binding(const struct leg *leg)
{
	const struct scope *scope = leg_scope(leg);

	return scope ? scope_binding_named(scope, bytes_str(leg->binding))
		     : NULL;
}

/* As CGI reads names: '_' is '-'. */
static bool is_name(struct bytes name, struct bytes wanted)
{
	bool is_same = wanted.len == name.len;

	for (size_t i = 0; is_same && i < name.len; i++) {
		uint8_t a = name.data[i] == '_' ? '-' : name.data[i];
		uint8_t b = wanted.data[i] == '_' ? '-' : wanted.data[i];

		is_same = bytes_equal_nocase(bytes_from(&a, 1),
					     bytes_from(&b, 1));
	}
	return is_same;
}

bool attach_owns_field(const struct scope_binding *binding, struct bytes name)
{
	static const struct bytes of_a_signature[] = {
		BYTES_LITERAL("x-amz-date"),
		BYTES_LITERAL("x-amz-content-sha256"),
		BYTES_LITERAL("x-amz-security-token"),
		BYTES_LITERAL("date"),
	};

	if (binding->attach == ATTACH_HEADER)
		return is_name(name, binding->field);
	for (size_t i = 0; i < ARRAY_SIZE(of_a_signature); i++)
		if (binding->attach == ATTACH_SIGV4 &&
		    is_name(name, of_a_signature[i]))
			return true;
	return false;
}

/* ---- the URL ---- */

static bool is_unreserved(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

int attach_percent(struct buf *out, struct bytes text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];
		const char escape[] = {'%', digits[c >> 4], digits[c & 15]};
		struct bytes written =
			is_unreserved(c) ? bytes_slice(text, i, i + 1)
					 : bytes_from(escape, sizeof(escape));

		if (buf_add(out, written) < 0)
			return -1;
	}
	return 0;
}

static int add_parameter(const struct scope_binding *binding,
			 const struct msg_token *token, struct buf *out)
{
	bool has_query = bytes_find(buf_view(out), '?', 0) >= 0;
	struct bytes path = buf_view(out);
	bool is_open = has_query && (path.data[path.len - 1] == '?' ||
				     path.data[path.len - 1] == '&');

	if (!is_open && buf_add_byte(out, has_query ? '&' : '?') < 0)
		return -1;
	if (attach_percent(out, binding->field) < 0 ||
	    buf_add_byte(out, '=') < 0)
		return -1;
	return attach_percent(out, token->secret);
}

int attach_target(const struct leg *leg, const struct msg_token *token,
		  struct buf *out, struct err *err)
{
	const struct scope_binding *binding = attach_binding(leg);

	(void)err_set(err, ERR_DENIED, "the session is over");
	if (!binding)
		return -1;
	if (binding->attach == ATTACH_SIGV4)
		return sign_target(leg, out, err);
	(void)err_set(err, ERR_TOO_LARGE, "the URL has no room");
	if (swap_target(leg, token, out, err) < 0)
		return -1;
	if (binding->attach == ATTACH_QUERY &&
	    add_parameter(binding, token, out) < 0)
		return -1;
	return 0;
}

/* ---- the head ---- */

static int write_basic(struct buf *out, struct bytes user, struct bytes secret)
{
	auto_type(buf_release) struct buf plain;
	int result = -1;

	buf_init(&plain, ATTACH_TOKEN_MAX + 512);
	if (buf_add(&plain, user) == 0 && buf_add_byte(&plain, ':') == 0 &&
	    buf_add(&plain, secret) == 0)
		result = attach_base64(out, buf_view(&plain));
	if (plain.data)
		secret_wipe(plain.data, plain.size);
	return result;
}

int attach_base64(struct buf *out, struct bytes plain)
{
	uint8_t *room = buf_reserve(out, 4 * (plain.len / 3 + 2));
	int len = room ? EVP_EncodeBlock(room, plain.data, (int)plain.len) : -1;

	if (len <= 0)
		return -1;
	buf_commit(out, (size_t)len);
	return 0;
}

static int write_authorization(const struct msg_token *token, struct bytes path,
			       struct buf *out)
{
	enum policy_attach attach = (enum policy_attach)token->attach;
	bool is_basic = attach == ATTACH_BASIC ||
			(attach == ATTACH_GITHUB && is_git_path(path));
	struct bytes user = attach == ATTACH_GITHUB ? bytes_str(GITHUB_USER)
						    : token->username;

	if (buf_add_str(out, is_basic ? "Authorization: Basic "
				      : "Authorization: Bearer ") < 0)
		return -1;
	if ((is_basic ? write_basic(out, user, token->secret)
		      : buf_add(out, token->secret)) < 0)
		return -1;
	return buf_add_str(out, "\r\n");
}

static int write_header(const struct scope_binding *binding,
			const struct msg_token *token, struct buf *out)
{
	if (buf_add(out, binding->field) < 0 || buf_add_str(out, ": ") < 0 ||
	    buf_add(out, binding->prefix) < 0 ||
	    buf_add(out, token->secret) < 0 ||
	    buf_add(out, binding->suffix) < 0)
		return -1;
	return buf_add_str(out, "\r\n");
}

/* GitHub's git endpoints take Basic, its API takes Bearer (git.md). */
int attach_fields(const struct leg *leg, const struct msg_token *token,
		  struct bytes target, struct buf *out, struct err *err)
{
	const struct scope_binding *binding = attach_binding(leg);

	if (!binding || binding->attach != token->attach)
		return err_set(err, ERR_DENIED, "the session is over");
	(void)err_set(err, ERR_INVALID, "the credential cannot be written");
	if (binding->attach == ATTACH_CERTIFICATE)
		return 0;
	if (!http_is_value(token->secret) || token->secret.len == 0 ||
	    token->secret.len > ATTACH_TOKEN_MAX)
		return -1;
	switch ((enum policy_attach)binding->attach) {
	case ATTACH_QUERY:
	case ATTACH_PLACEHOLDER:
		return 0;
	case ATTACH_HEADER:
		return write_header(binding, token, out);
	case ATTACH_SIGV4:
		return sign_fields(leg, token, target, out, err);
	case ATTACH_BEARER:
	case ATTACH_BASIC:
	case ATTACH_GITHUB:
		return write_authorization(token, target, out);
	case ATTACH_CERTIFICATE:
	case ATTACH_MAX:
	default:
		return -1;
	}
}

/* Escaped, each byte of a secret is three at most; in JSON six. */
size_t attach_bytes_max(const struct leg *leg)
{
	size_t swaps = leg->kind == LEG_REQUEST ? leg->request.swaps_count : 0;

	return (3 + swaps) * 3 * ATTACH_TOKEN_MAX + 2 * CREDENTIAL_WORD_MAX;
}
