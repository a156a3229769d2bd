#include "gateway/git/commands.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "gateway/git/commands_parts.h"
#include "gateway/git/packets.h"
#include "gateway/git/refs.h"
#include "policies/ref.h"

#define LIST_SIZE_MIN 16

void commands_init(struct commands *cmd, struct arena *arena)
{
	*cmd = (struct commands){.arena = arena, .result = COMMANDS_MORE};
	buf_init(&cmd->line, PACKETS_HELD_MAX);
}

void commands_release(struct commands *cmd)
{
	buf_release(&cmd->line);
}

static enum commands_result
refuse(struct commands *cmd, enum constraint constraint, const char *reason)
{
	cmd->result = COMMANDS_REFUSED;
	cmd->verdict = (struct verdict){.kind = VERDICT_DENY,
					.constraint = constraint,
					.reason = bytes_str(reason)};
	return cmd->result;
}

static enum commands_result malformed(struct commands *cmd, const char *reason)
{
	return refuse(cmd, CONSTRAINT_push_malformed, reason);
}

/* Room for one more of size bytes in a list of the arena; the old list, or
 * a larger copy. NULL when there is none. */
static void *grow(struct commands *cmd, void *list, size_t count, size_t *room,
		  size_t size)
{
	size_t wanted = *room ? *room * 2 : LIST_SIZE_MIN;
	void *larger;

	if (count >= PUSH_UPDATES_MAX)
		return NULL;
	if (count < *room)
		return list;
	larger = arena_array(cmd->arena, wanted, size);
	if (larger && count > 0)
		memcpy(larger, list, count * size);
	if (larger)
		*room = wanted;
	return larger;
}

static enum commands_result take_shallow(struct commands *cmd, struct bytes oid)
{
	struct push *push = &cmd->push;
	struct bytes *list;

	if (cmd->has_command)
		return malformed(cmd, "shallow after a command");
	if (!git_oid_is_valid(oid, 0))
		return malformed(cmd, "shallow without an object id");
	if (push->shallow_count > 0 && push->shallow[0].len != oid.len)
		return malformed(cmd, "object ids of two widths");
	list = grow(cmd, push->shallow, push->shallow_count, &cmd->shallow_room,
		    sizeof(*list));
	if (!list)
		return refuse(cmd, CONSTRAINT_push_too_large,
			      "too many shallow lines");
	push->shallow = list;
	list[push->shallow_count] = arena_copy(cmd->arena, oid);
	if (list[push->shallow_count++].len != oid.len)
		return refuse(cmd, CONSTRAINT_push_too_large, "no memory left");
	return COMMANDS_MORE;
}

/* Split "<old> <new> <ref>" into update; NULL, or what is wrong. */
static const char *parse_command(struct bytes line, size_t oid_hex_len,
				 struct push_update *update)
{
	struct bytes rest = line;

	if (!bytes_split(&rest, ' ', &update->old_oid) ||
	    !bytes_split(&rest, ' ', &update->new_oid))
		return "a command is not <old> <new> <ref>";
	update->ref = rest;
	if (!git_oid_is_valid(update->old_oid, oid_hex_len) ||
	    !git_oid_is_valid(update->new_oid, update->old_oid.len))
		return "an object id is not lower-case hex of one width";
	if (!ref_is_valid(rest))
		return "a ref name is not valid";
	if (bytes_equal(update->old_oid, update->new_oid))
		return "the old and the new object are the same";
	if (git_oid_is_zero(update->old_oid))
		update->verb = PUSH_CREATE;
	else if (git_oid_is_zero(update->new_oid))
		update->verb = PUSH_DELETE;
	else
		update->verb = PUSH_UPDATE;
	return NULL;
}

static bool copy_update(struct arena *arena, struct push_update *update)
{
	struct bytes *fields[] = {&update->old_oid, &update->new_oid,
				  &update->ref};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = fields[i]->len;

		*fields[i] = arena_copy(arena, *fields[i]);
		if (fields[i]->len != len)
			return false;
	}
	return true;
}

static enum commands_result add_update(struct commands *cmd,
				       struct push_update update)
{
	struct push *push = &cmd->push;
	struct push_update *list;

	list = grow(cmd, push->updates, push->update_count, &cmd->update_room,
		    sizeof(*list));
	if (!list)
		return refuse(cmd, CONSTRAINT_push_too_large,
			      "too many refs in one push");
	push->updates = list;
	if (!copy_update(cmd->arena, &update))
		return refuse(cmd, CONSTRAINT_push_too_large, "no memory left");
	list[push->update_count++] = update;
	push->oid_hex_len = update.old_oid.len;
	push->has_pack |= update.verb != PUSH_DELETE;
	return COMMANDS_MORE;
}

