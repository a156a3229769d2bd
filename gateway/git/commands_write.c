#include <stdlib.h>

#include "common/cleanup.h"
#include "common/pktline.h"
#include "gateway/git/commands.h"
#include "gateway/git/commands_parts.h"
#include "gateway/git/endpoint.h"
#include "gateway/git/packets.h"
#include "gateway/git/refs.h"
#include "policies/ref.h"

#define OID_HEX_SHA1 40

static int compare(const void *a, const void *b)
{
	const struct bytes *left = a, *right = b;

	if (left->len != right->len)
		return left->len < right->len ? -1 : 1;
	return memcmp(left->data, right->data, left->len);
}

bool commands_has_doubles(const struct push_update *updates, size_t count)
{
	auto_free struct bytes *refs = calloc(count + 1, sizeof(*refs));

	if (!refs)
		return true;
	for (size_t i = 0; i < count; i++)
		refs[i] = updates[i].ref;
	qsort(refs, count, sizeof(*refs), compare);
	for (size_t i = 1; i < count; i++)
		if (bytes_equal(refs[i - 1], refs[i]))
			return true;
	return false;
}

static bool verb_fits(const struct leg_update *update)
{
	bool creates = git_oid_is_zero(update->old_oid);
	bool deletes = git_oid_is_zero(update->new_oid);

	if (creates || deletes)
		return creates != deletes &&
		       update->verb == (creates ? PUSH_CREATE : PUSH_DELETE);
	return update->verb == PUSH_UPDATE ||
	       update->verb == PUSH_FAST_FORWARD ||
	       update->verb == PUSH_REWRITE;
}

static int check_updates(const struct leg_push *push, struct err *err)
{
	auto_free struct push_update *updates = NULL;
	bool has_pack = false;

	updates = calloc(push->updates_count + 1, sizeof(*updates));
	if (!updates)
		return err_set(err, ERR_TOO_LARGE, "write push: no memory");
	for (size_t i = 0; i < push->updates_count; i++) {
		const struct leg_update *update = &push->updates[i];

		if (!git_oid_is_valid(update->old_oid, push->oid_hex_len) ||
		    !git_oid_is_valid(update->new_oid, push->oid_hex_len) ||
		    bytes_equal(update->old_oid, update->new_oid) ||
		    !ref_is_valid(update->ref) || !verb_fits(update))
			return err_set(err, ERR_INVALID,
				       "write push: update %zu is not sound",
				       i);
		updates[i].ref = update->ref;
		has_pack |= update->verb != PUSH_DELETE;
	}
	if (commands_has_doubles(updates, push->updates_count))
		return err_set(err, ERR_INVALID, "write push: a ref twice");
	if (has_pack != push->has_pack)
		return err_set(err, ERR_INVALID, "write push: pack or none?");
	return 0;
}

static int check(const struct leg_push *push, struct err *err)
{
	if (push->updates_count == 0 ||
	    push->updates_count > PUSH_UPDATES_MAX ||
	    push->shallow_count > PUSH_UPDATES_MAX ||
	    push->options_count > PUSH_OPTIONS_MAX ||
	    !(push->oid_hex_len == OID_HEX_SHA1 ||
	      push->oid_hex_len == PUSH_OID_HEX_MAX))
		return err_set(err, ERR_INVALID, "write push: not a push");
	for (size_t i = 0; i < push->shallow_count; i++)
		if (!git_oid_is_valid(push->shallow[i].name, push->oid_hex_len))
			return err_set(err, ERR_INVALID,
				       "write push: shallow is not sound");
	for (size_t i = 0; i < push->options_count; i++)
		if (!packets_is_text(push->options[i].name,
				     PUSH_OPTION_LEN_MAX))
			return err_set(err, ERR_INVALID,
				       "write push: an option is not sound");
	return check_updates(push, err);
}

