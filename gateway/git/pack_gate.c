#include "gateway/git/commands.h"

#define TRAILER_LEN_SHA1 20

void pack_gate_init(struct pack_gate *gate, const struct push *push,
		    uint64_t bytes_max, uint32_t objects_max)
{
	*gate = (struct pack_gate){
		.has_pack = push->has_pack,
		.bytes_max = bytes_max,
		.objects_max = objects_max,
	};
}

static int refuse(struct pack_gate *gate, enum constraint constraint,
		  const char *reason)
{
	gate->verdict = (struct verdict){.kind = VERDICT_DENY,
					 .constraint = constraint,
					 .reason = bytes_str(reason)};
	return -1;
}

static uint32_t get_u32(const uint8_t *from)
{
	return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
	       (uint32_t)from[2] << 8 | from[3];
}

/* gitformat-pack(5): "PACK", version 2 or 3, how many objects. */
static int check_head(struct pack_gate *gate)
{
	uint32_t version = get_u32(gate->head + 4);

	if (memcmp(gate->head, "PACK", 4) != 0 ||
	    (version != 2 && version != 3))
		return refuse(gate, CONSTRAINT_push_pack_invalid,
			      "no pack follows the commands");
	gate->object_count = get_u32(gate->head + 8);
	if (gate->object_count > gate->objects_max)
		return refuse(gate, CONSTRAINT_push_too_large,
			      "the pack has too many objects");
	return 0;
}

int pack_gate_feed(struct pack_gate *gate, struct bytes input)
{
	size_t at = gate->head_len;

	if (gate->verdict.constraint != CONSTRAINT_none)
		return -1;
	if (input.len == 0)
		return 0;
	if (!gate->has_pack)
		return refuse(gate, CONSTRAINT_push_malformed,
			      "bytes after commands that only delete");
	gate->bytes += input.len;
	if (gate->bytes > gate->bytes_max)
		return refuse(gate, CONSTRAINT_push_too_large,
			      "the pack is too large");
	while (gate->head_len < PACK_HEAD_LEN && input.len > 0) {
		gate->head[gate->head_len++] = input.data[0];
		input = bytes_slice(input, 1, input.len);
	}
	if (at < PACK_HEAD_LEN && gate->head_len == PACK_HEAD_LEN)
		return check_head(gate);
	return 0;
}

int pack_gate_end(struct pack_gate *gate)
{
	if (gate->verdict.constraint != CONSTRAINT_none)
		return -1;
	if (gate->has_pack && gate->bytes < PACK_HEAD_LEN + TRAILER_LEN_SHA1)
		return refuse(gate, CONSTRAINT_push_pack_invalid,
			      "the pack is cut short");
	return 0;
}
