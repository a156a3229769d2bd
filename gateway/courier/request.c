/*
 * What goes out with a credential: written here, from checked parts only.
 */
#include "common/cleanup.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/pass.h"
#include "gateway/courier/sigv4.h"
#include "gateway/edit/headers.h"
#include "gateway/git/commands.h"
#include "gateway/git/endpoint.h"
#include "gateway/http/framing.h"
#include "gateway/http/write.h"

/* Names, host, framing: what is the same in every head. */
#define FIXED_HEAD_BYTES 2048

/* ---- the heads ---- */

/* The answer comes whole and uncompressed, so that the credential would be
 * seen in it (security D15, D16). */
static bool is_left_out(const struct leg *leg, struct bytes name)
{
	static const char *const names[] = {
		"accept-encoding",
		"grpc-accept-encoding",
		"range",
		"if-range",
		"a-im",
	};

	if (write_is_own(name) || upgrade_is_ours(name))
		return true;
	for (size_t i = 0; !leg->is_certificate && i < ARRAY_SIZE(names); i++)
		if (bytes_is_nocase(name, names[i]))
			return true;
	return false;
}

/* A sandbox's own credential does not; what is one by a placeholder does. */
bool request_passes_field(const struct leg *leg, size_t field)
{
	const struct scope_binding *binding = attach_binding(leg);
	struct bytes name = leg->request.fields[field].name;

	if (!binding || is_left_out(leg, name) ||
	    attach_owns_field(binding, name))
		return false;
	return !edit_is_credential(name) ||
	       (leg->kind == LEG_REQUEST &&
		binding->attach == ATTACH_PLACEHOLDER &&
		swap_has_field(&leg->request, field));
}

static int write_fields(const struct leg *leg, const struct msg_token *token,
			struct buf *out, struct err *err)
{
	const struct leg_request *request = &leg->request;

	for (size_t i = 0; i < request->fields_count; i++) {
		const struct leg_field *field = &request->fields[i];
		bool is_swapped =
			leg->kind == LEG_REQUEST && swap_has_field(request, i);

		if (!request_passes_field(leg, i))
			continue;
		if ((is_swapped
			     ? swap_field(leg, token, i, out, err)
			     : write_field(out, field->name, field->value)) < 0)
			return -1;
	}
	return 0;
}

/* The line, the fields and the credential among them. */
static int write_top(const struct leg *leg, const struct msg_token *token,
		     struct buf *target, struct buf *out, struct err *err)
{
	if (!buf_reserve(target, target->max) ||
	    attach_target(leg, token, target, err) < 0)
		return -1;
	if (!http_is_target(buf_view(target)))
		return err_set(err, ERR_INVALID, "the URL is malformed");
	(void)err_set(err, ERR_INVALID, "the request could not be written");
	if (write_request_line(out, leg->request.method, buf_view(target),
			       &leg->target) < 0 ||
	    write_fields(leg, token, out, err) < 0)
		return -1;
	return attach_fields(leg, token, buf_view(target), out, err);
}

static int write_plain(const struct leg *leg, const struct msg_token *token,
		       struct buf *out, struct err *err)
{
	const struct leg_request *request = &leg->request;
	enum framing framing = !request->has_body    ? FRAMING_NONE
			       : request->has_length ? FRAMING_LENGTH
						     : FRAMING_CHUNKED;
	auto_type(buf_release) struct buf target;
	int result;

	buf_init(&target, request->path.len + attach_bytes_max(leg));
	result = write_top(leg, token, &target, out, err);
	if (target.data)
		secret_wipe(target.data, target.size);
	if (result < 0)
		return -1;
	if (!leg->is_certificate &&
	    write_field(out, bytes_str("Accept-Encoding"),
			bytes_str("identity")) < 0)
		return -1;
	if (leg->kind == LEG_UPGRADE)
		return upgrade_write(leg, out) < 0 ? -1 : write_end(out);
	if (framing == FRAMING_NONE && bytes_is(request->method, "POST"))
		framing = FRAMING_LENGTH;
	if (write_framing(out, framing, swap_body_len(leg)) < 0)
		return -1;
	return write_end(out);
}

/* All that a head can take beside the command list: so that out never moves
 * once the credential stands in it, and no copy stays behind. */
static size_t head_bytes_max(const struct leg *leg)
{
	const struct leg_request *request = &leg->request;
	size_t bytes =
		2 * attach_bytes_max(leg) + HEAD_LINE_MAX + FIXED_HEAD_BYTES;

	if (leg->kind == LEG_PUSH)
		return bytes;
	bytes += 3 * request->path.len;
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
	    attach_fields(leg, token, buf_view(&path), out, err) < 0 ||
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
	return write_plain(leg, token, out, err);
}

/* Its parts, where it has some: each by itself. */
static int watch_parts(struct leg *leg, const struct msg_token *token,
		       struct err *err)
{
	struct bytes parts[SECRET_PARTS_MAX];
	size_t count = secret_parts((enum policy_attach)token->attach,
				    token->secret, parts);

	for (size_t i = 0; i < count; i++)
		if (reflect_watch(&leg->reflect, parts[i], err) < 0)
			return -1;
	return 0;
}

int request_watch(struct leg *leg, const struct msg_token *token,
		  struct err *err)
{
	pass_forget(leg);
	leg->reflect.masks = leg->scrub == SCRUB_MASK;
	if (leg->is_certificate)
		return 0;
	return watch_parts(leg, token, err);
}
