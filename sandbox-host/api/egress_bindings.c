/*
 * A binding of the credential vault: which requests, which credential, in
 * which form; and what it is in a policy. What our policies can not say is
 * refused, with why.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "policies/placeholder.h"
#include "policies/policy_credential.h"
#include "sandbox-host/api/egress.h"

#define LIST_MAX       64
#define MATCH_TEXT_MAX 500 /* bytes of a path */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static const json_t *match_of(const json_t *binding, const char *key)
{
	return json_object_get(json_object_get(binding, "match"), key);
}

static bool is_list_of_texts(const json_t *list)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > LIST_MAX)
		return false;
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item) || json_string_length(item) == 0 ||
		    json_string_length(item) > MATCH_TEXT_MAX)
			return false;
	}
	return true;
}

/* What is not known would narrow it, and is not left out. */
static bool is_match_known(const json_t *binding)
{
	static const char *const keys[] = {"schemes", "hosts", "methods",
					   "paths", "ports"};
	size_t known = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		known += match_of(binding, keys[i]) != NULL;
	return json_object_size(json_object_get(binding, "match")) == known;
}

static bool is_only(const json_t *list, const char *text)
{
	return !list ||
	       (json_array_size(list) == 1 &&
		!strcmp(json_string_value(json_array_get(list, 0))
				? json_string_value(json_array_get(list, 0))
				: "",
			text));
}

/* ---- auth ---- */

/* The field that holds it, with its credential; where its placeholder stands,
 * with what that is (empty: it has none). */
struct auth {
	const char *kind, *field, *credential, *placeholder;
	const json_t *in;
};

static bool is_passthrough(const struct auth *auth)
{
	return !strcmp(auth->kind, "passthrough");
}

static bool is_place(const json_t *place)
{
	static const char *const places[] = {"path", "query", "header", "body"};
	const char *text = json_string_value(place);

	for (size_t i = 0; text && i < ARRAY_SIZE(places); i++)
		if (!strcmp(text, places[i]))
			return true;
	return false;
}

static const char *places_fault(const json_t *in)
{
	const json_t *place;
	size_t i;

	json_array_foreach(in, i, place)
	{
		if (!is_place(place))
			return "a substitution is in path, query, header and "
			       "body alone";
	}
	return json_array_size(in) ? NULL : "a substitution says in what";
}

/* A request carries one credential, which one text stands for. */
static const char *read_substitution(const json_t *from, struct auth *auth)
{
	const json_t *all = json_object_get(from, "substitutions");
	const json_t *one = json_array_get(all, 0);
	const char *credential = text_of(one, "credential");
	const char *fault;

	if (!all || json_is_null(all) ||
	    (json_is_array(all) && json_array_size(all) == 0))
		return NULL;
	if (json_array_size(all) != 1)
		return "substitutions: one for a binding";
	if (json_object_size(one) != 3 || !*credential)
		return "a substitution is {credential, placeholder, in}";
	if (!is_passthrough(auth) && strcmp(credential, auth->credential) != 0)
		return "a substitution is of the credential of auth: a "
		       "request carries one";
	auth->credential = credential;
	auth->placeholder = text_of(one, "placeholder");
	auth->in = json_object_get(one, "in");
	fault = placeholder_text_fault(bytes_str(auth->placeholder));
	return fault ? fault : places_fault(auth->in);
}

/* NULL, or what is wrong with how it is added. */
static const char *read_kind(const json_t *from, struct auth *auth)
{
	const json_t *headers = json_object_get(from, "headers");

	if (!strcmp(auth->kind, "customHeaders")) {
		if (json_array_size(headers) != 1)
			return "customHeaders: one header for a binding";
		auth->field = text_of(json_array_get(headers, 0), "name");
		auth->credential =
			text_of(json_array_get(headers, 0), "credential");
	} else if (!strcmp(auth->kind, "basic")) {
		auth->field = "Authorization";
	} else if (!strcmp(auth->kind, "apiKey")) {
		auth->field = text_of(from, "name");
	} else if (strcmp(auth->kind, "bearer") != 0) {
		return "auth is bearer, basic, apiKey, customHeaders or "
		       "passthrough";
	}
	if (!*auth->credential)
		return "auth names no credential";
	if (strcmp(auth->kind, "bearer") != 0 && !*auth->field)
		return "auth names no header";
	return *auth->field && strcmp(auth->kind, "basic") != 0
		       ? credential_header_fault(bytes_str(auth->field))
		       : NULL;
}

