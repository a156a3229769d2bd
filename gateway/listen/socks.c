#include "gateway/listen/socks.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#define METHOD_NONE	 0x00
#define METHOD_PASSWORD	 0x02
#define METHOD_NO_OTHER	 0xff
#define PASSWORD_VERSION 0x01
#define PASSWORD_RIGHT	 0x00
#define PASSWORD_WRONG	 0x01
#define COMMAND_CONNECT	 0x01
#define ADDRESS_IPV4	 0x01
#define ADDRESS_NAME	 0x03
#define ADDRESS_IPV6	 0x04
#define REQUEST_HEAD	 4 /* version, command, reserved, type */
#define PORT_BYTES	 2
#define SOCKS4_ANSWER	 8
#define SOCKS4_REJECTED	 0x5b

bool socks_begins(struct bytes input)
{
	return input.len > 0 && (input.data[0] == SOCKS_VERSION_4 ||
				 input.data[0] == SOCKS_VERSION_5);
}

/* ---- answers ---- */

void socks_answer_method(const struct socks *socks, uint8_t out[2])
{
	out[0] = SOCKS_VERSION_5;
	out[1] = socks->wants_password ? METHOD_PASSWORD : METHOD_NONE;
}

void socks_answer_password(bool is_right, uint8_t out[2])
{
	out[0] = PASSWORD_VERSION;
	out[1] = is_right ? PASSWORD_RIGHT : PASSWORD_WRONG;
}

void socks_answer(enum socks_code code, uint8_t out[SOCKS_ANSWER_BYTES])
{
	memset(out, 0, SOCKS_ANSWER_BYTES);
	out[0] = SOCKS_VERSION_5;
	out[1] = (uint8_t)code;
	out[3] = ADDRESS_IPV4;
}

static enum socks_result invalid(struct socks *socks, const char *reason)
{
	socks->stage = SOCKS_AT_END;
	socks->reason = reason;
	return SOCKS_INVALID;
}

static enum socks_result refuse(struct socks *socks, enum socks_code code,
				const char *reason)
{
	socks_answer(code, socks->refusal);
	socks->refusal_len = SOCKS_ANSWER_BYTES;
	return invalid(socks, reason);
}

/* Version 4 answers in its own words. */
static enum socks_result refuse_version(struct socks *socks, uint8_t version)
{
	if (version == SOCKS_VERSION_4) {
		socks->refusal[1] = SOCKS4_REJECTED;
		socks->refusal_len = SOCKS4_ANSWER;
	}
	return invalid(socks, "the version of SOCKS is not 5");
}

/* ---- messages ---- */

/* Consume a message of len bytes: no view into it but those that were taken
 * remains. */
static void consume(struct bytes *input, size_t len)
{
	*input = bytes_slice(*input, len, input->len);
}

/* version, count, methods */
static enum socks_result take_methods(struct socks *socks, struct bytes *input)
{
	bool has_none = false;
	size_t len;

	if (input->data[0] != SOCKS_VERSION_5)
		return refuse_version(socks, input->data[0]);
	if (input->len < 2)
		return SOCKS_MORE;
	len = 2 + (size_t)input->data[1];
	if (input->len < len)
		return SOCKS_MORE;
	for (size_t i = 2; i < len; i++) {
		has_none |= input->data[i] == METHOD_NONE;
		socks->wants_password |= input->data[i] == METHOD_PASSWORD;
	}
	consume(input, len);
	if (!socks->wants_password && (!has_none || socks->needs_password)) {
		socks->refusal[0] = SOCKS_VERSION_5;
		socks->refusal[1] = METHOD_NO_OTHER;
		socks->refusal_len = 2;
		return invalid(socks, socks->needs_password
					      ? "a password must be given"
					      : "no method of authentication "
						"is known");
	}
	socks->stage =
		socks->wants_password ? SOCKS_AT_PASSWORD : SOCKS_AT_REQUEST;
	return SOCKS_METHODS;
}

/* version, length, user, length, password */
static enum socks_result take_password(struct socks *socks, struct bytes *input)
{
	size_t user_len, len;

