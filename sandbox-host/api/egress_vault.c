/*
 * /credential-vault of a sandbox: values that its requests carry, outside.
 * A value that came is lent to the session and forgotten here; nothing reads
 * it back. Each value has a name of its own in the session, so that a change
 * of several holds at once, with the policy that names them.
 */
#include <stdio.h>
#include <string.h>

#include "sandbox-host/api/areas.h"
#include "sandbox-host/api/egress.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static int fail(struct egress_task *task, unsigned status, const char *code,
		const char *why)
{
	exchange_fail(task->exchange, status, code, "%s", why);
	return -1;
}

static int invalid(struct egress_task *task, const char *why)
{
	return fail(task, 400, "INVALID_REQUEST", why);
}

static int find(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (!strcmp(text_of(item, "name"), name))
			return (int)i;
	}
	return -1;
}

/* ---- answers: names, never values ---- */

static json_t *shown_credential(const json_t *credential, const json_t *vault)
{
	return json_pack("{s:s, s:s, s:O}", "name", text_of(credential, "name"),
			 "sourceType", "inline", "revision",
			 json_object_get(vault, "revision"));
}

static json_t *shown_binding(const json_t *binding, const json_t *vault)
{
	const json_t *auth = json_object_get(binding, "auth");
	const json_t *headers = json_object_get(auth, "headers");
	const char *field = text_of(auth, "name");

	if (!*field)
		field = text_of(json_array_get(headers, 0), "name");
	return json_pack("{s:s, s:O, s:O, s:{s:s, s:s*}}", "name",
			 text_of(binding, "name"), "revision",
			 json_object_get(vault, "revision"), "match",
			 json_object_get(binding, "match"), "auth", "type",
			 text_of(auth, "type"), "name", *field ? field : NULL);
}

static json_t *shown_list(const json_t *vault, const char *key,
			  json_t *(*show)(const json_t *, const json_t *))
{
	json_t *list = json_array();
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(vault, key), i, item)
	{
		(void)json_array_append_new(list, show(item, vault));
	}
	return list;
}

static bool has_vault(struct egress_task *task,
		      const struct egress_model *model)
{
	if (!model->vault)
		(void)fail(task, 404, "VAULT_NOT_FOUND",
			   "this sandbox has no credential vault");
	return model->vault;
}

static void tell_vault(struct egress_task *task,
		       const struct egress_model *model)
{
	bool is_new = bytes_is(task->exchange->method, "POST");

	if (has_vault(task, model))
		exchange_reply_json(
			task->exchange, is_new ? 201 : 200,
			json_pack("{s:O, s:o, s:o}", "revision",
				  json_object_get(model->vault, "revision"),
				  "credentials",
				  shown_list(model->vault, "credentials",
					     shown_credential),
				  "bindings",
				  shown_list(model->vault, "bindings",
					     shown_binding)));
}

static void tell_gone(struct egress_task *task,
		      const struct egress_model *model)
{
	(void)model;
	exchange_reply_empty(task->exchange, 204);
}

static void tell_list(struct egress_task *task,
		      const struct egress_model *model, const char *key,
		      json_t *(*show)(const json_t *, const json_t *))
{
	struct bytes wanted = task->exchange->pieces[0];
	json_t *item;
	size_t i;

	if (!has_vault(task, model))
		return;
	if (wanted.len == 0) {
		exchange_reply_json(
			task->exchange, 200,
			json_pack("{s:O, s:o}", "revision",
				  json_object_get(model->vault, "revision"),
				  key, shown_list(model->vault, key, show)));
		return;
	}
	json_array_foreach(json_object_get(model->vault, key), i, item)
	{
		if (bytes_is(wanted, text_of(item, "name"))) {
			exchange_reply_json(task->exchange, 200,
					    show(item, model->vault));
			return;
		}
	}
	(void)fail(task, 404, "NOT_FOUND", "there is none of that name");
}

static void tell_credentials(struct egress_task *task,
			     const struct egress_model *model)
{
	tell_list(task, model, "credentials", shown_credential);
}

static void tell_bindings(struct egress_task *task,
			  const struct egress_model *model)
{
	tell_list(task, model, "bindings", shown_binding);
}

/* ---- credentials ---- */

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!((name[i] >= 'a' && name[i] <= 'z') ||
		      (name[i] >= 'A' && name[i] <= 'Z') ||
		      (name[i] >= '0' && name[i] <= '9') ||
		      strchr("._-", name[i])))
			return false;
	return len > 0 && len <= EGRESS_NAME_MAX;
}

/* Lend the value under a name that was never used: two changes at one time,
 * of which one holds, must not exchange their values. */
