#include "gateway/exchange/answer.h"

#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/secret.h"

#define ERROR_NAME_MAX 40

/* ---- words ---- */

/* The name of an error (RFC 6749 5.2), when it looks like one: the rest of
 * what endpoints say is not for logs. "" otherwise. */
static void error_name(const json_t *root, char out[ERROR_NAME_MAX + 1])
{
	const char *name = json_string_value(json_object_get(root, "error"));
	size_t len = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz_") : 0;

	out[0] = '\0';
	if (name && len > 0 && len <= ERROR_NAME_MAX && name[len] == '\0')
		memcpy(out, name, len + 1);
}

static int refused(const json_t *root, unsigned status, struct err *err)
{
	char name[ERROR_NAME_MAX + 1];

	error_name(root, name);
	return err_set(err, ERR_DENIED, "the endpoint refused: %u%s%s", status,
		       name[0] ? " " : "", name);
}

/* A token as a header can carry it: VCHAR alone. */
static int take_token(const json_t *value, struct bytes *token)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (!text || len == 0 || len > EXCHANGE_VALUE_MAX)
		return -1;
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x21 || text[i] > 0x7e)
			return -1;
	*token = bytes_from(text, len);
	return 0;
}

/* ---- RFC 6749 5.1 ---- */

static int read_lifetime(const json_t *root, uint64_t *lifetime_ms,
			 struct err *err)
{
	const json_t *value = json_object_get(root, "expires_in");
	long long seconds = json_integer_value(value);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || seconds < 0 ||
	    (uint64_t)seconds > ANSWER_LIFETIME_MAX_S)
		return err_set(err, ERR_INVALID,
			       "its answer: expires_in is no lifetime");
	if (seconds == 0)
		return err_set(err, ERR_INVALID,
			       "the token had expired when it came");
	*lifetime_ms = (uint64_t)seconds * 1000;
	return 0;
}

static int read_oauth2(const json_t *root, struct msg_exchanged *exchanged,
		       struct err *err)
{
	const json_t *refresh = json_object_get(root, "refresh_token");
	const char *type =
		json_string_value(json_object_get(root, "token_type"));

	if (!type || strcasecmp(type, "bearer") != 0)
		return err_set(err, ERR_UNSUPPORTED,
			       "its answer: the token's type is not bearer");
	if (take_token(json_object_get(root, "access_token"),
		       &exchanged->token) < 0)
		return err_set(err, ERR_INVALID,
			       "its answer: access_token is no token");
	if (refresh && !json_is_null(refresh) &&
	    take_token(refresh, &exchanged->refresh) < 0)
		return err_set(err, ERR_INVALID,
			       "its answer: refresh_token is no token");
	return read_lifetime(root, &exchanged->lifetime_ms, err);
}

/* ---- GitHub ---- */

static int read_app(const json_t *root, struct msg_exchanged *exchanged,
		    uint64_t wall_ms, struct err *err)
{
	const json_t *repositories = json_object_get(root, "repositories");
	const char *selection = json_string_value(
		json_object_get(root, "repository_selection"));
	const char *text =
		json_string_value(json_object_get(root, "expires_at"));
	uint64_t end_ms = 0;

	if (take_token(json_object_get(root, "token"), &exchanged->token) < 0)
		return err_set(err, ERR_INVALID,
			       "its answer: token is no token");
	if ((selection && !strcmp(selection, "all")) ||
	    (repositories && json_array_size(repositories) != 1))
		return err_set(err, ERR_DENIED,
			       "the token is for other repositories as well");
	if (!text || clock_parse(bytes_str(text), &end_ms) < 0 ||
	    end_ms > wall_ms + ANSWER_LIFETIME_MAX_S * 1000)
		return err_set(err, ERR_INVALID,
			       "its answer: expires_at is no time");
	if (end_ms <= wall_ms)
		return err_set(err, ERR_INVALID,
			       "the token had expired when it came");
	exchanged->lifetime_ms = end_ms - wall_ms;
	return 0;
}

int answer_owner(const struct config_source *source, unsigned status,
		 struct bytes body, struct bytes repository, struct err *err)
{
	json_t *root = json_loadb((const char *)body.data, body.len,
				  JSON_REJECT_DUPLICATES, NULL);
	const json_t *id = json_object_get(root, "id");
	bool is_ours = json_is_integer(id) &&
		       (uint64_t)json_integer_value(id) == source->installation;
	int result = 0;

	if (status == 301 || status == 404 ||
	    (status == 200 && json_is_integer(id) && !is_ours))
		result = err_set(err, ERR_DENIED,
				 "the app's installation %llu has no "
				 "repository %.*s",
				 (unsigned long long)source->installation,
				 BYTES_ARGS(repository));
	else if (status != 200)
		result = refused(root, status, err);
	else if (!is_ours)
		result = err_set(err, ERR_INVALID,
				 "its answer is no JSON object with the id of "
				 "an installation");
	json_decref(root);
	return result;
}

/* ---- both ---- */

int answer_read(struct answer *answer, const struct config_source *source,
		unsigned status, struct bytes body, uint64_t wall_ms,
		struct err *err)
{
	bool is_app = source->kind == SOURCE_GITHUB_APP;
	int result;

	*answer = (struct answer){
		.root = json_loadb((const char *)body.data, body.len,
				   JSON_REJECT_DUPLICATES, NULL)};
	if (status != (is_app ? 201 : 200))
		result = refused(answer->root, status, err);
	else if (!json_is_object(answer->root))
		result = err_set(err, ERR_INVALID,
				 "its answer is no JSON object");
	else if (is_app)
		result = read_app(answer->root, &answer->exchanged, wall_ms,
				  err);
	else
		result = read_oauth2(answer->root, &answer->exchanged, err);
	if (result < 0)
		answer_release(answer);
	return result;
}

/* The strings of an answer, tokens among them, in jansson's own memory. */
static void wipe_strings(json_t *root)
{
	const char *name;
	json_t *value;

	json_object_foreach(root, name, value)
	{
		if (json_is_string(value))
			secret_wipe((void *)(uintptr_t)json_string_value(value),
				    json_string_length(value));
	}
}

void answer_release(struct answer *answer)
{
	wipe_strings(answer->root);
	json_decref(answer->root);
	*answer = (struct answer){0};
}
