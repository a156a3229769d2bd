/*
 * A leg that becomes a WebSocket. Its request is written here, from a key and
 * subprotocols that were checked; then raw bytes pass. They can be no request
 * of HTTP: nothing goes out before upstream has said that it speaks something
 * else from there on, and the leg never speaks HTTP again.
 */
#include "common/base64.h"
#include "gateway/courier/courier.h"
#include "gateway/http/guard.h"
#include "gateway/http/write.h"

#define KEY_BYTES     16
#define PROTOCOLS_MAX 32
/* What upstream says when it has changed: RFC 9110 15.2.2. */
#define SWITCHED "HTTP/1.1 101"

/* ---- the request ---- */

/* Kubernetes takes a bearer token by this name. */
static bool is_credential(struct bytes protocol)
{
	static const char prefix[] = "base64url.bearer.";

	return bytes_is_nocase(bytes_slice(protocol, 0, sizeof(prefix) - 1),
			       prefix);
}

static bool are_protocols(struct bytes list)
{
	struct bytes protocol;
	unsigned count = 0;
	bool more = list.len > 0;

	if (!http_is_value(list))
		return false;
	while (more) {
		more = bytes_split(&list, ',', &protocol);
		if (count++ > 0)
			protocol = bytes_trim(protocol);
		if (!http_is_token(protocol) || is_credential(protocol) ||
		    count > PROTOCOLS_MAX)
			return false;
	}
	return true;
}

static bool is_key(struct bytes key)
{
	uint8_t bytes[KEY_BYTES];

	return base64_decode(key, bytes, sizeof(bytes)) == sizeof(bytes);
}

int upgrade_take(struct leg *leg, struct err *err)
{
	const struct leg_upgrade *upgrade = &leg->upgrade;

	if (!is_key(upgrade->key))
		return err_set(err, ERR_INVALID, "the key is not 16 bytes");
	if (!are_protocols(upgrade->protocols))
		return err_set(err, ERR_INVALID,
			       "the subprotocols are not allowed");
	leg->request = (struct leg_request){
		.request_id = upgrade->request_id,
		.rule = upgrade->rule,
		.method = bytes_str("GET"),
		.path = upgrade->path,
		.fields = upgrade->fields,
		.fields_count = upgrade->fields_count,
	};
	return 0;
}

/* Also as CGI would read it: an extension that compresses would hide a
 * credential that comes back. */
bool upgrade_is_ours(struct bytes name)
{
	static const char prefix[] = "sec-websocket-";
	size_t i = 0;

	while (i < name.len && i < sizeof(prefix) - 1) {
		uint8_t c = name.data[i] == '_' ? '-' : name.data[i];

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		if (c != (uint8_t)prefix[i])
			return false;
		i++;
	}
	return i == sizeof(prefix) - 1;
}

static int write_line(struct buf *out, const char *name, struct bytes value)
{
	return write_field(out, bytes_str(name), value);
}

int upgrade_write(const struct leg *leg, struct buf *out)
{
	const struct leg_upgrade *upgrade = &leg->upgrade;

	if (write_line(out, "Connection", bytes_str("Upgrade")) < 0 ||
	    write_line(out, "Upgrade", bytes_str("websocket")) < 0 ||
	    write_line(out, "Sec-WebSocket-Version", bytes_str("13")) < 0 ||
	    write_line(out, "Sec-WebSocket-Key", upgrade->key) < 0)
		return -1;
	if (upgrade->protocols.len == 0)
		return 0;
	return write_line(out, "Sec-WebSocket-Protocol", upgrade->protocols);
}

/* ---- the answer, and what follows it ---- */

static uint64_t now_ms(const struct leg *leg)
{
	return io_loop_now_ms(leg->courier->keeper->loop);
}

void upgrade_look(struct leg *leg)
{
	static const struct bytes switched = BYTES_LITERAL(SWITCHED);
	struct bytes said = buf_view(io_in(leg->upstream));
	struct bytes start = bytes_slice(said, 0, switched.len);
	bool may_be = bytes_starts_with(switched, start);

	if (may_be && said.len <= switched.len)
		return;
	if (!may_be || (said.data[switched.len] != ' ' &&
			said.data[switched.len] != '\r')) {
		leg->state = LEG_ANSWERING;
		return;
	}
	leg->state = LEG_RAW;
	leg->reflect.frames = true;
	leg->raw_until_ms = now_ms(leg) + LEG_RAW_TOTAL_MS;
}

int upgrade_send(struct leg *leg, struct bytes bytes, struct err *err)
{
	if (!leg_wait(leg))
		return err_set(err, ERR_CLOSED, "the WebSocket is too old");
	return bytes.len ? io_write(leg->upstream, bytes) : 0;
}

bool leg_wait(struct leg *leg)
{
	uint64_t wait_ms = LEG_RESPONSE_MS, now = now_ms(leg);

	if (leg->state == LEG_RAW && now >= leg->raw_until_ms)
		return false;
	if (leg->state == LEG_RAW) {
		wait_ms = leg->raw_until_ms - now;
		if (wait_ms > LEG_RAW_IDLE_MS)
			wait_ms = LEG_RAW_IDLE_MS;
	}
	io_deadline(leg->upstream, (unsigned)wait_ms);
	return true;
}