static int add_credential(struct egress_task *task, json_t *vault,
			  const json_t *given)
{
	const json_t *source = json_object_get(given, "source");
	const json_t *value = json_object_get(source, "value");
	json_t *credentials = json_object_get(vault, "credentials");
	const char *name = text_of(given, "name");
	char secret[EGRESS_NAME_MAX + 1];

	if (!is_name(name) || strcmp(text_of(source, "type"), "inline") != 0 ||
	    json_string_length(value) == 0 ||
	    json_string_length(value) > EGRESS_VALUE_MAX)
		return invalid(task, "a credential is {name, source: {type: "
				     "inline, value}}");
	if (find(credentials, name) >= 0)
		return fail(task, 409, "ALREADY_EXISTS",
			    "there is a credential of that name");
	if (json_array_size(credentials) >= EGRESS_LENT_MAX)
		return invalid(task, "there are too many credentials");
	(void)snprintf(secret, sizeof(secret), "v-%s-%zu", task->tag,
		       task->lent_count);
	(void)json_array_append_new(
		credentials,
		json_pack("{s:s, s:s}", "name", name, "secret", secret));
	return egress_lend(task, secret,
			   bytes_from(json_string_value(value),
				      json_string_length(value))) < 0
		       ? invalid(task, "there are too many credentials")
		       : 0;
}

static int remove_credential(struct egress_task *task, json_t *vault,
			     const char *name)
{
	json_t *credentials = json_object_get(vault, "credentials");
	int at = find(credentials, name);

	if (at < 0)
		return fail(task, 404, "NOT_FOUND",
			    "there is no credential of that name");
	if (egress_lend(
		    task,
		    text_of(json_array_get(credentials, (size_t)at), "secret"),
		    bytes_from(NULL, 0)) < 0)
		return invalid(task, "there are too many credentials");
	(void)json_array_remove(credentials, (size_t)at);
	return 0;
}

static int replace_credential(struct egress_task *task, json_t *vault,
			      const json_t *given)
{
	return remove_credential(task, vault, text_of(given, "name")) < 0
		       ? -1
		       : add_credential(task, vault, given);
}

/* ---- bindings ---- */

static int add_binding(struct egress_task *task, json_t *vault,
		       const json_t *given)
{
	json_t *bindings = json_object_get(vault, "bindings");

	if (!is_name(text_of(given, "name")))
		return invalid(task, "a binding is {name, match, auth}");
	if (find(bindings, text_of(given, "name")) >= 0)
		return fail(task, 409, "ALREADY_EXISTS",
			    "there is a binding of that name");
	(void)json_array_append(bindings, (json_t *)(uintptr_t)given);
	return 0;
}

static int remove_binding(struct egress_task *task, json_t *vault,
			  const char *name)
{
	json_t *bindings = json_object_get(vault, "bindings");
	int at = find(bindings, name);

	if (at < 0)
		return fail(task, 404, "NOT_FOUND",
			    "there is no binding of that name");
	(void)json_array_remove(bindings, (size_t)at);
	return 0;
}

static int replace_binding(struct egress_task *task, json_t *vault,
			   const json_t *given)
{
	return remove_binding(task, vault, text_of(given, "name")) < 0
		       ? -1
		       : add_binding(task, vault, given);
}

/* ---- changes ---- */

typedef int item_fn(struct egress_task *task, json_t *vault,
		    const json_t *given);
typedef int name_fn(struct egress_task *task, json_t *vault, const char *name);

/* Nothing, or a list. 0, or -1: answered. */
static int check_list(struct egress_task *task, const json_t *list)
{
	return !list || json_is_null(list) || json_is_array(list)
		       ? 0
		       : invalid(task, "a list is wanted");
}

static int each(struct egress_task *task, json_t *vault, const json_t *list,
		item_fn *fn)
{
	const json_t *item;
	size_t i;

	if (check_list(task, list) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		if (fn(task, vault, item) < 0)
			return -1;
	}
	return 0;
}

static int each_name(struct egress_task *task, json_t *vault,
		     const json_t *list, name_fn *fn)
{
	const json_t *item;
	size_t i;

	if (check_list(task, list) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		if (fn(task, vault,
		       json_is_string(item) ? json_string_value(item) : "") < 0)
			return -1;
	}
	return 0;
}

/* What stands in the vault now must be one. */
static int finish(struct egress_task *task, struct egress_model *model)
{
	json_int_t revision =
		json_integer_value(json_object_get(model->vault, "revision"));
	const char *fault = egress_vault_fault(task->exchange->arena, model);

	if (fault)
		return invalid(task, fault);
	(void)json_object_set_new(model->vault, "revision",
				  json_integer(revision + 1));
	return 0;
}

