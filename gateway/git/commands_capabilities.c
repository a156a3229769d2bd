#include "common/cleanup.h"
#include "gateway/git/commands_parts.h"
#include "gateway/git/packets.h"

#define AGENT	     "agent="
#define AGENT_MAX    256
#define OID_HEX_SHA1 40

enum capability {
	CAP_REPORT_STATUS,
	CAP_REPORT_STATUS_V2,
	CAP_SIDE_BAND_64K,
	CAP_QUIET,
	CAP_ATOMIC,
	CAP_OFS_DELTA,
	CAP_DELETE_REFS,
	CAP_PUSH_OPTIONS,
	CAP_SHA1,
	CAP_SHA256,
	CAP_AGENT,
	CAP_MAX
};

static const char *const names[CAP_AGENT] = {
	[CAP_REPORT_STATUS] = "report-status",
	[CAP_REPORT_STATUS_V2] = "report-status-v2",
	[CAP_SIDE_BAND_64K] = "side-band-64k",
	[CAP_QUIET] = "quiet",
	[CAP_ATOMIC] = "atomic",
	[CAP_OFS_DELTA] = "ofs-delta",
	[CAP_DELETE_REFS] = "delete-refs",
	[CAP_PUSH_OPTIONS] = "push-options",
	[CAP_SHA1] = "object-format=sha1",
	[CAP_SHA256] = "object-format=sha256",
};

static enum capability capability_of(struct bytes token)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (bytes_is(token, names[i]))
			return (enum capability)i;
	if (bytes_starts_with(token, bytes_str(AGENT)) &&
	    packets_is_token(bytes_slice(token, strlen(AGENT), token.len),
			     AGENT_MAX))
		return CAP_AGENT;
	return CAP_MAX;
}

static void apply(unsigned seen, struct push *push)
{
	push->report = REPORT_NONE;
	if (seen & 1U << CAP_REPORT_STATUS)
		push->report = REPORT_STATUS;
	if (seen & 1U << CAP_REPORT_STATUS_V2)
		push->report = REPORT_STATUS_V2;
	push->has_side_band = (seen & 1U << CAP_SIDE_BAND_64K) != 0;
	push->is_quiet = (seen & 1U << CAP_QUIET) != 0;
	push->has_options = (seen & 1U << CAP_PUSH_OPTIONS) != 0;
	push->is_atomic = (seen & 1U << CAP_ATOMIC) != 0;
}

const char *commands_capabilities(struct bytes text, size_t oid_hex_len,
				  struct arena *arena, struct push *push)
{
	bool wants_sha256 = oid_hex_len != OID_HEX_SHA1;
	bool more = text.len > 0;
	struct bytes token;
	unsigned seen = 0;

	if (more && text.data[0] == ' ')
		text = bytes_slice(text, 1, text.len);
	while (more) {
		enum capability capability;

		more = bytes_split(&text, ' ', &token);
		capability = capability_of(token);
		if (capability == CAP_MAX)
			return "a capability that is not known";
		if (seen & 1U << capability)
			return "a capability stands there twice";
		seen |= 1U << capability;
		if (capability == CAP_AGENT)
			push->agent = arena_copy(
				arena,
				bytes_slice(token, strlen(AGENT), token.len));
	}
	if (wants_sha256 != ((seen & 1U << CAP_SHA256) != 0) ||
	    (wants_sha256 && (seen & 1U << CAP_SHA1)))
		return "object-format does not fit the object ids";
	apply(seen, push);
	return NULL;
}
