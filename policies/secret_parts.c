#include "policies/secret_parts.h"

/* So much base64 is no chance any more: 24 bytes. */
#define PIECE_CHARS 32
/* A key of so many lines is RSA's: its middle is private, while its first
 * lines are the modulus. Others begin with what is private. */
#define LONG_LINES 8

/* ---- sigv4 ---- */

int sigv4_key_read(struct bytes text, struct sigv4_key *key)
{
	if (!bytes_split(&text, ':', &key->id) || key->id.len == 0)
		return -1;
	(void)bytes_split(&text, ':', &key->secret);
	key->session = text;
	return key->secret.len > 0 && key->secret.len <= SIGV4_KEY_LEN_MAX ? 0
									   : -1;
}

static size_t parts_of_sigv4(struct bytes value, struct bytes *parts)
{
	struct sigv4_key key;

	if (sigv4_key_read(value, &key) < 0)
		return 0;
	parts[0] = key.secret;
	parts[1] = key.session;
	return key.session.len ? 2 : 1;
}

/* ---- PEM (RFC 7468) ---- */

static bool next_line(struct bytes *text, struct bytes *line)
{
	if (text->len == 0)
		return false;
	if (!bytes_split(text, '\n', line))
		*text = bytes_from(NULL, 0);
	if (bytes_ends_with(*line, bytes_str("\r")))
		*line = bytes_slice(*line, 0, line->len - 1);
	return true;
}

static bool is_border(struct bytes line, const char *begins)
{
	return bytes_starts_with(line, bytes_str(begins)) &&
	       bytes_ends_with(line, bytes_str("PRIVATE KEY-----"));
}

/* Line `index` of a block. */
static struct bytes line_at(struct bytes block, size_t index)
{
	struct bytes line = bytes_from(NULL, 0);

	for (size_t i = 0; i <= index; i++)
		(void)next_line(&block, &line);
	return line;
}

/* Of a block's lines, count of them. Empty: they are too short. */
static struct bytes piece_of(struct bytes block, size_t count)
{
	struct bytes line = line_at(block, count < LONG_LINES ? 0 : count / 2);

	if (line.len < PIECE_CHARS)
		return bytes_from(NULL, 0);
	return bytes_slice(line, line.len - PIECE_CHARS, line.len);
}

static size_t parts_of_pem(struct bytes value, struct bytes *parts)
{
	struct bytes block = bytes_from(NULL, 0);
	struct bytes line, piece;
	size_t lines = 0, count = 0;

	while (count < SECRET_PARTS_MAX && next_line(&value, &line)) {
		lines++;
		if (is_border(line, "-----BEGIN ")) {
			block = value;
			lines = 0;
		} else if (is_border(line, "-----END ") && block.len) {
			piece = piece_of(block, lines - 1);
			if (piece.len)
				parts[count++] = piece;
			block = bytes_from(NULL, 0);
		}
	}
	return count;
}

/* ---- all of them ---- */

size_t secret_parts(enum policy_attach attach, struct bytes value,
		    struct bytes parts[SECRET_PARTS_MAX])
{
	size_t count = 0;

	if (attach == ATTACH_SIGV4)
		count = parts_of_sigv4(value, parts);
	else if (attach == ATTACH_CERTIFICATE)
		count = parts_of_pem(value, parts);
	if (count == 0)
		parts[count++] = value;
	return count;
}
