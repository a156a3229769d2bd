/*
 * Tokens of a GitHub App: each for one repository, with no more rights than
 * the session's policy for it needs.
 */
#include <jwt.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "gateway/vault/supply.h"

#define RSA_BITS_MIN 2048
#define JWT_BACK_S   60	 /* our clock may be ahead of GitHub's */
#define JWT_AHEAD_S  540 /* with the above: ten minutes */

/* ---- which repository, which rights ---- */

/* The one that the binding is for. NULL: none, or more than one. */
static const struct scope_repo *repo_of(const struct supply_wanted *wanted,
					struct err *err)
{
	const struct scope *scope;
	const struct scope_repo *found = NULL;

	(void)err_set(err, ERR_DENIED,
		      "a token of a GitHub App is for one repository: the "
		      "policy's `git` must name one with this credential");
	if (!wanted->session || !wanted->binding)
		return NULL;
	scope = session_scope(wanted->session);
	for (size_t i = 0; i < scope->repos_count; i++) {
		if (!bytes_equal(scope->repos[i].credential,
				 wanted->binding->name))
			continue;
		if (found && !bytes_equal(found->path, scope->repos[i].path))
			return NULL;
		found = &scope->repos[i];
	}
	return found;
}

/* "owner/name": whose it is counts, since an app's token is bought by the
 * name alone. */
static int take_repository(struct supply *supply, const struct scope_repo *repo,
			   struct err *err)
{
	struct bytes path = bytes_slice(repo->path, 1, repo->path.len);
	struct bytes name = path;
	struct bytes owner;

	if (!bytes_split(&name, '/', &owner) || owner.len == 0 ||
	    name.len == 0 || bytes_find(name, '/', 0) >= 0 ||
	    path.len > SUPPLY_REPO_MAX)
		return err_set(err, ERR_DENIED,
			       "%.*s is no repository of GitHub: OWNER/NAME",
			       BYTES_ARGS(bytes_slice(path, 0, 200)));
	memcpy(supply->repository, path.data, path.len);
	supply->repository[path.len] = '\0';
	return 0;
}

static void set(struct supply *supply, struct bytes name, bool write)
{
	for (size_t i = 0; i < supply->permissions_count; i++)
		if (bytes_equal(supply->permissions[i].name, name)) {
			supply->permissions[i].write = write;
			return;
		}
	supply->permissions[supply->permissions_count++] =
		(struct source_permission){name, write};
}

/* What git needs, then what the operator says; never more of the contents
 * than the policy's git. */
static void take_permissions(struct supply *supply,
			     const struct scope_repo *repo)
{
	const struct config_source *source = supply->source;
	const struct bytes contents = bytes_str("contents");
	bool pushes =
		repo->verbs != 0 && repo->branches_count + repo->tags_count > 0;

	set(supply, bytes_str("metadata"), false);
	set(supply, contents, pushes);
	set(supply, bytes_str("pull_requests"), pushes);
	for (size_t i = 0; i < source->permissions_count; i++) {
		const struct source_permission *more = &source->permissions[i];
		bool is_contents = bytes_equal(more->name, contents);

		set(supply, more->name,
		    more->write && (!is_contents || pushes));
	}
}

int app_fill(struct supply *supply, const struct supply_wanted *wanted,
	     struct err *err)
{
	const struct scope_repo *repo = repo_of(wanted, err);
	size_t len;

	if (!repo || take_repository(supply, repo, err) < 0)
		return -1;
	take_permissions(supply, repo);
	len = (size_t)snprintf(supply->key, sizeof(supply->key), "%.*s %s",
			       BYTES_ARGS(supply->source->name),
			       supply->repository);
	for (size_t i = 0; i < supply->permissions_count; i++) {
		const struct source_permission *right = &supply->permissions[i];

		if (len >= sizeof(supply->key))
			break;
		len += (size_t)snprintf(
			supply->key + len, sizeof(supply->key) - len, " %.*s%s",
			BYTES_ARGS(right->name), right->write ? "=w" : "");
	}
	return len < sizeof(supply->key)
		       ? 0
		       : err_set(err, ERR_TOO_LARGE, "too many permissions");
}

