#include "gateway/git/advertise.h"

#include "common/cleanup.h"
#include "gateway/git/packets.h"

#define AGENT_MAX	 128
#define CAPABILITIES_MAX 4096
#define OID_HEX_SHA1	 40
#define OID_HEX_SHA256	 64
#define NO_REFS		 "capabilities^{}"
#define HIDDEN		 ".have"
#define OBJECT_FORMAT	 "object-format="

void advertise_init(struct advertise *adv, const struct policy_repo *repo,
		    struct git_refs *refs, unsigned flags)
{
	*adv = (struct advertise){.repo = repo, .refs = refs, .flags = flags};
	buf_init(&adv->line, PACKETS_HELD_MAX);
}

void advertise_release(struct advertise *adv)
{
	buf_release(&adv->line);
}

static int broken(struct advertise *adv, struct err *err, const char *what)
{
	adv->state = ADVERTISE_BROKEN;
	return err_set(err, ERR_INVALID, "read refs of upstream: %s", what);
}

static int full(struct advertise *adv, struct err *err)
{
	adv->state = ADVERTISE_BROKEN;
	return err_set(err, ERR_TOO_LARGE, "write refs: no room");
}

static bool is_plain_capability(struct bytes token)
{
	static const char *const kept[] = {
		"report-status", "report-status-v2", "quiet", "atomic",
		"ofs-delta", "side-band-64k", "no-thin",
		/* Also where the session may not: without them git refuses
		 * by itself and gives no reason; with them ours is heard. */
		"delete-refs", "push-options"};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (bytes_is(token, kept[i]))
			return true;
	return false;
}

/* May this capability of upstream's be offered to the client? */
static bool is_kept(struct bytes token)
{
	if (bytes_starts_with(token, bytes_str("agent=")))
		return packets_is_token(token, AGENT_MAX);
	return bytes_starts_with(token, bytes_str(OBJECT_FORMAT)) ||
	       is_plain_capability(token);
}

/* Learn the oid width. Upstream's word counts, not the client's. */
static int learn_format(struct advertise *adv, struct bytes capabilities,
			struct err *err)
{
	struct bytes token;
	bool more = true;

	adv->refs->oid_hex_len = OID_HEX_SHA1;
	while (more) {
		more = bytes_split(&capabilities, ' ', &token);
		if (!bytes_starts_with(token, bytes_str(OBJECT_FORMAT)) ||
		    bytes_is(token, OBJECT_FORMAT "sha1"))
			continue;
		if (!bytes_is(token, OBJECT_FORMAT "sha256"))
			return broken(adv, err, "unknown object format");
		adv->refs->oid_hex_len = OID_HEX_SHA256;
	}
	return 0;
}

static int add_capabilities(const struct advertise *adv,
			    struct bytes capabilities, struct buf *line)
{
	const char *space = "";
	bool no_thin = (adv->flags & ADVERTISE_NO_THIN) != 0;
	struct bytes token;
	bool more = true;

	while (more) {
		more = bytes_split(&capabilities, ' ', &token);
		if (!is_kept(token))
			continue;
		if (bytes_is(token, "no-thin"))
			no_thin = false;
		if (buf_add_str(line, space) < 0 || buf_add(line, token) < 0)
			return -1;
		space = " ";
	}
	return no_thin ? buf_add_format(line, "%sno-thin", space) : 0;
}

/* Write one ref line; capabilities NULL: it is not the first. */
static int write_ref(const struct advertise *adv, struct bytes oid,
		     struct bytes name, const struct bytes *capabilities,
		     struct buf *out)
{
	auto_type(buf_release) struct buf line;

	buf_init(&line, CAPABILITIES_MAX);
	if (!capabilities)
		return pktline_add_format(out, "%.*s %.*s\n", BYTES_ARGS(oid),
					  BYTES_ARGS(name));
	if (buf_add_format(&line, "%.*s %.*s", BYTES_ARGS(oid),
			   BYTES_ARGS(name)) < 0 ||
	    buf_add_byte(&line, '\0') < 0 ||
	    add_capabilities(adv, *capabilities, &line) < 0 ||
	    buf_add_byte(&line, '\n') < 0)
		return -1;
	return pktline_add(out, buf_view(&line));
}

/* Who may push made these; a forge has other refs of whoever likes to. */
static bool is_branch_or_tag(struct bytes name)
{
	return bytes_starts_with(name, bytes_str("refs/heads/")) ||
	       bytes_starts_with(name, bytes_str("refs/tags/"));
}

/* A line "<oid> <name>", with capabilities when it is the first. */
static int take_ref(struct advertise *adv, struct bytes line,
		    const struct bytes *capabilities, struct buf *out,
		    struct err *err)
{
	struct bytes name = line, oid;

