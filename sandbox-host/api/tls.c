/*
 * TLS towards clients, where host.yaml says `tls`. The files are the daemon's
 * to read: what is in them comes over its channel, at the start and again
 * whenever it was told to look (SIGHUP).
 */
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_tls.h"
#include "common/log.h"
#include "gateway/tls/certificate.h"
#include "gateway/tls/library.h"
#include "sandbox-host/api/api.h"

#define SUITES_13                                                              \
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"                       \
	"TLS_CHACHA20_POLY1305_SHA256"
#define SUITES_12 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS	  "X25519:P-256:P-384"

struct api_tls {
	SSL_CTX *ctx;
	struct certificate certificate;
	int sockets[API_LISTENERS_MAX]; /* until there is one */
	size_t socket_count;
};

/* RFC 7301 3.2: no overlap is a fatal alert. */
static int on_alpn(SSL *ssl, const uint8_t **out, uint8_t *out_len,
		   const uint8_t *in, unsigned in_len, void *unused)
{
	static const uint8_t ours[] = {8,   'h', 't', 't', 'p',
				       '/', '1', '.', '1'};
	uint8_t *chosen = NULL;

	(void)ssl;
	(void)unused;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours), in,
				  in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool set_up(SSL_CTX *ctx)
{
	char groups[] = GROUPS; /* OpenSSL's macro casts const away */

	SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION |
					 SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_CLEANSE_PLAINTEXT);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) &&
	       SSL_CTX_set_ciphersuites(ctx, SUITES_13) &&
	       SSL_CTX_set_cipher_list(ctx, SUITES_12) &&
	       SSL_CTX_set1_groups_list(ctx, groups) &&
	       SSL_CTX_set_max_early_data(ctx, 0) &&
	       SSL_CTX_set_num_tickets(ctx, 1);
}

int api_tls_open(struct api *api, const int *sockets, size_t count,
		 struct err *err)
{
	struct api_tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	tls->ctx = SSL_CTX_new(TLS_server_method());
	if (!tls->ctx || !set_up(tls->ctx)) {
		SSL_CTX_free(tls->ctx);
		free(tls);
		return tls_library_error(err, "set up TLS");
	}
	for (size_t i = 0; i < count; i++)
		tls->sockets[i] = sockets[i];
	tls->socket_count = count;
	api->tls = tls;
	return 0;
}

static int take(struct api_tls *tls, int fd, struct err *err)
{
	struct certificate taken = {.count = 0};
	struct bytes pem;
	int result;

	if (wire_memfd_map(fd, API_PEM_MAX, &pem, err) < 0)
		return -1;
	result = certificate_read(&taken, pem, err);
	wire_memfd_unmap(pem);
	if (result < 0) {
		certificate_release(&taken);
		return -1;
	}
	certificate_release(&tls->certificate);
	tls->certificate = taken;
	return 0;
}

void api_tls_take(struct api *api, int fd)
{
	struct api_tls *tls = api->tls;
	size_t count = tls->socket_count;
	struct err err;

	tls->socket_count = 0;
	if (take(tls, fd, &err) < 0) {
		log_error("the certificate is not shown: %s", err.text);
		tls->socket_count = count;
		return;
	}
	log_info("a certificate is shown");
	if (count > 0 && api_open(api, tls->sockets, count, &err) < 0) {
		log_error("%s", err.text);
		exit(1);
	}
}

int api_tls_begin(struct api *api, struct io *io, struct err *err)
{
	return io_tls_server(io, api->tls->ctx, bytes_from(NULL, 0), err);
}

int api_tls_show(struct api *api, struct io *io, struct err *err)
{
	const struct certificate *certificate = &api->tls->certificate;

	return io_tls_certificate(io, certificate->chain, certificate->count,
				  certificate->key, err);
}