static bool wants(const struct session *session, const struct supply *supply)
{
	const struct scope *scope = session_scope(session);

	for (size_t i = 0; i < scope->bindings_count; i++) {
		const struct supply_wanted wanted = {
			.name = scope->bindings[i].secret,
			.session = session,
			.binding = &scope->bindings[i],
		};
		struct supply same = {.source = supply->source};
		struct err err;

		if (bytes_equal(wanted.name, supply->source->name) &&
		    app_fill(&same, &wanted, &err) == 0 &&
		    !strcmp(same.key, supply->key))
			return true;
	}
	return false;
}

bool app_is_wanted(const struct supply *supply, const struct session *ending)
{
	const struct session *session;

	for (session = supply->vault->keeper->sessions.head; session;
	     session = session->hh.next)
		if (session != ending && wants(session, supply))
			return true;
	return false;
}

/* ---- the key, and who we are ---- */

/* Nobody is there to be asked for a passphrase. */
static int no_passphrase(char *out, int size, int writing, void *owner)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)owner;
	return -1;
}

static EVP_PKEY *read_pem(struct bytes pem)
{
	BIO *bio = BIO_new_mem_buf(pem.data, (int)pem.len);
	EVP_PKEY *key =
		bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL)
		    : NULL;

	BIO_free(bio);
	return key;
}

int app_key_check(struct bytes pem, struct err *err)
{
	EVP_PKEY *key = pem.len > 0 ? read_pem(pem) : NULL;
	bool is_good = key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
		       EVP_PKEY_get_bits(key) >= RSA_BITS_MIN;

	EVP_PKEY_free(key);
	if (is_good)
		return 0;
	return err_set(err, ERR_INVALID,
		       "the key of a GitHub App is an RSA private key of %d "
		       "bits or more, in PEM, without a passphrase",
		       RSA_BITS_MIN);
}

static void free_jwt(jwt_t **jwt)
{
	jwt_free(*jwt);
}

int app_begin(struct err *err)
{
	__attribute__((cleanup(free_jwt))) jwt_t *token = NULL;

	/* OpenSSL reads its configuration, and jansson, behind libjwt, the
	 * seed of its tables. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) &&
	    jwt_new(&token) == 0)
		return 0;
	return err_set(err, ERR_LIBRARY, "start OpenSSL and libjwt");
}

int app_sign(const struct config_source *source, struct bytes pem,
	     uint64_t wall_ms, struct secret *jwt, struct err *err)
{
	__attribute__((cleanup(free_jwt))) jwt_t *token = NULL;
	long now_s = (long)(wall_ms / 1000);
	char app[24];
	char *text;
	int result;

	if (app_key_check(pem, err) < 0)
		return -1;
	(void)snprintf(app, sizeof(app), "%llu",
		       (unsigned long long)source->app);
	if (jwt_new(&token) != 0 ||
	    jwt_add_grant_int(token, "iat", now_s - JWT_BACK_S) != 0 ||
	    jwt_add_grant_int(token, "exp", now_s + JWT_AHEAD_S) != 0 ||
	    jwt_add_grant(token, "iss", app) != 0 ||
	    jwt_set_alg(token, JWT_ALG_RS256, pem.data, (int)pem.len) != 0)
		return err_set(err, ERR_LIBRARY, "make a JWT: libjwt failed");
	text = jwt_encode_str(token);
	if (!text)
		return err_set(err, ERR_LIBRARY, "sign a JWT: libjwt failed");
	result = secret_set(jwt, bytes_str(text), err);
	secret_wipe(text, strlen(text));
	free(text);
	return result;
}