/* The binding's auth; NULL, or what is wrong with it. */
static const char *read_auth(const json_t *binding, struct auth *auth)
{
	const json_t *from = json_object_get(binding, "auth");
	const char *fault = NULL;

	*auth = (struct auth){
		.kind = text_of(from, "type"),
		.field = "",
		.credential = "",
		.placeholder = "",
	};
	if (!is_passthrough(auth)) {
		auth->credential = text_of(from, "credential");
		fault = read_kind(from, auth);
	}
	return fault ? fault : read_substitution(from, auth);
}

/* ---- one binding ---- */

static bool has_credential(const json_t *vault, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(vault, "credentials"), i, item)
	{
		if (!strcmp(text_of(item, "name"), name))
			return true;
	}
	return false;
}

static const char *check_match(const struct egress_model *model,
			       const json_t *binding)
{
	const json_t *hosts = match_of(binding, "hosts");
	const json_t *host;
	size_t i;

	if (!is_match_known(binding))
		return "match has schemes, hosts, methods, paths and ports";
	if (!is_list_of_texts(hosts))
		return "match.hosts is a list of hosts";
	if (!is_only(match_of(binding, "schemes"), "https"))
		return "match.schemes: credentials go over https alone";
	if (match_of(binding, "ports") &&
	    (json_array_size(match_of(binding, "ports")) != 1 ||
	     json_integer_value(
		     json_array_get(match_of(binding, "ports"), 0)) != 443))
		return "match.ports: credentials go to port 443 alone";
	if ((match_of(binding, "methods") &&
	     !is_list_of_texts(match_of(binding, "methods"))) ||
	    (match_of(binding, "paths") &&
	     !is_list_of_texts(match_of(binding, "paths"))))
		return "match.methods and match.paths are lists of texts";
	json_array_foreach(hosts, i, host)
	{
		int at = egress_model_rule_for(model, json_string_value(host));

		if (egress_target_fault(json_string_value(host)))
			return "match.hosts: a host is a name, or *.name";
		if (at < 0 ||
		    strcmp(text_of(json_array_get(model->rules, (size_t)at),
				   "action"),
			   "allow") != 0)
			return "a binding's host has no allow rule of its own";
	}
	return NULL;
}

static const char *check_binding(const struct egress_model *model,
				 const json_t *binding)
{
	struct auth auth;
	const char *fault = read_auth(binding, &auth);

	if (json_object_get(binding, "substitutions"))
		return "substitutions are a part of auth";
	if (!fault && *auth.credential &&
	    !has_credential(model->vault, auth.credential))
		fault = "auth names a credential that is not there";
	return fault ? fault : check_match(model, binding);
}

/* ---- two bindings ---- */

static bool meet_hosts(const char *one, const char *other)
{
	size_t one_len = strlen(one), other_len = strlen(other);

	if (!strcasecmp(one, other))
		return true;
	if (one[0] == '*' && other_len >= one_len &&
	    !strcasecmp(other + other_len - (one_len - 1), one + 1))
		return true;
	return other[0] == '*' && one_len >= other_len &&
	       !strcasecmp(one + one_len - (other_len - 1), other + 1);
}

/* By what stands before the first star: when in doubt, they do. */
static bool meet_paths(const char *one, const char *other)
{
	size_t one_len = strcspn(one, "*"), other_len = strcspn(other, "*");
	size_t len = one_len < other_len ? one_len : other_len;

	if (one[one_len] == '\0' && other[other_len] == '\0')
		return !strcmp(one, other);
	return !strncmp(one, other, len);
}

static bool meet_texts(const char *one, const char *other)
{
	return !strcasecmp(one, other);
}

/* A list that is not there is everything. */
static bool meet(const json_t *one, const json_t *other,
		 bool (*meets)(const char *, const char *))
{
	const json_t *a, *b;
	size_t i, j;

	if (!one || !other)
		return true;
	json_array_foreach(one, i, a)
	{
		json_array_foreach(other, j, b)
		{
			if (meets(json_string_value(a), json_string_value(b)))
				return true;
		}
	}
	return false;
}

static bool is_ambiguous(const json_t *one, const json_t *other)
{
	return !strcmp(text_of(one, "name"), text_of(other, "name")) ||
	       (meet(match_of(one, "hosts"), match_of(other, "hosts"),
		     meet_hosts) &&
		meet(match_of(one, "methods"), match_of(other, "methods"),
		     meet_texts) &&
		meet(match_of(one, "paths"), match_of(other, "paths"),
		     meet_paths));
}

