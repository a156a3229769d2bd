#include "gateway/lfs/reply.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/http/guard.h"
#include "gateway/http/write.h"
#include "gateway/lfs/json.h"

/* ---- one URL ---- */

static int parse_port(struct bytes text, uint16_t *port)
{
	uint64_t number;

	if (bytes_to_u64(text, 5, &number) < 0 || number == 0 ||
	    number > UINT16_MAX)
		return -1;
	*port = (uint16_t)number;
	return 0;
}

static int parse_authority(struct bytes authority, struct target *target)
{
	ptrdiff_t bracket = bytes_find(authority, ']', 0);
	ptrdiff_t colon =
		bytes_find(authority, ':', bracket < 0 ? 0 : (size_t)bracket);
	size_t end = colon < 0 ? authority.len : (size_t)colon;

	target->port = 443;
	if (colon >= 0 &&
	    parse_port(bytes_slice(authority, end + 1, authority.len),
		       &target->port) < 0)
		return -1;
	target->scheme = SCHEME_HTTPS;
	target->kind =
		host_canonical(bytes_slice(authority, 0, end), target->host);
	return target->kind == HOST_INVALID ? -1 : 0;
}

int lfs_href_parse(struct bytes href, struct arena *arena,
		   struct target *target, struct bytes *path, struct err *err)
{
	static const struct bytes scheme = BYTES_LITERAL("https://");
	struct bytes rest = bytes_slice(href, scheme.len, href.len);
	ptrdiff_t slash = bytes_find(rest, '/', 0);

	if (!bytes_equal_nocase(bytes_slice(href, 0, scheme.len), scheme))
		return err_set(err, ERR_INVALID, "it is no https URL");
	if (href.len > LFS_HREF_MAX || slash <= 0)
		return err_set(err, ERR_INVALID, "it is too long, or no URL");
	/* '@' (user info) is no host's; '#' is in no target. */
	if (parse_authority(bytes_slice(rest, 0, (size_t)slash), target) < 0)
		return err_set(err, ERR_INVALID,
			       "it names no host and port that can exist");
	*path = arena_copy(arena, bytes_slice(rest, (size_t)slash, rest.len));
	if (!http_is_target(*path) || bytes_find(*path, '#', 0) >= 0)
		return err_set(err, ERR_INVALID, "its path is malformed");
	return 0;
}

/* ---- one action ---- */

/* Who carries a message says how it is delimited and coded. */
static bool is_ours(struct bytes name)
{
	return write_is_own(name) || bytes_is_nocase(name, "accept-encoding") ||
	       bytes_is_nocase(name, "content-encoding") ||
	       bytes_is_nocase(name, "range");
}

static int take_field(const char *key, const json_t *json, struct arena *arena,
		      struct lfs_action *action, size_t *bytes)
{
	struct bytes name = bytes_str(key);
	struct bytes value =
		bytes_from(json_string_value(json), json_string_length(json));

	if (!json_is_string(json) || !http_is_token(name) ||
	    !http_is_value(value))
		return -1;
	*bytes += name.len + value.len;
	if (*bytes > LFS_HEADER_BYTES_MAX)
		return -1;
	if (is_ours(name))
		return 0;
	name = arena_copy(arena, name);
	value = arena_copy(arena, value);
	if (!name.len || fields_count_of(&action->fields, (const char *)key))
		return -1;
	return fields_add(&action->fields, name, value);
}

static int take_fields(const json_t *json, struct arena *arena,
		       struct lfs_action *action)
{
	json_t *header = json_object_get(json, "header");
	size_t bytes = 0;
	const char *key;
	json_t *value;

	if (!header || json_is_null(header))
		return 0;
	if (!json_is_object(header) ||
	    json_object_size(header) > LFS_HEADERS_MAX)
		return -1;
	action->fields = (struct fields){
		arena_array(arena, LFS_HEADERS_MAX, sizeof(struct field)), 0,
		LFS_HEADERS_MAX};
	if (!action->fields.items)
		return -1;
	json_object_foreach(header, key, value)
	{
		if (take_field(key, value, arena, action, &bytes) < 0)
			return -1;
	}
	return 0;
}

/* Until when? Without a word of it: the cap. -1: it is over, or unreadable.
 * What Go calls no time is none. */
static int take_life(const json_t *json, uint64_t wall_ms,
		     struct lfs_action *action)
{
	const json_t *seconds = json_object_get(json, "expires_in");
	struct bytes at = lfs_json_text(json, "expires_at");
	uint64_t end_ms;

