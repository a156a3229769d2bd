#include "gateway/tls/client.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "gateway/tls/library.h"
#include "gateway/tls/roots.h"

#define SUITES_13                                                              \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"                       \
	"TLS_CHACHA20_POLY1305_SHA256"
#define SUITES_12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS	  "X25519:P-256:P-384:P-521"
/* OpenSSL 3.5 and later: keys that a quantum computer will not find either in
 * what is recorded today. A key for each of the first two is sent, so that
 * neither kind of server asks for another hello. */
#define GROUPS_HYBRID  "*X25519MLKEM768:*X25519:P-256:P-384:P-521"
#define SECURITY_LEVEL 2
#define CHAIN_MAX      8

struct tls_client_session {
	uint8_t key[TLS_CLIENT_KEY_MAX];
	size_t key_len;
	SSL_SESSION *session; /* NULL: der has it */
	uint8_t *der;
	int der_len;
	uint64_t kept_ms;
};

static const uint8_t http11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

static void set_up_verification(SSL_CTX *ctx)
{
	X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);

	X509_VERIFY_PARAM_set_hostflags(
		param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
			       X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	(void)X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_POLICY_CHECK);
	X509_VERIFY_PARAM_set_depth(param, CHAIN_MAX);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
}

static bool set_up_roots(SSL_CTX *ctx, struct bytes ca_bundle)
{
	X509_STORE *store = X509_STORE_new();

	if (!store)
		return false;
	SSL_CTX_set_cert_store(ctx, store);
	return tls_roots_add(store, ca_bundle, NULL) == 0;
}

/* Older ones do not know the word, nor how it is written. */
static bool set_up_groups(SSL_CTX *ctx)
{
	/* OpenSSL's macros cast const away. */
	char hybrid[] = GROUPS_HYBRID, groups[] = GROUPS;
	bool is_set;

	ERR_set_mark();
	is_set = SSL_CTX_set1_groups_list(ctx, hybrid) ||
		 SSL_CTX_set1_groups_list(ctx, groups);
	ERR_pop_to_mark();
	return is_set;
}