const char *egress_vault_fault(struct arena *arena,
			       const struct egress_model *model)
{
	const json_t *bindings = json_object_get(model->vault, "bindings");
	const json_t *binding;
	const char *fault;
	size_t i;

	if (json_array_size(bindings) > EGRESS_BINDINGS_MAX)
		return "there are too many bindings";
	json_array_foreach(bindings, i, binding)
	{
		fault = check_binding(model, binding);
		for (size_t j = 0; !fault && j < i; j++)
			if (is_ambiguous(binding, json_array_get(bindings, j)))
				fault = "another binding is for some of the "
					"same requests";
		if (fault)
			return arena_format(arena, "binding %s: %s",
					    text_of(binding, "name"), fault);
	}
	return NULL;
}

/* ---- as a policy ---- */

/* "/v1/" and a star, at the end, is all that is below. */
static json_t *paths_of(const json_t *binding)
{
	json_t *paths = json_array();
	const json_t *path;
	char text[MATCH_TEXT_MAX + sizeof("*")];
	size_t i;

	json_array_foreach(match_of(binding, "paths"), i, path)
	{
		size_t len = json_string_length(path);
		bool is_open = len >= 2 &&
			       !strcmp(json_string_value(path) + len - 2, "/*");

		(void)snprintf(text, sizeof(text), "%s%s",
			       json_string_value(path), is_open ? "*" : "");
		(void)json_array_append_new(paths, json_string(text));
	}
	if (json_array_size(paths) == 0)
		(void)json_array_append_new(paths, json_string("/**"));
	return paths;
}

static const char *secret_of(const json_t *vault, const char *credential)
{
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(vault, "credentials"), i, item)
	{
		if (!strcmp(text_of(item, "name"), credential))
			return text_of(item, "secret");
	}
	return "";
}

/* A header is looked at as it is, and as the user and password of Basic. */
static json_t *placeholder_of(const struct auth *auth)
{
	json_t *in = json_array();
	const json_t *place;
	size_t i;

	json_array_foreach(auth->in, i, place)
	{
		(void)json_array_append(in, (json_t *)(uintptr_t)place);
		if (!strcmp(json_string_value(place), "header"))
			(void)json_array_append_new(in, json_string("basic"));
	}
	return json_pack("{s:s, s:o}", "text", auth->placeholder, "in", in);
}

static json_t *policy_credential(const json_t *vault, const json_t *binding,
				 const struct auth *auth, size_t number)
{
	char name[32], secret[EGRESS_NAME_MAX + sizeof(POLICY_LENT)];
	const char *attach = is_passthrough(auth) ? "placeholder"
			     : *auth->field	  ? "header"
						  : "bearer";
	json_t *made;

	(void)snprintf(name, sizeof(name), "b%zu", number);
	(void)snprintf(secret, sizeof(secret), POLICY_LENT "%s",
		       secret_of(vault, auth->credential));
	made = json_pack("{s:s, s:s, s:O, s:s}", "name", name, "secret", secret,
			 "hosts", match_of(binding, "hosts"), "attach", attach);
	if (*auth->field)
		(void)json_object_set_new(
			made, "header",
			json_pack("{s:s, s:s}", "name", auth->field, "format",
				  strcmp(auth->kind, "basic") != 0
					  ? "%s"
					  : "Basic %s"));
	if (*auth->placeholder)
		(void)json_object_set_new(made, "placeholder",
					  placeholder_of(auth));
	return made;
}

json_t *egress_policy_credentials(const json_t *vault)
{
	json_t *list = json_array();
	const json_t *binding;
	struct auth auth;
	size_t i;

	json_array_foreach(json_object_get(vault, "bindings"), i, binding)
	{
		if (!read_auth(binding, &auth) && *auth.credential)
			(void)json_array_append_new(
				list,
				policy_credential(vault, binding, &auth, i));
	}
	return list;
}

int egress_policy_rules(const struct egress_model *model, int at, json_t *rules)
{
	const json_t *binding, *host;
	struct auth auth;
	char name[32];
	size_t i, j;

	json_array_foreach(json_object_get(model->vault, "bindings"), i,
			   binding)
	{
		json_array_foreach(match_of(binding, "hosts"), j, host)
		{
			json_t *rule;

			if (egress_model_rule_for(
				    model, json_string_value(host)) != at)
				continue;
			(void)snprintf(name, sizeof(name), "b%zu", i);
			rule = json_pack("{s:[O], s:[i], s:o, s:s}", "hosts",
					 host, "ports", 443, "paths",
					 paths_of(binding), "action", "allow");
			if (match_of(binding, "methods"))
				(void)json_object_set(
					rule, "methods",
					(json_t *)(uintptr_t)match_of(
						binding, "methods"));
			if (!read_auth(binding, &auth) && *auth.credential)
				(void)json_object_set_new(rule, "credential",
							  json_string(name));
			if (json_array_append_new(rules, rule) < 0)
				return -1;
		}
	}
	return 0;
}