	if (input->data[0] != PASSWORD_VERSION) {
		socks_answer_password(false, socks->refusal);
		socks->refusal_len = 2;
		return invalid(socks, "the password's version is not 1");
	}
	if (input->len < 2)
		return SOCKS_MORE;
	user_len = input->data[1];
	if (input->len < 3 + user_len)
		return SOCKS_MORE;
	len = 3 + user_len + input->data[2 + user_len];
	if (input->len < len)
		return SOCKS_MORE;
	socks->user = bytes_slice(*input, 2, 2 + user_len);
	socks->password = bytes_slice(*input, 3 + user_len, len);
	consume(input, len);
	socks->stage = SOCKS_AT_REQUEST;
	return SOCKS_PASSWORD;
}

static size_t address_bytes(struct bytes input)
{
	switch (input.data[3]) {
	case ADDRESS_IPV4:
		return sizeof(struct in_addr);
	case ADDRESS_IPV6:
		return sizeof(struct in6_addr);
	default:
		return 1 + (size_t)input.data[REQUEST_HEAD];
	}
}

static int take_address(struct socks *socks, uint8_t type, struct bytes address)
{
	struct bytes name = bytes_slice(address, 1, address.len);

	if (type != ADDRESS_NAME)
		return inet_ntop(type == ADDRESS_IPV4 ? AF_INET : AF_INET6,
				 address.data, socks->host, sizeof(socks->host))
			       ? 0
			       : -1;
	if (name.len == 0 || bytes_find(name, '\0', 0) >= 0)
		return -1;
	memcpy(socks->host, name.data, name.len);
	socks->host[name.len] = '\0';
	return 0;
}

static enum socks_result check_head(struct socks *socks, struct bytes head)
{
	if (head.data[0] != SOCKS_VERSION_5 || head.data[2] != 0)
		return refuse(socks, SOCKS_FAILED, "the request is malformed");
	if (head.data[1] != COMMAND_CONNECT)
		return refuse(socks, SOCKS_COMMAND_UNKNOWN,
			      "only CONNECT is served");
	if (head.data[3] != ADDRESS_IPV4 && head.data[3] != ADDRESS_NAME &&
	    head.data[3] != ADDRESS_IPV6)
		return refuse(socks, SOCKS_ADDRESS_UNKNOWN,
			      "the type of address is unknown");
	return SOCKS_MORE;
}

/* version, command, 0, type, address, port */
static enum socks_result take_request(struct socks *socks, struct bytes *input)
{
	struct bytes address;
	size_t len;

	if (input->len < REQUEST_HEAD + 1)
		return SOCKS_MORE;
	if (check_head(socks, *input) == SOCKS_INVALID)
		return SOCKS_INVALID;
	len = REQUEST_HEAD + address_bytes(*input);
	if (input->len < len + PORT_BYTES)
		return SOCKS_MORE;
	address = bytes_slice(*input, REQUEST_HEAD, len);
	socks->port = (uint16_t)(input->data[len] << 8 | input->data[len + 1]);
	if (take_address(socks, input->data[3], address) < 0 ||
	    socks->port == 0)
		return refuse(socks, SOCKS_FAILED,
			      "the request names no host and port");
	consume(input, len + PORT_BYTES);
	socks->stage = SOCKS_AT_END;
	return SOCKS_REQUEST;
}

enum socks_result socks_take(struct socks *socks, struct bytes *input)
{
	enum socks_result result = SOCKS_MORE;

	if (input->len == 0)
		return SOCKS_MORE;
	switch (socks->stage) {
	case SOCKS_AT_METHODS:
		result = take_methods(socks, input);
		break;
	case SOCKS_AT_PASSWORD:
		result = take_password(socks, input);
		break;
	case SOCKS_AT_REQUEST:
		result = take_request(socks, input);
		break;
	case SOCKS_AT_END:
		assert(!"something is read after the end");
		break;
	}
	assert(result != SOCKS_MORE || input->len < SOCKS_MESSAGE_MAX);
	return result;
}
