/*
 * The secret in a placeholder's place. The edge says where one stands; here
 * it is looked whether it does, and whether the binding has that place.
 */
#include "common/cleanup.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/body.h"
#include "gateway/http/guard.h"
#include "gateway/http/write.h"
#include "policies/placeholder.h"

/* The leg's placeholder; empty: the session is over. */
static struct bytes placeholder_of(const struct leg *leg,
				   char room[PLACEHOLDER_SIZE])
{
	const struct scope_binding *binding = attach_binding(leg);
	const struct session *session = session_find(
		&leg->courier->keeper->sessions, bytes_str(leg->session));

	if (!binding || !session)
		return bytes_from(NULL, 0);
	if (binding->placeholder.len > 0)
		return binding->placeholder;
	return bytes_from(
		room,
		placeholder_make(session->package->session.lease_hash.data,
				 binding->name,
				 (enum placeholder_shape)binding->shape,
				 PLACEHOLDER_VALUE, room));
}

/* ---- is it so? ---- */

static bool is_field(const struct leg_swap *swap)
{
	return swap->place == LEG_IN_FIELD || swap->place == LEG_IN_BASIC;
}

/* Where it stands, and which place that is of the policy's. */
static unsigned place_of(const struct leg_request *request,
			 const struct leg_swap *swap, struct bytes *text)
{
	ptrdiff_t query;

	*text = bytes_from(NULL, 0);
	switch ((enum leg_place)swap->place) {
	case LEG_IN_FIELD:
	case LEG_IN_BASIC:
		if (swap->field >= request->fields_count)
			return 0;
		*text = request->fields[swap->field].value;
		return swap->place == LEG_IN_BASIC ? PLACE_BASIC : PLACE_HEADER;
	case LEG_IN_PATH:
		*text = request->path;
		query = bytes_find(request->path, '?', 0);
		return query >= 0 && swap->at > (uint64_t)query ? PLACE_QUERY
								: PLACE_PATH;
	case LEG_IN_BODY:
		return request->has_length ? PLACE_BODY : 0;
	case LEG_PLACE_MAX:
	default:
		return 0;
	}
}

static bool stands_there(const struct leg_request *request,
			 const struct leg_swap *swap, struct bytes text,
			 struct bytes placeholder)
{
	if (swap->place == LEG_IN_BODY)
		return swap->at <= request->body_len &&
		       placeholder.len <= request->body_len - swap->at;
	return swap->at <= text.len &&
	       bytes_equal(bytes_slice(text, (size_t)swap->at,
				       (size_t)swap->at + placeholder.len),
			   placeholder);
}

static bool is_escape(const struct leg_request *request,
		      const struct leg_swap *swap)
{
	if (is_field(swap))
		return swap->escape == LEG_PLAIN;
	if (swap->place == LEG_IN_PATH)
		return swap->escape == LEG_PERCENT;
	/* A body is of one kind. */
	return swap->escape == request->swaps[request->swaps_count - 1].escape;
}

/* Does one follow the other, without touching it? */
static bool is_after(const struct leg_swap *one, const struct leg_swap *two,
		     size_t len)
{
	if (one->place != two->place)
		return one->place < two->place;
	if (one->field != two->field)
		return one->field < two->field;
	return two->at >= one->at + len;
}

static bool is_basic_field(const struct leg_request *request, size_t field)
{
	for (size_t i = 0; i < request->swaps_count; i++)
		if (request->swaps[i].place == LEG_IN_BASIC &&
		    request->swaps[i].field == field)
			return true;
	return false;
}

static bool fits_field(const struct leg_request *request,
		       const struct leg_swap *swap)
{
	if (!is_field(swap))
		return swap->field == 0;
	if (swap->place == LEG_IN_FIELD)
		return !is_basic_field(request, swap->field);
	return bytes_is_nocase(request->fields[swap->field].name,
			       "authorization");
}

int swap_check(const struct leg *leg, const struct scope *scope,
	       struct err *err)
{
	const struct leg_request *request = &leg->request;
	const struct scope_binding *binding =
		scope_binding_named(scope, bytes_str(leg->binding));
	char room[PLACEHOLDER_SIZE];
	struct bytes placeholder = placeholder_of(leg, room);