	action->life_ms = LFS_PERMIT_MS;
	if (json_is_integer(seconds) && json_integer_value(seconds) != 0) {
		json_int_t left = json_integer_value(seconds);

		if (left < 0)
			return -1;
		if (left < LFS_PERMIT_MS / 1000)
			action->life_ms = (uint64_t)left * 1000;
		return 0;
	}
	if (at.len == 0 || bytes_starts_with(at, bytes_str("0001-01-01")))
		return 0;
	if (clock_parse(at, &end_ms) < 0 || end_ms <= wall_ms)
		return -1;
	if (end_ms - wall_ms < LFS_PERMIT_MS)
		action->life_ms = end_ms - wall_ms;
	return 0;
}

static void refuse(struct lfs_answer *answer, unsigned error, const char *why)
{
	answer->action_count = 0;
	answer->error = error;
	answer->why = bytes_str(why);
}

/* ---- one object ---- */

static void take_action(const json_t *actions, enum lfs_action_kind kind,
			uint64_t wall_ms, struct arena *arena,
			struct lfs_answer *answer)
{
	static const char *const names[] = {
		[LFS_ACT_DOWNLOAD] = "download",
		[LFS_ACT_UPLOAD] = "upload",
		[LFS_ACT_VERIFY] = "verify",
	};
	const json_t *json = json_object_get(actions, names[kind]);
	struct lfs_action *action = &answer->actions[answer->action_count];
	struct err err;

	if (!json || answer->error)
		return;
	*action = (struct lfs_action){.kind = kind};
	if (lfs_href_parse(lfs_json_text(json, "href"), arena, &action->target,
			   &action->path, &err) < 0) {
		char *why = arena_format(
			arena,
			"sallyport: response_malformed: the server's URL for "
			"the %s is not used: %s",
			names[kind], err.text);

		refuse(answer, 502, why ? why : "no memory");
	} else if (take_fields(json, arena, action) < 0) {
		refuse(answer, 502,
		       "sallyport: response_malformed: the server's header "
		       "for the transfer is not used: it is malformed, or "
		       "larger than 16 fields of 8 KiB");
	} else if (take_life(json, wall_ms, action) < 0) {
		refuse(answer, 410,
		       "sallyport: lfs_transfer_unknown: the server's "
		       "permission was over before it came, or says no time");
	} else {
		answer->action_count++;
	}
}

static struct bytes printable(struct bytes text, size_t max,
			      struct arena *arena)
{
	char *copy = arena_str(arena, bytes_slice(text, 0, max));

	for (char *at = copy; at && *at; at++)
		if (*at < 0x20 || *at > 0x7e)
			*at = '?';
	return bytes_str(copy);
}

static void take_error(const json_t *error, struct arena *arena,
		       struct lfs_answer *answer)
{
	json_int_t code = json_integer_value(json_object_get(error, "code"));

	refuse(answer, code >= 400 && code <= 599 ? (unsigned)code : 502, "");
	answer->why = printable(lfs_json_text(error, "message"),
				LFS_ERROR_TEXT_MAX, arena);
}

static struct lfs_answer *find(struct lfs_reply *reply, struct bytes oid)
{
	for (size_t i = 0; i < reply->count; i++)
		if (bytes_is(oid, reply->answers[i].object->oid))
			return &reply->answers[i];
	return NULL;
}

/* In which order they are carried out. */
static void take_actions(const json_t *json, const struct lfs_batch *batch,
			 uint64_t wall_ms, struct arena *arena,
			 struct lfs_answer *answer)
{
	const json_t *actions = json_object_get(json, "actions");

	if (batch->operation == LFS_DOWNLOAD) {
		take_action(actions, LFS_ACT_DOWNLOAD, wall_ms, arena, answer);
		return;
	}
	take_action(actions, LFS_ACT_UPLOAD, wall_ms, arena, answer);
	take_action(actions, LFS_ACT_VERIFY, wall_ms, arena, answer);
	/* There is nothing to verify that was not brought. */
	if (answer->action_count == 1 &&
	    answer->actions[0].kind == LFS_ACT_VERIFY)
		answer->action_count = 0;
}

static int take_object(const json_t *json, const struct lfs_batch *batch,
		       uint64_t wall_ms, struct arena *arena,
		       struct lfs_reply *reply, struct err *err)
{
	const json_t *error = json_object_get(json, "error");
	struct lfs_answer *answer = find(reply, lfs_json_text(json, "oid"));
	const json_t *size = json_object_get(json, "size");

	if (!answer || answer->is_there)
		return err_set(err, ERR_INVALID,
			       "an object that was not asked for, or twice");
	answer->is_there = true;
	answer->error = 0;
	if (json_is_object(error))
		take_error(error, arena, answer);
	else if (size &&
		 (uint64_t)json_integer_value(size) != answer->object->size)
		refuse(answer, 422, "the server knows another size of it");
	else
		take_actions(json, batch, wall_ms, arena, answer);
	return 0;
}