static bool set_up(SSL_CTX *ctx, struct bytes ca_bundle, bool tls13_only)
{
	SSL_CTX_set_security_level(ctx, SECURITY_LEVEL);
	SSL_CTX_set_options(ctx,
			    SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	set_up_verification(ctx);
	return SSL_CTX_set_min_proto_version(
		       ctx, tls13_only ? TLS1_3_VERSION : TLS1_2_VERSION) &&
	       SSL_CTX_set_ciphersuites(ctx, SUITES_13) &&
	       SSL_CTX_set_cipher_list(ctx, SUITES_12) && set_up_groups(ctx) &&
	       SSL_CTX_set_alpn_protos(ctx, http11, sizeof(http11)) == 0 &&
	       set_up_roots(ctx, ca_bundle);
}

int tls_client_begin(struct tls_client *client, struct bytes ca_bundle,
		     bool tls13_only, struct err *err)
{
	*client = (struct tls_client){.ca_bundle = ca_bundle,
				      .tls13_only = tls13_only};
	/* The first gmtime_r() of a process, here that of the first chain,
	 * opens /etc/localtime: a confined one dies of it. */
	tzset();
	client->sessions =
		calloc(TLS_CLIENT_SESSIONS_MAX, sizeof(*client->sessions));
	if (client->sessions && OPENSSL_init_ssl(0, NULL) == 1)
		return 0;
	tls_client_release(client);
	return tls_library_error(err, "set up TLS towards upstream");
}

SSL_CTX *tls_client_context(struct tls_client *client, struct err *err)
{
	SSL_CTX *ctx;

	if (client->ctx)
		return client->ctx;
	ctx = SSL_CTX_new(TLS_client_method());
	if (ctx && set_up(ctx, client->ca_bundle, client->tls13_only)) {
		client->ctx = ctx;
		return ctx;
	}
	SSL_CTX_free(ctx);
	(void)tls_library_error(err, "set up TLS towards upstream");
	return NULL;
}

/* ---- sessions ---- */

static void session_release(struct tls_client *client,
			    struct tls_client_session *kept)
{
	client->open_count -= kept->session != NULL;
	SSL_SESSION_free(kept->session);
	kept->session = NULL;
	OPENSSL_clear_free(kept->der, (size_t)kept->der_len);
	kept->der = NULL;
	kept->der_len = 0;
}

void tls_client_release(struct tls_client *client)
{
	for (size_t i = 0; i < client->session_count; i++)
		session_release(client, &client->sessions[i]);
	free(client->sessions);
	SSL_CTX_free(client->ctx);
	*client = (struct tls_client){0};
}

static struct tls_client_session *find(struct tls_client *client,
				       struct bytes key)
{
	for (size_t i = 0; i < client->session_count; i++) {
		struct tls_client_session *kept = &client->sessions[i];

		if (bytes_equal(key, bytes_from(kept->key, kept->key_len)))
			return kept;
	}
	return NULL;
}

/* Without memory for it, what is closed is forgotten. */
static void close_oldest(struct tls_client *client)
{
	struct tls_client_session *oldest = NULL;
	uint8_t *der = NULL;
	int len;

	for (size_t i = 0; i < client->session_count; i++) {
		struct tls_client_session *kept = &client->sessions[i];

		if (kept->session &&
		    (!oldest || kept->kept_ms < oldest->kept_ms))
			oldest = kept;
	}
	if (!oldest)
		return;
	len = i2d_SSL_SESSION(oldest->session, &der);
	session_release(client, oldest);
	if (len > 0) {
		oldest->der = der;
		oldest->der_len = len;
	}
}

/* Open kept with session (taken). */
static void open_with(struct tls_client *client,
		      struct tls_client_session *kept, SSL_SESSION *session)
{
	session_release(client, kept);
	if (client->open_count == TLS_CLIENT_OPEN_MAX)
		close_oldest(client);
	kept->session = session;
	client->open_count++;
}

SSL_SESSION *tls_client_session(struct tls_client *client, struct bytes key,
				uint64_t now_ms)
{
	struct tls_client_session *kept = find(client, key);
	const uint8_t *at;
	SSL_SESSION *session;

	if (!kept || now_ms - kept->kept_ms > TLS_CLIENT_RESUME_MS)
		return NULL;
	if (kept->der) {
		at = kept->der;
		session = d2i_SSL_SESSION(NULL, &at, kept->der_len);
		if (!session)
			return NULL;
		open_with(client, kept, session);
	}
	return kept->session;
}

/* A place for key: its own, a free one, or the one kept longest ago. */
static struct tls_client_session *place_for(struct tls_client *client,
					    struct bytes key)
{
	struct tls_client_session *place = find(client, key);

	if (place)
		return place;
	if (client->session_count < TLS_CLIENT_SESSIONS_MAX) {
		place = &client->sessions[client->session_count++];
	} else {
		place = client->sessions;
		for (size_t i = 1; i < client->session_count; i++)
			if (client->sessions[i].kept_ms < place->kept_ms)
				place = &client->sessions[i];
	}
	memcpy(place->key, key.data, key.len);
	place->key_len = key.len;
	return place;
}

void tls_client_keep(struct tls_client *client, struct bytes key,
		     SSL_SESSION *session, uint64_t now_ms)
{
	struct tls_client_session *place;

	if (!session)
		return;
	if (key.len > TLS_CLIENT_KEY_MAX ||
	    !SSL_SESSION_is_resumable(session)) {
		SSL_SESSION_free(session);
		return;
	}
	place = place_for(client, key);
	open_with(client, place, session);
	place->kept_ms = now_ms;
}

int tls_client_change(struct tls_client *client, struct bytes ca_bundle,
		      bool tls13_only, struct err *err)
{
	struct tls_client next;

	if (tls_client_begin(&next, ca_bundle, tls13_only, err) < 0)
		return -1;
	if (client->ctx && !tls_client_context(&next, err)) {
		tls_client_release(&next);
		return -1;
	}
	tls_client_release(client);
	*client = next;
	return 0;
}

enum constraint tls_client_constraint(const struct err *err)
{
	return err_is_hangup(err) ? CONSTRAINT_upstream_closed
				  : CONSTRAINT_tls_upstream_invalid;
}