static enum commands_result take_command(struct commands *cmd,
					 struct bytes line)
{
	struct push_update update = {0};
	struct bytes capabilities, command = line;
	bool has_capabilities;
	const char *wrong;

	capabilities = line;
	has_capabilities = bytes_split(&capabilities, '\0', &command);
	if (has_capabilities && cmd->has_command)
		return malformed(cmd, "capabilities after the first command");
	wrong = parse_command(command, cmd->push.oid_hex_len, &update);
	if (!wrong && cmd->push.shallow_count > 0 &&
	    cmd->push.shallow[0].len != update.old_oid.len)
		wrong = "object ids of two widths";
	if (wrong)
		return malformed(cmd, wrong);
	if (!cmd->has_command) {
		wrong = commands_capabilities(
			has_capabilities ? capabilities : bytes_str(NULL),
			update.old_oid.len, cmd->arena, &cmd->push);
		if (wrong)
			return malformed(cmd, wrong);
	}
	cmd->has_command = true;
	return add_update(cmd, update);
}

static enum commands_result take_option(struct commands *cmd,
					struct bytes option)
{
	struct push *push = &cmd->push;

	if (!packets_is_text(option, PUSH_OPTION_LEN_MAX))
		return malformed(cmd, "a push option is not a line of text");
	if (push->option_count == PUSH_OPTIONS_MAX)
		return refuse(cmd, CONSTRAINT_push_too_large,
			      "too many push options");
	if (!push->options)
		push->options = arena_array(cmd->arena, PUSH_OPTIONS_MAX,
					    sizeof(*push->options));
	if (!push->options)
		return refuse(cmd, CONSTRAINT_push_too_large, "no memory left");
	push->options[push->option_count] = arena_copy(cmd->arena, option);
	if (push->options[push->option_count++].len != option.len)
		return refuse(cmd, CONSTRAINT_push_too_large, "no memory left");
	return COMMANDS_MORE;
}

static enum commands_result take_line(struct commands *cmd,
				      struct bytes payload)
{
	struct bytes line = packets_line(payload);
	struct bytes oid;

	if (cmd->is_flushed && cmd->has_command)
		return take_option(cmd, line);
	if (cmd->is_flushed)
		return malformed(cmd, "bytes after the probe");
	if (bytes_starts_with(line, bytes_str("push-cert")))
		return malformed(cmd, "signed pushes are not served");
	if (packets_word(line, "shallow", &oid))
		return take_shallow(cmd, oid);
	return take_command(cmd, line);
}

static enum commands_result take_flush(struct commands *cmd)
{
	const struct push *push = &cmd->push;

	if (cmd->is_flushed && !cmd->has_command)
		return malformed(cmd, "bytes after the probe");
	if (!cmd->has_command && push->shallow_count > 0)
		return malformed(cmd, "shallow lines and no command");
	/* After the commands comes the list of options, with its own end. */
	if (!cmd->is_flushed && (!cmd->has_command || push->has_options)) {
		cmd->is_flushed = true;
		return COMMANDS_MORE;
	}
	if (commands_has_doubles(push->updates, push->update_count))
		return malformed(cmd, "a ref is named twice");
	cmd->result = COMMANDS_PUSH;
	return cmd->result;
}

enum commands_result commands_feed(struct commands *cmd, struct bytes input,
				   size_t *used)
{
	struct bytes rest = input, payload;

	*used = 0;
	while (rest.len > 0 && cmd->result == COMMANDS_MORE) {
		size_t before = rest.len;
		enum pktline_kind kind;

		kind = packets_take(&cmd->line, &rest, &payload);
		cmd->bytes += before - rest.len;
		*used = input.len - rest.len;
		if (cmd->bytes > PUSH_COMMANDS_BYTES_MAX)
			return refuse(cmd, CONSTRAINT_push_too_large,
				      "the command list is too long");
		if (kind == PKTLINE_MORE)
			break;
		if (kind == PKTLINE_DATA)
			(void)take_line(cmd, payload);
		else if (kind == PKTLINE_FLUSH)
			(void)take_flush(cmd);
		else
			(void)malformed(cmd, "not a pkt-line");
	}
	if (cmd->result == COMMANDS_REFUSED)
		*used = input.len;
	return cmd->result;
}

enum commands_result commands_end(struct commands *cmd)
{
	if (cmd->result != COMMANDS_MORE)
		return cmd->result;
	if (!cmd->is_flushed || cmd->has_command ||
	    packets_is_split(&cmd->line))
		return malformed(cmd, "the command list ends early");
	cmd->result = COMMANDS_PROBE;
	return cmd->result;
}