	for (size_t i = 0; i < request->swaps_count; i++) {
		const struct leg_swap *swap = &request->swaps[i];
		struct bytes text;
		unsigned place = place_of(request, swap, &text);

		if (!(binding->places & place))
			return err_set(err, ERR_DENIED,
				       "the credential has no place there");
		if (placeholder.len == 0 || !is_escape(request, swap) ||
		    !stands_there(request, swap, text, placeholder) ||
		    !fits_field(request, swap) ||
		    (i && !is_after(swap - 1, swap, placeholder.len)))
			return err_set(err, ERR_INVALID,
				       "no placeholder stands there");
	}
	return 0;
}

/* ---- how it is written ---- */

static int add_json(struct buf *out, struct bytes secret)
{
	for (size_t i = 0; i < secret.len; i++) {
		uint8_t c = secret.data[i];

		if (c < 0x20 || c == 0x7f) {
			if (buf_add_format(out, "\\u%04x", c) < 0)
				return -1;
			continue;
		}
		if (((c == '"' || c == '\\') && buf_add_byte(out, '\\') < 0) ||
		    buf_add_byte(out, c) < 0)
			return -1;
	}
	return 0;
}

static int add_secret(struct buf *out, enum leg_escape escape,
		      struct bytes secret)
{
	switch (escape) {
	case LEG_PERCENT:
		return attach_percent(out, secret);
	case LEG_JSON:
		return add_json(out, secret);
	case LEG_PLAIN:
		return buf_add(out, secret);
	case LEG_ESCAPE_MAX:
	default:
		return -1;
	}
}

/* The text of one place, with the secret in it. */
static int add_swapped(const struct leg *leg, const struct msg_token *token,
		       const struct leg_swap *which, struct bytes text,
		       struct buf *out)
{
	const struct leg_request *request = &leg->request;
	char room[PLACEHOLDER_SIZE];
	struct bytes placeholder = placeholder_of(leg, room);
	size_t done = 0;

	if (placeholder.len == 0)
		return -1;
	for (size_t i = 0; i < request->swaps_count; i++) {
		const struct leg_swap *swap = &request->swaps[i];

		if (swap->place != which->place || swap->field != which->field)
			continue;
		if (buf_add(out, bytes_slice(text, done, (size_t)swap->at)) <
			    0 ||
		    add_secret(out, (enum leg_escape)swap->escape,
			       token->secret) < 0)
			return -1;
		done = (size_t)swap->at + placeholder.len;
	}
	return buf_add(out, bytes_slice(text, done, text.len));
}

static const struct leg_swap *first_of(const struct leg_request *request,
				       bool fields, size_t field)
{
	for (size_t i = 0; i < request->swaps_count; i++) {
		const struct leg_swap *swap = &request->swaps[i];

		if (fields ? is_field(swap) && swap->field == field
			   : swap->place == field)
			return swap;
	}
	return NULL;
}

bool swap_has_field(const struct leg_request *request, size_t field)
{
	return first_of(request, true, field) != NULL;
}

static int add_basic(const struct leg *leg, const struct msg_token *token,
		     const struct leg_swap *swap, struct bytes text,
		     struct buf *out)
{
	auto_type(buf_release) struct buf plain;
	int result = -1;

	buf_init(&plain, attach_bytes_max(leg) + text.len);
	if (buf_reserve(&plain, attach_bytes_max(leg) + text.len) &&
	    buf_add_str(out, "Basic ") == 0 &&
	    add_swapped(leg, token, swap, text, &plain) == 0)
		result = attach_base64(out, buf_view(&plain));
	if (plain.data)
		secret_wipe(plain.data, plain.size);
	return result;
}

int swap_field(const struct leg *leg, const struct msg_token *token,
	       size_t field, struct buf *out, struct err *err)
{
	const struct leg_request *request = &leg->request;
	const struct leg_swap *swap = first_of(request, true, field);
	const struct leg_field *of = &request->fields[field];
	int result;

	if (buf_add(out, of->name) < 0 || buf_add_str(out, ": ") < 0)
		return err_set(err, ERR_TOO_LARGE, "the head has no room");
	result = swap->place == LEG_IN_BASIC
			 ? add_basic(leg, token, swap, of->value, out)
			 : add_swapped(leg, token, swap, of->value, out);
	if (result < 0 || buf_add_str(out, "\r\n") < 0)
		return err_set(err, ERR_TOO_LARGE, "the head has no room");
	return 0;
}

