#include "gateway/tls/server.h"

#include <openssl/evp.h>

#include "gateway/tls/library.h"
#include "gateway/tls/server_name.h"

#define SUITES_13                                                              \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"                       \
	"TLS_CHACHA20_POLY1305_SHA256"
#define SUITES_12                                                              \
	"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"         \
	"ECDHE-ECDSA-CHACHA20-POLY1305"
#define GROUPS "X25519:P-256:P-384"

#define H2     2, 'h', '2'
#define HTTP11 8, 'h', 't', 't', 'p', '/', '1', '.', '1'
#define HTTP10 8, 'h', 't', 't', 'p', '/', '1', '.', '0'

static bool is_listed(const struct tls_server *server, SSL *ssl)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	for (size_t i = 0; name && i < server->http11_count; i++)
		if (bytes_is_nocase(server->http11_names[i], name))
			return true;
	return false;
}

/* ALPN (RFC 7301 3.2): no overlap is a fatal alert, which clients name. */
static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_len,
		   const uint8_t *in, unsigned in_len, void *server)
{
	static const uint8_t usual[] = {H2, HTTP11, HTTP10};
	static const uint8_t listed[] = {HTTP11, H2, HTTP10};
	const uint8_t *ours = is_listed(server, ssl) ? listed : usual;
	uint8_t *chosen = NULL;

	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(usual), in,
				  in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* A ticket remembers the name it was given for. */
static int on_ticket_made(SSL *ssl, void *unused)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)unused;
	return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), name,
					       name ? strlen(name) : 0);
}

static bool is_for_this_name(SSL *ssl, SSL_SESSION *session)
{
	struct bytes name;
	void *kept = NULL;
	size_t kept_len = 0;

	return tls_server_name(ssl, &name) == 1 &&
	       SSL_SESSION_get0_ticket_appdata(session, &kept, &kept_len) &&
	       bytes_equal(name, bytes_from(kept, kept_len));
}

static SSL_TICKET_RETURN on_ticket_shown(SSL *ssl, SSL_SESSION *session,
					 const unsigned char *key_name,
					 size_t key_name_len,
					 SSL_TICKET_STATUS status, void *unused)
{
	(void)key_name;
	(void)key_name_len;
	(void)unused;
	if ((status != SSL_TICKET_SUCCESS &&
	     status != SSL_TICKET_SUCCESS_RENEW) ||
	    !is_for_this_name(ssl, session))
		return SSL_TICKET_RETURN_IGNORE_RENEW;
	/* TLS 1.3 clients show a ticket once and want the next one. */
	return SSL_version(ssl) == TLS1_3_VERSION ? SSL_TICKET_RETURN_USE_RENEW
						  : SSL_TICKET_RETURN_USE;
}

static bool set_up_tickets(SSL_CTX *ctx, struct bytes session_id)
{
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_timeout(ctx, TLS_SERVER_RESUME_SECS);
	return SSL_CTX_set_num_tickets(ctx, 1) &&
	       SSL_CTX_set_session_id_context(ctx, session_id.data,
					      (unsigned)session_id.len) &&
	       SSL_CTX_set_session_ticket_cb(ctx, on_ticket_made,
					     on_ticket_shown, NULL);
}

static bool set_up(struct tls_server *server, struct bytes session_id)
{
	SSL_CTX *ctx = server->ctx;
	char groups[] = GROUPS; /* OpenSSL's macro casts const away */

	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION |
					 SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_PRIORITIZE_CHACHA);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, server);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) &&
	       SSL_CTX_set_ciphersuites(ctx, SUITES_13) &&
	       SSL_CTX_set_cipher_list(ctx, SUITES_12) &&
	       SSL_CTX_set1_groups_list(ctx, groups) &&
	       SSL_CTX_set_max_early_data(ctx, 0) &&
	       SSL_CTX_set_recv_max_early_data(ctx, 0) &&
	       set_up_tickets(ctx, session_id);
}

static bool make_key(struct tls_server *server)
{
	uint8_t *end = server->public_key;
	int len;

	server->key = EVP_EC_gen("P-256");
	len = server->key ? i2d_PUBKEY(server->key, NULL) : -1;
	if (len <= 0 || (size_t)len > sizeof(server->public_key))
		return false;
	server->public_key_len = (size_t)i2d_PUBKEY(server->key, &end);
	return true;
}

int tls_server_init(struct tls_server *server, struct bytes session_id,
		    struct err *err)
{
	*server = (struct tls_server){0};
	server->ctx = SSL_CTX_new(TLS_server_method());
	if (server->ctx && set_up(server, session_id) && make_key(server))
		return 0;
	tls_server_release(server);
	return tls_library_error(err, "set up TLS towards the sandbox");
}

void tls_server_prefer_http11(struct tls_server *server,
			      const struct bytes *names, size_t count)
{
	server->http11_names = names;
	server->http11_count = count;
}

void tls_server_release(struct tls_server *server)
{
	SSL_CTX_free(server->ctx);
	EVP_PKEY_free(server->key);
	*server = (struct tls_server){0};
}
