#include "sandbox-host/signer/signer.h"

static const struct bytes armor =
	BYTES_LITERAL("-----BEGIN SSH SIGNATURE-----\n");

/* A member of a problem document (RFC 9457) that is a text: ours are JSON
 * without blanks. What is escaped and no sign of writing becomes '?'. */
static int add_member(struct bytes body, struct bytes name, struct buf *out)
{
	ptrdiff_t at = bytes_find_bytes(body, name, 0);

	if (at < 0)
		return -1;
	for (size_t i = (size_t)at + name.len;
	     i < body.len && body.data[i] != '"'; i++) {
		uint8_t c = body.data[i];

		if (c == '\\' && i + 1 < body.len) {
			c = body.data[++i];
			if (c != '"' && c != '\\' && c != '/')
				c = '?';
		}
		if (buf_add_byte(out, c < ' ' || c == 0x7f ? '?' : c) < 0)
			return -1;
	}
	return 0;
}

static void tell(struct bytes head, struct bytes body, struct buf *why)
{
	static const struct bytes detail = BYTES_LITERAL("\"detail\":\"");
	static const struct bytes instead = BYTES_LITERAL("\"try\":\"");
	struct bytes line;

	(void)bytes_split(&head, '\r', &line);
	if (add_member(body, detail, why) < 0)
		(void)buf_add(why, bytes_slice(line, 0, SIGNER_WHY_MAX / 2));
	if (bytes_find_bytes(body, instead, 0) >= 0 &&
	    buf_add_str(why, "; ") == 0)
		(void)add_member(body, instead, why);
}

int signer_answer_read(struct bytes answer, struct bytes *signature,
		       struct buf *why)
{
	static const struct bytes ok = BYTES_LITERAL("HTTP/1.1 200 ");
	static const struct bytes end = BYTES_LITERAL("\r\n\r\n");
	static const struct bytes dashes =
		BYTES_LITERAL("-----END SSH SIGNATURE-----\n");
	ptrdiff_t at = bytes_find_bytes(answer, end, 0);
	struct bytes body;

	if (at < 0) {
		(void)buf_add_str(why, "the gateway did not answer");
		return -1;
	}
	body = bytes_slice(answer, (size_t)at + end.len, answer.len);
	if (!bytes_starts_with(answer, ok)) {
		tell(bytes_slice(answer, 0, (size_t)at), body, why);
		return -1;
	}
	if (!bytes_starts_with(body, armor) || !bytes_ends_with(body, dashes)) {
		(void)buf_add_str(why, "the gateway's answer was cut off");
		return -1;
	}
	*signature = body;
	return 0;
}