static int begin(const struct lfs_batch *batch, struct arena *arena,
		 struct lfs_reply *reply)
{
	reply->count = batch->count;
	reply->answers =
		arena_array(arena, batch->count, sizeof(*reply->answers));
	for (size_t i = 0; reply->answers && i < batch->count; i++) {
		reply->answers[i].object = &batch->objects[i];
		reply->answers[i].error = 404;
	}
	return reply->answers ? 0 : -1;
}

int lfs_reply_parse(struct bytes body, const struct lfs_batch *batch,
		    uint64_t wall_ms, struct arena *arena,
		    struct lfs_reply *reply, struct err *err)
{
	auto_type(lfs_json_drop) json_t *root = lfs_json_parse(body, err);
	const json_t *list = json_object_get(root, "objects");
	struct bytes transfer = lfs_json_text(root, "transfer");
	const json_t *item;
	size_t i;

	if (!root)
		return -1;
	if (transfer.len > 0 && !bytes_is(transfer, "basic"))
		return err_set(err, ERR_INVALID,
			       "it wants another transfer than \"basic\"");
	if (!json_is_array(list) || json_array_size(list) > batch->count)
		return err_set(err, ERR_INVALID, "no list of the objects");
	if (begin(batch, arena, reply) < 0)
		return err_set(err, ERR_TOO_LARGE, "memory is out");
	json_array_foreach(list, i, item)
	{
		if (take_object(item, batch, wall_ms, arena, reply, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- the answer ---- */

static json_t *actions_json(const struct lfs_answer *answer)
{
	static const char *const names[] = {
		[LFS_ACT_DOWNLOAD] = "download",
		[LFS_ACT_UPLOAD] = "upload",
		[LFS_ACT_VERIFY] = "verify",
	};
	json_t *actions = json_object();

	for (size_t i = 0; i < answer->action_count; i++) {
		const struct lfs_action *action = &answer->actions[i];
		json_int_t left = (json_int_t)(action->life_ms / 1000);

		(void)json_object_set_new(
			actions, names[action->kind],
			json_pack("{s:o, s:I}", "href",
				  lfs_json_string(action->href), "expires_in",
				  left > 0 ? left : 1));
	}
	return actions;
}

/* "authenticated": the client needs no credential of its own. */
static json_t *answer_json(const struct lfs_answer *answer)
{
	const struct lfs_object *object = answer->object;
	json_t *json = json_pack("{s:s, s:I, s:b}", "oid", object->oid, "size",
				 (json_int_t)object->size, "authenticated", 1);
	struct bytes why = answer->why;

	if (answer->error && why.len == 0)
		why = bytes_str("the server said nothing about this object");
	if (answer->error)
		(void)json_object_set_new(
			json, "error",
			json_pack("{s:i, s:o}", "code", (int)answer->error,
				  "message", lfs_json_string(why)));
	else if (answer->action_count > 0)
		(void)json_object_set_new(json, "actions",
					  actions_json(answer));
	return json;
}

int lfs_reply_write(const struct lfs_reply *reply, struct buf *out)
{
	json_t *list = json_array();
	json_t *root = json_pack("{s:s, s:s, s:o}", "transfer", "basic",
				 "hash_algo", "sha256", "objects", list);

	for (size_t i = 0; root && i < reply->count; i++)
		if (json_array_append_new(
			    list, answer_json(&reply->answers[i])) < 0) {
			json_decref(root);
			return -1;
		}
	return lfs_json_write(root, out);
}

/* ---- messages ---- */

int lfs_message_write(struct bytes text, struct bytes request_id,
		      struct buf *out)
{
	auto_type(arena_release) struct arena arena;

	arena_init(&arena, 2 * LFS_MESSAGE_MAX);
	text = printable(text, LFS_MESSAGE_MAX, &arena);
	return lfs_json_write(json_pack("{s:o, s:o}", "message",
					lfs_json_string(text), "request_id",
					lfs_json_string(request_id)),
			      out);
}

struct bytes lfs_message_of(struct bytes body, struct arena *arena)
{
	struct err err;
	auto_type(lfs_json_drop) json_t *root = lfs_json_parse(body, &err);

	return printable(lfs_json_text(root, "message"), LFS_ERROR_TEXT_MAX,
			 arena);
}

int lfs_copy(struct bytes body, struct buf *out)
{
	struct err err;

	return lfs_json_write(lfs_json_parse(body, &err), out);
}
