#include <arpa/inet.h>
#include <assert.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include "common/apart.h"
#include "common/io_tls_core.h"

/* Never the subject: OpenSSL takes its CN when the SAN has no DNS name. */
#define HOST_FLAGS                                                             \
	(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |                                \
	 X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)

static bool is_address(const char *name)
{
	struct in6_addr address;

	return inet_pton(AF_INET, name, &address) == 1 ||
	       inet_pton(AF_INET6, name, &address) == 1;
}

/* OpenSSL verifies nothing in a resumed handshake: the session says who the
 * peer was, and that may be another name, or be over. */
static int check_resumed(const struct io_tls *tls, X509 *leaf, struct err *err)
{
	int is_match;

	if (is_address(tls->name))
		is_match = X509_check_ip_asc(leaf, tls->name, 0);
	else
		is_match =
			X509_check_host(leaf, tls->name, 0, HOST_FLAGS, NULL);
	if (is_match != 1)
		return err_set(err, ERR_INVALID,
			       "resume TLS: the session is not of %s",
			       tls->name);
	if (X509_cmp_current_time(X509_get0_notAfter(leaf)) <= 0)
		return err_set(err, ERR_INVALID,
			       "resume TLS: the certificate of %s has expired",
			       tls->name);
	return 0;
}

int io_tls_check_peer(struct io *io, struct err *err)
{
	struct io_tls *tls = io->tls;
	X509 *leaf = SSL_get0_peer_certificate(tls->ssl);
	long verified = SSL_get_verify_result(tls->ssl);

	if (!leaf || verified != X509_V_OK)
		return err_set(err, ERR_INVALID, "certificate of %s: %s",
			       tls->name,
			       leaf ? X509_verify_cert_error_string(verified)
				    : "there is none");
	if (SSL_session_reused(tls->ssl) && check_resumed(tls, leaf, err) < 0)
		return -1;
	if (!tls->check)
		return 0;
	return tls->check(leaf, tls->check_owner, err);
}

/* Send name as SNI and have it verified. */
static int set_name(struct io_tls *tls, const char *name)
{
	SSL *ssl = tls->ssl;

	tls->name = OPENSSL_strdup(name);
	if (!tls->name)
		return -1;
	SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	if (is_address(name))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
						     name) == 1
			       ? 0
			       : -1;
	SSL_set_hostflags(ssl, HOST_FLAGS);
	return SSL_set_tlsext_host_name(ssl, tls->name) == 1 &&
			       SSL_set1_host(ssl, name) == 1
		       ? 0
		       : -1;
}

/* Zero is success here. */
static bool set_alpn(const struct io_tls *tls, struct bytes alpn)
{
	return alpn.len == 0 || SSL_set_alpn_protos(tls->ssl, alpn.data,
						    (unsigned)alpn.len) == 0;
}

static bool set_up(struct io_tls *tls, const struct io_tls_client *client)
{
	SSL_set_connect_state(tls->ssl);
	return set_name(tls, client->name) == 0 &&
	       set_alpn(tls, client->alpn) &&
	       (!client->key ||
		io_tls_set_certificate(tls, client->chain, client->chain_count,
				       client->key)) &&
	       (!client->session ||
		SSL_set_session(tls->ssl, client->session) == 1);
}

int io_tls_client(struct io *io, const struct io_tls_client *client,
		  struct err *err)
{
	struct io_tls *tls;
	bool is_set_up;

	/* An empty name would turn OpenSSL's check off. */
	if (client->name[0] == '\0' || strlen(client->name) > IO_TLS_NAME_MAX)
		return err_set(err, ERR_INVALID, "start TLS: not a name");
	if (io_tls_begin(io, client->ctx, true, err) < 0)
		return -1;
	tls = io->tls;
	tls->check = client->check;
	tls->check_owner = client->check_owner;
	apart_set(true);
	is_set_up = set_up(tls, client);
	apart_set(false);
	if (is_set_up)
		return 0;
	(void)io_tls_library_err(err, "start TLS");
	io_kill(io, err);
	return -1;
}
