/*
 * A request that is signed: which fields, which hash of the body, for which
 * region and service. What the client signed with its placeholder is gone.
 */
#include <openssl/evp.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/courier/attach.h"
#include "gateway/courier/sigv4.h"
#include "gateway/http/write.h"

#define HOST_LINE_MAX (HOST_NAME_MAX_LEN + 16)
#define OWN_FIELDS    4
#define HTTPS_PORT    443

/* What is signed, all but the fields. */
struct work {
	struct sigv4_key key;
	char time[SIGV4_TIME_SIZE];
	char payload[2 * DIGEST_LEN + 1];
	char host[HOST_LINE_MAX];
	struct leg_field *fields;
	size_t count;
};

/* ---- the URL ---- */

static struct bytes path_of(struct bytes target, struct bytes *query)
{
	struct bytes path;

	(void)bytes_split(&target, '?', &path);
	*query = target;
	return path;
}

int sign_target(const struct leg *leg, struct buf *out, struct err *err)
{
	auto_type(arena_release) struct arena arena;
	struct bytes query;
	struct bytes path = path_of(leg->request.path, &query);

	arena_init(&arena, LEG_ARENA_MAX);
	if (buf_add(out, path) < 0 || (query.len && buf_add_byte(out, '?') < 0))
		return err_set(err, ERR_TOO_LARGE, "the URL has no room");
	return query.len ? sigv4_query(&arena, query, out, err) : 0;
}

/* ---- what is signed ---- */

static void write_host(const struct target *target, char out[HOST_LINE_MAX])
{
	bool is_ipv6 = target->kind == HOST_IPV6;

	(void)snprintf(out, HOST_LINE_MAX, "%s%s%s", is_ipv6 ? "[" : "",
		       target->host, is_ipv6 ? "]" : "");
	if (target->port != HTTPS_PORT)
		(void)snprintf(out + strlen(out), HOST_LINE_MAX - strlen(out),
			       ":%u", target->port);
}

/* Nothing goes out with a hash of what nobody looked at, unless the policy
 * says so. */
static int write_payload(const struct leg *leg,
			 const struct scope_binding *binding, char *out,
			 struct err *err)
{
	const struct leg_request *request = &leg->request;
	uint8_t digest[DIGEST_LEN];

	digest_sha256(bytes_from(NULL, 0), bytes_from(NULL, 0), digest);
	if (request->has_body && request->body_sha256.len == DIGEST_LEN)
		memcpy(digest, request->body_sha256.data, DIGEST_LEN);
	else if (request->has_body && !binding->may_be_unsigned)
		return err_set(err, ERR_DENIED,
			       "the hash of the body is not known");
	if (request->has_body && request->body_sha256.len != DIGEST_LEN)
		(void)snprintf(out, 2 * DIGEST_LEN + 1, "%s", SIGV4_UNSIGNED);
	else
		bytes_to_hex(bytes_from(digest, DIGEST_LEN), out);
	return 0;
}

static bool is_signed(struct bytes name)
{
	static const struct bytes prefix = BYTES_LITERAL("x-amz-");

	return bytes_equal_nocase(bytes_slice(name, 0, prefix.len), prefix) ||
	       bytes_is_nocase(name, "content-type") ||
	       bytes_is_nocase(name, "content-md5");
}

static void put(struct work *work, const char *name, struct bytes value)
{
	work->fields[work->count++] =
		(struct leg_field){bytes_str(name), value};
}

static int collect(const struct leg *leg, struct arena *arena,
		   struct work *work)
{
	const struct leg_request *request = &leg->request;

	work->fields = arena_array(arena, request->fields_count + OWN_FIELDS,
				   sizeof(*work->fields));
	if (!work->fields)
		return -1;
	put(work, "Host", bytes_str(work->host));
	put(work, "X-Amz-Date", bytes_str(work->time));
	put(work, "X-Amz-Content-Sha256", bytes_str(work->payload));
	if (work->key.session.len)
		put(work, "X-Amz-Security-Token", work->key.session);
	for (size_t i = 0; i < request->fields_count; i++)
		if (is_signed(request->fields[i].name) &&
		    request_passes_field(leg, i))
			work->fields[work->count++] = request->fields[i];
	return 0;
}

