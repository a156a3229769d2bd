#include "gateway/flow/messages.h"
#include "gateway/flow/package.h"
#include "policies/host.h"

/* Of a binding, a user. */
#define NAME_MAX_LEN 128

static const struct wire_field msg_mint_fields[] = {
	WIRE_TEXT(struct msg_mint, name, HOST_NAME_MAX_LEN),
	WIRE_BYTES(struct msg_mint, public_key, 512),
	WIRE_ENUM(struct msg_mint, purpose, MINT_PURPOSE_MAX),
};
const struct wire_schema msg_mint_schema =
	WIRE_SCHEMA("mint", struct msg_mint, msg_mint_fields);

static const struct wire_field msg_minted_fields[] = {
	WIRE_BYTES(struct msg_minted, leaf, 4096),
	WIRE_BYTES(struct msg_minted, ca, 4096),
	WIRE_U64(struct msg_minted, expires_ms),
};
const struct wire_schema msg_minted_schema =
	WIRE_SCHEMA("minted", struct msg_minted, msg_minted_fields);

static const struct wire_field msg_ca_fields[] = {
	WIRE_TEXT(struct msg_ca, pem, 8192),
	WIRE_BYTES(struct msg_ca, pkcs12, 8192),
};
const struct wire_schema msg_ca_schema =
	WIRE_SCHEMA("ca", struct msg_ca, msg_ca_fields);

static const struct wire_field msg_dial_fields[] = {
	WIRE_TEXT(struct msg_dial, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct msg_dial, port),
};
const struct wire_schema msg_dial_schema =
	WIRE_SCHEMA("dial", struct msg_dial, msg_dial_fields);

static const struct wire_field msg_dialed_fields[] = {
	WIRE_TEXT(struct msg_dialed, address, 64),
};
const struct wire_schema msg_dialed_schema =
	WIRE_SCHEMA("dialed", struct msg_dialed, msg_dialed_fields);

static const struct wire_field msg_proxy_connect_fields[] = {
	WIRE_TEXT(struct msg_proxy_connect, session, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_proxy_connect, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct msg_proxy_connect, port),
};
const struct wire_schema msg_proxy_connect_schema = WIRE_SCHEMA(
	"proxy-connect", struct msg_proxy_connect, msg_proxy_connect_fields);

static const struct wire_field msg_proxy_secret_fields[] = {
	WIRE_BYTES(struct msg_proxy_secret, secret, SECRET_VALUE_MAX),
};
const struct wire_schema msg_proxy_secret_schema = WIRE_SCHEMA(
	"proxy-secret", struct msg_proxy_secret, msg_proxy_secret_fields);

static const struct wire_field msg_client_fields[] = {
	WIRE_BYTES(struct msg_client, read, CLIENT_READ_MAX),
};
const struct wire_schema msg_client_schema =
	WIRE_SCHEMA("client", struct msg_client, msg_client_fields);

static const struct wire_field msg_leg_open_fields[] = {
	WIRE_TEXT(struct msg_leg_open, binding, NAME_MAX_LEN),
	WIRE_TEXT(struct msg_leg_open, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct msg_leg_open, port),
	WIRE_BOOL(struct msg_leg_open, offers_h2),
	WIRE_BYTES(struct msg_leg_open, mark, DIGEST_LEN),
};
const struct wire_schema msg_leg_open_schema =
	WIRE_SCHEMA("leg-open", struct msg_leg_open, msg_leg_open_fields);

static const struct wire_field msg_leg_opened_fields[] = {
	WIRE_TEXT(struct msg_leg_opened, tls_version, 16),
	WIRE_BOOL(struct msg_leg_opened, speaks_h2),
};
const struct wire_schema msg_leg_opened_schema =
	WIRE_SCHEMA("leg-opened", struct msg_leg_opened, msg_leg_opened_fields);

static const struct wire_field msg_token_get_fields[] = {
	WIRE_TEXT(struct msg_token_get, session, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_token_get, binding, NAME_MAX_LEN),
	WIRE_TEXT(struct msg_token_get, host, HOST_NAME_MAX_LEN),
	WIRE_U16(struct msg_token_get, port),
	WIRE_BYTES(struct msg_token_get, mark, DIGEST_LEN),
};
const struct wire_schema msg_token_get_schema =
	WIRE_SCHEMA("token-get", struct msg_token_get, msg_token_get_fields);

static const struct wire_field msg_prints_make_fields[] = {
	WIRE_TEXT(struct msg_prints_make, session, SESSION_ID_MAX),
};
const struct wire_schema msg_prints_make_schema = WIRE_SCHEMA(
	"prints-make", struct msg_prints_make, msg_prints_make_fields);

static const struct wire_field msg_prints_fields[] = {
	WIRE_BYTES(struct msg_prints, prints, PRINTS_MESSAGE_MAX),
};
const struct wire_schema msg_prints_schema =
	WIRE_SCHEMA("prints", struct msg_prints, msg_prints_fields);

static const struct wire_field msg_token_fields[] = {
	WIRE_ENUM(struct msg_token, attach, ATTACH_MAX),
	WIRE_TEXT(struct msg_token, username, NAME_MAX_LEN),
	WIRE_BYTES(struct msg_token, secret, SECRET_VALUE_MAX),
};
const struct wire_schema msg_token_schema =
	WIRE_SCHEMA("token", struct msg_token, msg_token_fields);

static const struct wire_field msg_secret_fields[] = {
	WIRE_TEXT(struct msg_secret, name, SECRET_NAME_MAX),
	WIRE_BYTES(struct msg_secret, value, SECRET_VALUE_MAX),
};
const struct wire_schema msg_secret_schema =
	WIRE_SCHEMA("secret", struct msg_secret, msg_secret_fields);

static const struct wire_field msg_lent_fields[] = {
	WIRE_TEXT(struct msg_lent, session, SESSION_ID_MAX),
	WIRE_TEXT(struct msg_lent, name, LENT_NAME_MAX),
	WIRE_BYTES(struct msg_lent, value, SECRET_VALUE_MAX),
};
const struct wire_schema msg_lent_schema =
	WIRE_SCHEMA("lent", struct msg_lent, msg_lent_fields);

static const struct wire_field msg_secret_name_fields[] = {
	WIRE_TEXT(struct msg_secret_name, name, SECRET_NAME_MAX),
};
const struct wire_schema msg_secret_name_schema = WIRE_SCHEMA(
	"secret-name", struct msg_secret_name, msg_secret_name_fields);

static const struct wire_field msg_secret_entry_fields[] = {
	WIRE_TEXT(struct msg_secret_entry, name, SECRET_NAME_MAX),
	WIRE_U64(struct msg_secret_entry, created_ms),
	WIRE_U64(struct msg_secret_entry, changed_ms),
	WIRE_U64(struct msg_secret_entry, used_ms),
};
static const struct wire_schema msg_secret_entry_schema = WIRE_SCHEMA(
	"secret-entry", struct msg_secret_entry, msg_secret_entry_fields);

static const struct wire_field msg_secret_list_fields[] = {
	WIRE_LIST(struct msg_secret_list, secrets, 300,
		  &msg_secret_entry_schema),
};
const struct wire_schema msg_secret_list_schema = WIRE_SCHEMA(
	"secret-list", struct msg_secret_list, msg_secret_list_fields);