	if (!bytes_split(&name, ' ', &oid) || name.len == 0 ||
	    !git_oid_is_valid(oid, adv->refs->oid_hex_len) ||
	    bytes_find(name, '\0', 0) >= 0)
		return broken(adv, err, "a line is not <oid> <ref>");
	adv->state = ADVERTISE_REFS;
	if (bytes_is(name, NO_REFS)) {
		if (!capabilities || !git_oid_is_zero(oid))
			return broken(adv, err, "a stray " NO_REFS);
		adv->state = ADVERTISE_SHALLOW;
	} else if (!bytes_is(name, HIDDEN)) {
		adv->refs->advertised++;
		if (is_branch_or_tag(name) && push_protects_any(adv->repo))
			git_refs_add_tip(adv->refs, oid);
		if (git_ref_may_write(adv->repo, name))
			git_refs_add(adv->refs, name, oid);
		else
			name = bytes_str(HIDDEN);
	}
	if (out && write_ref(adv, oid, name, capabilities, out) < 0)
		return full(adv, err);
	return 0;
}

static int take_first(struct advertise *adv, struct bytes line, struct buf *out,
		      struct err *err)
{
	struct bytes capabilities = line, head;

	if (bytes_is(line, "version 1"))
		return 0;
	if (!bytes_split(&capabilities, '\0', &head))
		return broken(adv, err, "the first line has no capabilities");
	if (learn_format(adv, capabilities, err) < 0)
		return -1;
	return take_ref(adv, head, &capabilities, out, err);
}

static int take_shallow(struct advertise *adv, struct bytes line,
			struct buf *out, struct err *err)
{
	struct bytes oid;

	if (!packets_word(line, "shallow", &oid) ||
	    !git_oid_is_valid(oid, adv->refs->oid_hex_len))
		return broken(adv, err, "a line after the refs");
	adv->state = ADVERTISE_SHALLOW;
	if (out &&
	    pktline_add_format(out, "shallow %.*s\n", BYTES_ARGS(oid)) < 0)
		return full(adv, err);
	return 0;
}

static int take_error(struct advertise *adv, struct bytes payload,
		      struct buf *out, struct err *err)
{
	adv->is_error = true;
	adv->state = ADVERTISE_DONE;
	if (out && pktline_add(out, payload) < 0)
		return full(adv, err);
	return 0;
}

static int take_service(struct advertise *adv, struct bytes line,
			struct buf *out, struct err *err)
{
	if (!bytes_is(line, "# service=git-receive-pack"))
		return broken(adv, err, "not an advertisement of receive-pack");
	adv->state = ADVERTISE_SERVICE_FLUSH;
	if (out && pktline_add_format(out, "%.*s\n", BYTES_ARGS(line)) < 0)
		return full(adv, err);
	return 0;
}

static int take_line(struct advertise *adv, struct bytes payload,
		     struct buf *out, struct err *err)
{
	struct bytes line = packets_line(payload);
	struct bytes words;

	if (++adv->lines > ADVERTISE_LINES_MAX)
		return broken(adv, err, "too many refs");
	if (adv->state <= ADVERTISE_FIRST && packets_word(line, "ERR", &words))
		return take_error(adv, payload, out, err);
	if (adv->state == ADVERTISE_SERVICE)
		return take_service(adv, line, out, err);
	if (adv->state == ADVERTISE_FIRST)
		return take_first(adv, line, out, err);
	if (adv->state == ADVERTISE_REFS &&
	    !packets_word(line, "shallow", &words))
		return take_ref(adv, line, NULL, out, err);
	if (adv->state == ADVERTISE_REFS || adv->state == ADVERTISE_SHALLOW)
		return take_shallow(adv, line, out, err);
	return broken(adv, err, "a line where none belongs");
}

static int take_flush(struct advertise *adv, struct buf *out, struct err *err)
{
	if (adv->state == ADVERTISE_SERVICE_FLUSH) {
		adv->state = ADVERTISE_FIRST;
	} else if (adv->state == ADVERTISE_REFS ||
		   adv->state == ADVERTISE_SHALLOW) {
		if (git_refs_seal(adv->refs) < 0)
			return broken(adv, err, "a ref is there twice");
		adv->state = ADVERTISE_DONE;
	} else {
		return broken(adv, err, "a flush where none belongs");
	}
	if (out && pktline_add_flush(out) < 0)
		return full(adv, err);
	return 0;
}

int advertise_feed(struct advertise *adv, struct bytes input, struct buf *out,
		   struct err *err)
{
	struct bytes payload;

	while (input.len > 0) {
		enum pktline_kind kind;
		int status;

		if (adv->is_error)
			return 0;
		if (adv->state >= ADVERTISE_DONE)
			return broken(adv, err, "bytes after the end");
		kind = packets_take(&adv->line, &input, &payload);
		if (kind == PKTLINE_MORE)
			return 0;
		if (kind == PKTLINE_DATA)
			status = take_line(adv, payload, out, err);
		else if (kind == PKTLINE_FLUSH)
			status = take_flush(adv, out, err);
		else
			status = broken(adv, err, "not a pkt-line");
		if (status < 0)
			return -1;
	}
	return 0;
}

int advertise_end(const struct advertise *adv, struct err *err)
{
	if (adv->state == ADVERTISE_DONE)
		return 0;
	return err_set(err, ERR_CLOSED, "read refs of upstream: cut short");
}