int swap_target(const struct leg *leg, const struct msg_token *token,
		struct buf *out, struct err *err)
{
	const struct leg_request *request = &leg->request;
	const struct leg_swap *swap = first_of(request, false, LEG_IN_PATH);
	int result = swap && leg->kind == LEG_REQUEST
			     ? add_swapped(leg, token, swap, request->path, out)
			     : buf_add(out, request->path);

	return result < 0 ? err_set(err, ERR_TOO_LARGE, "the URL has no room")
			  : 0;
}

/* ---- the body ---- */

static const struct leg_swap *body_swap(const struct leg *leg, size_t index)
{
	const struct leg_request *request = &leg->request;

	for (size_t i = 0; i < request->swaps_count; i++)
		if (request->swaps[i].place == LEG_IN_BODY && index-- == 0)
			return &request->swaps[i];
	return NULL;
}

int swap_body_begin(struct leg *leg, const struct msg_token *token,
		    struct err *err)
{
	const struct leg_swap *first;
	auto_type(buf_release) struct buf text = {0};
	int result;

	swap_body_end(leg);
	first = leg->kind == LEG_REQUEST ? body_swap(leg, 0) : NULL;
	if (!first)
		return 0;
	buf_init(&text, attach_bytes_max(leg));
	result =
		buf_reserve(&text, attach_bytes_max(leg)) &&
				add_secret(&text,
					   (enum leg_escape)first->escape,
					   token->secret) == 0
			? secret_set(&leg->body_secret, buf_view(&text), err)
			: err_set(err, ERR_TOO_LARGE, "the secret is too long");
	if (text.data)
		secret_wipe(text.data, text.size);
	return result;
}

void swap_body_end(struct leg *leg)
{
	secret_release(&leg->body_secret);
	leg->body_at = 0;
	leg->body_swap = 0;
}

uint64_t swap_body_len(const struct leg *leg)
{
	char room[PLACEHOLDER_SIZE];
	uint64_t len = leg->request.body_len;
	size_t count = 0;

	while (leg->body_secret.len && body_swap(leg, count))
		count++;
	if (count == 0)
		return len;
	return len - count * placeholder_of(leg, room).len +
	       count * leg->body_secret.len;
}

/* Up to the next placeholder, or to its end. *sends: what is to go out for
 * it. 0, or -1: it is not the placeholder. */
static int next_piece(struct leg *leg, struct bytes placeholder,
		      struct bytes *bytes, struct bytes *sends)
{
	const struct leg_swap *swap = body_swap(leg, leg->body_swap);
	uint64_t until = swap ? swap->at : UINT64_MAX;
	size_t len = bytes->len;
	size_t in;

	if (leg->body_at < until) {
		if (len > until - leg->body_at)
			len = (size_t)(until - leg->body_at);
		*sends = bytes_slice(*bytes, 0, len);
	} else {
		in = (size_t)(leg->body_at - until);
		if (len > placeholder.len - in)
			len = placeholder.len - in;
		if (!bytes_equal(bytes_slice(*bytes, 0, len),
				 bytes_slice(placeholder, in, in + len)))
			return -1;
		*sends = bytes_from(NULL, 0);
		if (in + len == placeholder.len) {
			*sends = secret_view(&leg->body_secret);
			leg->body_swap++;
		}
	}
	leg->body_at += len;
	*bytes = bytes_slice(*bytes, len, bytes->len);
	return 0;
}

int swap_body(struct leg *leg, struct bytes bytes, struct err *err)
{
	char room[PLACEHOLDER_SIZE];
	struct bytes placeholder = placeholder_of(leg, room);

	while (bytes.len > 0) {
		struct bytes sends;

		if (placeholder.len == 0 ||
		    next_piece(leg, placeholder, &bytes, &sends) < 0)
			return err_set(err, ERR_DENIED,
				       "no placeholder stands there");
		if (sends.len && body_write(leg, sends) < 0)
			return -1;
	}
	return 0;
}