/* As the policy says, else as the host says. */
static int name_scope(const struct leg *leg,
		      const struct scope_binding *binding,
		      struct sigv4_request *request, struct err *err)
{
	struct bytes service = {NULL, 0}, region = {NULL, 0};

	(void)credential_aws_names(bytes_str(leg->target.host), &service,
				   &region);
	request->service = binding->service.len ? binding->service : service;
	request->region = binding->region.len ? binding->region : region;
	if (request->service.len && request->region.len)
		return 0;
	return err_set(err, ERR_DENIED,
		       "the host does not say which service and region it is");
}

static int write_fields(const struct work *work, struct bytes authorization,
			struct buf *out)
{
	/* Host is written by who writes the request's first line. */
	for (size_t i = 1; i < OWN_FIELDS - !work->key.session.len; i++)
		if (write_field(out, work->fields[i].name,
				work->fields[i].value) < 0)
			return -1;
	return write_field(out, bytes_str("Authorization"), authorization);
}

static int sign_work(const struct leg *leg, const struct scope_binding *binding,
		     struct bytes target, struct work *work, struct buf *out,
		     struct err *err)
{
	auto_type(arena_release) struct arena arena;
	auto_type(buf_release) struct buf authorization;
	struct sigv4_request request = {.method = leg->request.method};

	arena_init(&arena, LEG_ARENA_MAX);
	buf_init(&authorization, HEAD_LINE_MAX);
	request.path = path_of(target, &request.query);
	(void)err_set(err, ERR_TOO_LARGE, "sign: too large");
	if (collect(leg, &arena, work) < 0 ||
	    name_scope(leg, binding, &request, err) < 0)
		return -1;
	request.fields = work->fields;
	request.fields_count = work->count;
	request.payload = bytes_str(work->payload);
	request.time = work->time;
	if (sigv4_sign(&request, &work->key, &arena, &authorization, err) < 0)
		return -1;
	return write_fields(work, buf_view(&authorization), out);
}

int sign_fields(const struct leg *leg, const struct msg_token *token,
		struct bytes target, struct buf *out, struct err *err)
{
	const struct scope_binding *binding = attach_binding(leg);
	struct work work = {.count = 0};

	if (leg->kind != LEG_REQUEST || !binding)
		return err_set(err, ERR_DENIED,
			       "only ordinary requests are signed");
	if (sigv4_key_read(token->secret, &work.key) < 0)
		return err_set(err, ERR_DENIED,
			       "the secret is no \"ID:SECRET\" or "
			       "\"ID:SECRET:TOKEN\"");
	sigv4_time(clock_wall_ms(), work.time);
	write_host(&leg->target, work.host);
	if (write_payload(leg, binding, work.payload, err) < 0)
		return -1;
	return sign_work(leg, binding, target, &work, out, err);
}

/* ---- the body ---- */

int sign_body_begin(struct leg *leg, struct err *err)
{
	EVP_MD_CTX_free(leg->body_digest);
	leg->body_digest = NULL;
	if (leg->kind != LEG_REQUEST || !leg->request.has_body ||
	    leg->request.body_sha256.len != DIGEST_LEN)
		return 0;
	leg->body_digest = EVP_MD_CTX_new();
	if (leg->body_digest &&
	    EVP_DigestInit_ex(leg->body_digest, EVP_sha256(), NULL) == 1)
		return 0;
	return err_set(err, ERR_TOO_LARGE, "hash the body: no memory");
}

int sign_body(struct leg *leg, struct bytes bytes, struct err *err)
{
	if (leg->body_digest &&
	    EVP_DigestUpdate(leg->body_digest, bytes.data, bytes.len) != 1)
		return err_set(err, ERR_TOO_LARGE, "hash the body");
	return leg->has_length && leg->body_left == 0 ? sign_body_end(leg, err)
						      : 0;
}

int sign_body_end(struct leg *leg, struct err *err)
{
	uint8_t digest[DIGEST_LEN];
	bool is_same;

	if (!leg->body_digest)
		return 0;
	is_same = EVP_DigestFinal_ex(leg->body_digest, digest, NULL) == 1 &&
		  bytes_equal(bytes_from(digest, DIGEST_LEN),
			      leg->request.body_sha256);
	EVP_MD_CTX_free(leg->body_digest);
	leg->body_digest = NULL;
	return is_same ? 0
		       : err_set(err, ERR_DENIED,
				 "the body is not the one whose hash was "
				 "given");
}