static int create(struct egress_task *task, struct egress_model *model)
{
	if (model->vault)
		return fail(task, 409, "ALREADY_EXISTS",
			    "this sandbox has a credential vault");
	model->vault = json_pack("{s:i, s:[], s:[]}", "revision", 0,
				 "credentials", "bindings");
	if (!model->vault)
		return fail(task, 500, "INTERNAL", "no memory");
	if (each(task, model->vault, json_object_get(task->body, "credentials"),
		 add_credential) < 0 ||
	    each(task, model->vault, json_object_get(task->body, "bindings"),
		 add_binding) < 0)
		return -1;
	return finish(task, model);
}

/* What a change says; who is told that it holds must not have been
 * misunderstood. 0, or -1: answered. */
static int check_change(struct egress_task *task, const json_t *vault)
{
	static const char *const parts[] = {"credentials", "bindings"};
	const json_t *expected =
		json_object_get(task->body, "expectedRevision");

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const json_t *part = json_object_get(task->body, parts[i]);

		if (part && !json_is_null(part) && !json_is_object(part))
			return invalid(task, "credentials and bindings are "
					     "{add, replace, delete}");
	}
	if (!expected || json_is_null(expected))
		return 0;
	if (!json_is_integer(expected))
		return invalid(task, "expectedRevision is a whole number");
	return json_integer_value(expected) ==
			       json_integer_value(
				       json_object_get(vault, "revision"))
		       ? 0
		       : fail(task, 409, "REVISION_CONFLICT",
			      "the vault has another revision");
}

static int patch(struct egress_task *task, struct egress_model *model)
{
	const json_t *of = json_object_get(task->body, "credentials");
	const json_t *to = json_object_get(task->body, "bindings");
	json_t *vault = model->vault;

	if (!has_vault(task, model) || check_change(task, vault) < 0)
		return -1;
	if (each_name(task, vault, json_object_get(to, "delete"),
		      remove_binding) < 0 ||
	    each(task, vault, json_object_get(of, "replace"),
		 replace_credential) < 0 ||
	    each_name(task, vault, json_object_get(of, "delete"),
		      remove_credential) < 0 ||
	    each(task, vault, json_object_get(of, "add"), add_credential) < 0 ||
	    each(task, vault, json_object_get(to, "replace"), replace_binding) <
		    0 ||
	    each(task, vault, json_object_get(to, "add"), add_binding) < 0)
		return -1;
	return finish(task, model);
}

static int drop(struct egress_task *task, struct egress_model *model)
{
	const json_t *item;
	size_t i;

	if (!has_vault(task, model))
		return -1;
	json_array_foreach(json_object_get(model->vault, "credentials"), i,
			   item)
	{
		(void)egress_lend(task, text_of(item, "secret"),
				  bytes_from(NULL, 0));
	}
	json_decref(model->vault);
	model->vault = NULL;
	return 0;
}

/* ---- routes ---- */

static void begin(struct exchange *exchange, egress_edit_fn *edit)
{
	json_t *body = exchange_json(exchange);

	if (body && !json_is_object(body)) {
		json_decref(body);
		exchange_fail(exchange, 400, "INVALID_REQUEST",
			      "an object is wanted");
	} else if (body) {
		egress_begin(exchange, edit, tell_vault, body);
	}
}

static void handle_create(struct exchange *exchange)
{
	begin(exchange, create);
}

static void handle_patch(struct exchange *exchange)
{
	begin(exchange, patch);
}

static void handle_show(struct exchange *exchange)
{
	egress_begin(exchange, NULL, tell_vault, NULL);
}

static void handle_drop(struct exchange *exchange)
{
	egress_begin(exchange, drop, tell_gone, NULL);
}

static void handle_credentials(struct exchange *exchange)
{
	egress_begin(exchange, NULL, tell_credentials, NULL);
}

static void handle_bindings(struct exchange *exchange)
{
	egress_begin(exchange, NULL, tell_bindings, NULL);
}

const struct route egress_vault_routes[] = {
	{"POST", "/credential-vault", ROUTE_TOKEN, EGRESS_BODY_MAX, ROUTE_WHOLE,
	 handle_create},
	{"GET", "/credential-vault", ROUTE_TOKEN, 0, ROUTE_WHOLE, handle_show},
	{"PATCH", "/credential-vault", ROUTE_TOKEN, EGRESS_BODY_MAX,
	 ROUTE_WHOLE, handle_patch},
	{"DELETE", "/credential-vault", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 handle_drop},
	{"GET", "/credential-vault/credentials", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 handle_credentials},
	{"GET", "/credential-vault/credentials/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 handle_credentials},
	{"GET", "/credential-vault/bindings", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 handle_bindings},
	{"GET", "/credential-vault/bindings/{}", ROUTE_TOKEN, 0, ROUTE_WHOLE,
	 handle_bindings},
	{0},
};
