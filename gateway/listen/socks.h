/*
 * SOCKS 5 (RFC 1928) with user name and password (RFC 1929), as a pure
 * reader of what a client sends to a proxy port and a writer of its answers.
 * Nothing here waits or decides.
 *
 *	struct socks socks = {0};
 *	on IO_DATA, as long as the answer is not MORE:
 *	switch (socks_take(&socks, &input)) {
 *	case SOCKS_METHODS:  socks_answer_method(&socks, out), 2 bytes
 *	case SOCKS_PASSWORD: check socks.user and socks.password (views into
 *			     input), socks_answer_password(&socks, ok, out)
 *	case SOCKS_REQUEST:  socks.command, socks.host, socks.port;
 *			     socks_answer(code, out), SOCKS_ANSWER_BYTES
 *	case SOCKS_INVALID:  socks.refusal: answer with it, then close
 *	}
 *
 * The bytes may come in any pieces; what follows a message is left in input.
 * No message is longer than SOCKS_MESSAGE_MAX.
 */
#ifndef GATEWAY_LISTEN_SOCKS_H
#define GATEWAY_LISTEN_SOCKS_H

#include <netinet/in.h>

#include "common/bytes.h"

#define SOCKS_VERSION_4	   0x04
#define SOCKS_VERSION_5	   0x05
#define SOCKS_MESSAGE_MAX  513 /* RFC 1929: 3 + 255 + 255 */
#define SOCKS_ANSWER_BYTES 10
#define SOCKS_HOST_MAX	   255

/* RFC 1928 section 6: REP. */
enum socks_code {
	SOCKS_SUCCEEDED = 0x00,
	SOCKS_FAILED = 0x01,
	SOCKS_NOT_ALLOWED = 0x02,
	SOCKS_COMMAND_UNKNOWN = 0x07,
	SOCKS_ADDRESS_UNKNOWN = 0x08
};

enum socks_result {
	SOCKS_MORE,
	SOCKS_METHODS,
	SOCKS_PASSWORD,
	SOCKS_REQUEST, /* a CONNECT; nothing is read after it */
	SOCKS_INVALID  /* nothing is read after it */
};

enum socks_stage {
	SOCKS_AT_METHODS,
	SOCKS_AT_PASSWORD,
	SOCKS_AT_REQUEST,
	SOCKS_AT_END
};

struct socks {
	bool needs_password; /* set it first: nobody may go without */
	enum socks_stage stage;
	bool wants_password; /* METHODS: a password follows */
	struct bytes user, password;
	/* REQUEST: a name as sent, or an address in canonical text. */
	char host[SOCKS_HOST_MAX + 1];
	uint16_t port;
	/* INVALID: what to send, and why. */
	uint8_t refusal[SOCKS_ANSWER_BYTES];
	size_t refusal_len; /* 0: nothing */
	const char *reason; /* a literal */
};

/* Do these first bytes of a connection begin SOCKS (4 or 5)? An HTTP request
 * begins with a letter. */
bool socks_begins(struct bytes input);

/* Take one message from the front of *input (untrusted), which is advanced
 * past it. A client that can give a password is asked for it; one that can
 * do neither that nor go without (where that is allowed) is INVALID. So are
 * SOCKS 4, BIND, UDP ASSOCIATE, a name that is empty or has a NUL, and port 0.
 */
enum socks_result socks_take(struct socks *socks, struct bytes *input);

/* The answer to METHODS. */
void socks_answer_method(const struct socks *socks, uint8_t out[2]);
/* The answer to PASSWORD; when it is wrong the connection must be closed. */
void socks_answer_password(bool is_right, uint8_t out[2]);
/* The answer to REQUEST; the bound address is not told. */
void socks_answer(enum socks_code code, uint8_t out[SOCKS_ANSWER_BYTES]);

#endif
