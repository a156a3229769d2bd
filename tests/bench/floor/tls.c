#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"

#define NAMES_MAX 2048

static SSL_CTX *server, *client;
static X509 *ca;
static EVP_PKEY *ca_key, *leaf_key;
static bool is_fixed;
static struct {
	char *name;
	X509 *leaf;
} minted[NAMES_MAX];
static size_t minted_count;
/* Of the last upstream connection, to resume. */
static SSL_SESSION *session;
static char session_name[NAME_SIZE];

static FILE *open_in(const char *directory, const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		fail(path);
	return file;
}

static void read_ca(const char *directory)
{
	FILE *cert = open_in(directory, "ca.pem");
	FILE *key = open_in(directory, "ca.key");

	ca = PEM_read_X509(cert, NULL, NULL, NULL);
	ca_key = PEM_read_PrivateKey(key, NULL, NULL, NULL);
	leaf_key = EVP_EC_gen("P-256");
	if (!ca || !ca_key || !leaf_key)
		fail("CA");
	fclose(cert);
	fclose(key);
}

static int on_session(SSL *ssl, SSL_SESSION *got)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	SSL_SESSION_free(session);
	session = got;
	snprintf(session_name, sizeof(session_name), "%s", name);
	return 1;
}

void tls_init(const char *directory, bool is_origin)
{
	char path[4096];

	server = SSL_CTX_new(TLS_server_method());
	client = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_mode(server, SSL_MODE_RELEASE_BUFFERS |
					 SSL_MODE_ENABLE_PARTIAL_WRITE |
					 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_mode(client, SSL_CTX_get_mode(server));
	SSL_CTX_set_read_ahead(server, 1);
	SSL_CTX_set_read_ahead(client, 1);
	SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(
		client, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(client, on_session);
	snprintf(path, sizeof(path), "%s/ca.pem", directory);
	if (SSL_CTX_load_verify_locations(client, path, NULL) != 1)
		fail(path);
	is_fixed = is_origin;
	if (!is_origin) {
		read_ca(directory);
		return;
	}
	snprintf(path, sizeof(path), "%s/leaf.pem", directory);
	if (SSL_CTX_use_certificate_file(server, path, SSL_FILETYPE_PEM) != 1)
		fail(path);
	snprintf(path, sizeof(path), "%s/leaf.key", directory);
	if (SSL_CTX_use_PrivateKey_file(server, path, SSL_FILETYPE_PEM) != 1)
		fail(path);
}

static void add_extension(X509 *leaf, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, ca, leaf, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	if (!extension || !X509_add_ext(leaf, extension, -1))
		fail("extension");
	X509_EXTENSION_free(extension);
}

static X509 *mint(const char *name)
{
	char alternative[NAME_SIZE + 8];
	X509 *leaf = X509_new();

	snprintf(alternative, sizeof(alternative), "DNS:%s", name);
	X509_set_version(leaf, 2);
	ASN1_INTEGER_set_uint64(X509_get_serialNumber(leaf),
				minted_count + 1000);
	X509_set_issuer_name(leaf, X509_get_subject_name(ca));
	X509_gmtime_adj(X509_getm_notBefore(leaf), -3600);
	X509_gmtime_adj(X509_getm_notAfter(leaf), 86400);
	X509_set_pubkey(leaf, leaf_key);
	add_extension(leaf, NID_basic_constraints, "critical,CA:FALSE");
	add_extension(leaf, NID_ext_key_usage, "serverAuth");
	add_extension(leaf, NID_subject_alt_name, alternative);
	if (!X509_sign(leaf, ca_key, EVP_sha256()))
		fail("sign");
	return leaf;
}

static X509 *leaf_for(const char *name)
{
	for (size_t i = 0; i < minted_count; i++)
		if (!strcmp(minted[i].name, name))
			return minted[i].leaf;
	if (minted_count == NAMES_MAX)
		fail("too many names");
	minted[minted_count].name = strdup(name);
	minted[minted_count].leaf = mint(name);
	return minted[minted_count++].leaf;
}

SSL *tls_server(const char *name)
{
	SSL *ssl = SSL_new(server);

	if (!is_fixed)
		SSL_use_cert_and_key(ssl, leaf_for(name), leaf_key, NULL, 1);
	SSL_set_accept_state(ssl);
	return ssl;
}

SSL *tls_client(const char *name)
{
	SSL *ssl = SSL_new(client);

	SSL_set_tlsext_host_name(ssl, name);
	SSL_set1_host(ssl, name);
	if (session && !strcmp(session_name, name))
		SSL_set_session(ssl, session);
	SSL_set_connect_state(ssl);
	return ssl;
}
