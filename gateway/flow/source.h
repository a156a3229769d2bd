/*
 * Where the value of a secret comes from when the vault does not simply keep
 * it: `secrets` in gateway.yaml. No value stands in any of this.
 */
#ifndef GATEWAY_FLOW_SOURCE_H
#define GATEWAY_FLOW_SOURCE_H

#include "common/wire.h"

#define SOURCES_MAX	       100
#define SOURCE_WORDS_MAX       64
#define SOURCE_WORD_MAX	       4096
#define SOURCE_SCOPE_MAX       1024
#define SOURCE_PERMISSIONS_MAX 32
#define SOURCE_CACHE_MAX_MS    (24ull * 3600 * 1000)
/* How long a program may take; the courier waits a little longer. */
#define SOURCE_TIMEOUT_MS     5000
#define SOURCE_TIMEOUT_MAX_MS 10000
/* A token that was bought, from the asking to the answer. */
#define EXCHANGE_TIMEOUT_MS 9000
/* How long the vault takes, when it stops, to have its tokens revoked. */
#define VAULT_STOP_MS 6000
/* For the vault's answer, whatever it has to do for it. */
#define TOKEN_TIMEOUT_MS 12000

enum source_kind {
	SOURCE_FILE,	   /* path: absolute */
	SOURCE_CREDENTIAL, /* path: its name in $CREDENTIALS_DIRECTORY */
	SOURCE_EXEC,	   /* words: the program and its arguments */
	SOURCE_OAUTH2,	   /* endpoint, client, refresh, scope */
	SOURCE_GITHUB_APP, /* endpoint, client, app, installation */
	SOURCE_KIND_MAX
};

struct source_word {
	struct bytes text;
};

/* A right of a GitHub App's token beyond what the session's git needs. */
struct source_permission {
	struct bytes name;
	bool write;
};

struct config_source {
	struct bytes name; /* of the secret, as policies call it */
	uint8_t kind;	   /* enum source_kind */
	struct bytes path;
	const struct source_word *words;
	size_t words_count;
	uint64_t cache_ms; /* of a program's answer */
	uint32_t timeout_ms;
	/* The endpoint: its certificate must be for host. */
	struct bytes host; /* canonical */
	uint16_t port;
	struct bytes url_path; /* and query; of an API: what stands before its
				  own paths, may be empty */
	struct bytes client;   /* secret: "id:password", or an app's key */
	struct bytes refresh;  /* secret: a refresh token; empty: none */
	struct bytes scope;
	bool in_body; /* the client's password, not in Authorization */
	uint64_t app, installation;
	const struct source_permission *permissions;
	size_t permissions_count;
};

extern const struct wire_schema config_source_schema;

/* Is it bought from an endpoint? */
static inline bool source_is_bought(const struct config_source *source)
{
	return source->kind == SOURCE_OAUTH2 ||
	       source->kind == SOURCE_GITHUB_APP;
}

#endif