static int write_capabilities(const struct leg_push *push, struct buf *line)
{
	static const char *const reports[] = {
		[REPORT_NONE] = "",
		[REPORT_STATUS] = " report-status",
		[REPORT_STATUS_V2] = " report-status-v2",
	};

	return buf_add_format(
		line, "%s%s%s%s%s object-format=%s " GIT_AGENT,
		push->report <= REPORT_STATUS_V2 ? reports[push->report] : "",
		push->has_side_band ? " side-band-64k" : "",
		push->is_quiet ? " quiet" : "",
		push->is_atomic ? " atomic" : "",
		push->options_count > 0 ? " push-options" : "",
		push->oid_hex_len == OID_HEX_SHA1 ? "sha1" : "sha256");
}

static int write_first(const struct leg_push *push, struct buf *out)
{
	const struct leg_update *update = &push->updates[0];
	auto_type(buf_release) struct buf line;

	buf_init(&line, PKTLINE_PAYLOAD_MAX);
	if (buf_add_format(&line, "%.*s %.*s %.*s", BYTES_ARGS(update->old_oid),
			   BYTES_ARGS(update->new_oid),
			   BYTES_ARGS(update->ref)) < 0 ||
	    buf_add_byte(&line, '\0') < 0 ||
	    write_capabilities(push, &line) < 0)
		return -1;
	return pktline_add(out, buf_view(&line));
}

static int write_all(const struct leg_push *push, struct buf *out)
{
	for (size_t i = 0; i < push->shallow_count; i++)
		if (pktline_add_format(out, "shallow %.*s",
				       BYTES_ARGS(push->shallow[i].name)) < 0)
			return -1;
	if (write_first(push, out) < 0)
		return -1;
	for (size_t i = 1; i < push->updates_count; i++) {
		const struct leg_update *update = &push->updates[i];

		if (pktline_add_format(out, "%.*s %.*s %.*s",
				       BYTES_ARGS(update->old_oid),
				       BYTES_ARGS(update->new_oid),
				       BYTES_ARGS(update->ref)) < 0)
			return -1;
	}
	if (pktline_add_flush(out) < 0)
		return -1;
	for (size_t i = 0; i < push->options_count; i++)
		if (pktline_add(out, push->options[i].name) < 0)
			return -1;
	return push->options_count > 0 ? pktline_add_flush(out) : 0;
}

int commands_write(const struct leg_push *push, struct buf *out,
		   struct err *err)
{
	if (check(push, err) < 0)
		return -1;
	if (write_all(push, out) < 0)
		return err_set(err, ERR_TOO_LARGE, "write push: no room");
	return 0;
}

int commands_to_leg(const struct push *push, struct arena *arena,
		    struct leg_push *leg)
{
	struct leg_update *updates;
	struct leg_field *shallow, *options;

	updates = arena_array(arena, push->update_count + 1, sizeof(*updates));
	shallow = arena_array(arena, push->shallow_count + 1, sizeof(*shallow));
	options = arena_array(arena, push->option_count + 1, sizeof(*options));
	if (!updates || !shallow || !options)
		return -1;
	for (size_t i = 0; i < push->update_count; i++) {
		const struct push_update *update = &push->updates[i];

		updates[i].old_oid = update->old_oid;
		updates[i].new_oid = update->new_oid;
		updates[i].ref = update->ref;
		updates[i].verb = (uint8_t)update->verb;
	}
	for (size_t i = 0; i < push->shallow_count; i++)
		shallow[i].name = push->shallow[i];
	for (size_t i = 0; i < push->option_count; i++)
		options[i].name = push->options[i];
	*leg = (struct leg_push){
		.updates = updates,
		.updates_count = push->update_count,
		.shallow = shallow,
		.shallow_count = push->shallow_count,
		.options = options,
		.options_count = push->option_count,
		.report = (uint8_t)push->report,
		.has_side_band = push->has_side_band,
		.is_atomic = push->is_atomic,
		.is_quiet = push->is_quiet,
		.has_pack = push->has_pack,
		.oid_hex_len = (uint8_t)push->oid_hex_len,
	};
	return 0;
}
