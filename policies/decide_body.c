/*
 * A rule's body against what the inspection read of it.
 */
#include "policies/decide_body.h"

#include <stdio.h>

#include "policies/inspect/inspection.h"
#include "policies/pattern.h"
#include "policies/spelling.h"

#define TOKEN_MAX 4096 /* of a pointer: as long as a word of a policy */

/* ---- one place of a JSON text ---- */

/* RFC 6901 3: the next token of a pointer, unescaped. */
static struct bytes next_token(struct bytes *pointer, char out[TOKEN_MAX])
{
	struct bytes token;
	size_t len = 0;

	*pointer = bytes_slice(*pointer, 1, pointer->len);
	token = *pointer;
	while (token.len && token.data[0] != '/' && len < TOKEN_MAX) {
		bool is_escape = token.data[0] == '~' && token.len > 1;
		char c = (char)token.data[0];

		if (is_escape)
			c = token.data[1] == '1' ? '/' : '~';
		out[len++] = c;
		token = bytes_slice(token, is_escape ? 2 : 1, token.len);
	}
	*pointer = token;
	return bytes_from(out, len);
}

/* Another spelling of a key spoils what is found here. */
static json_t *member(json_t *object, struct bytes token, bool *is_spoiled)
{
	json_t *found = NULL;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (bytes_is(token, key))
			found = value;
		else if (spelling_matches(SPELLING_KEY, bytes_str(key), token))
			*is_spoiled = true;
	}
	return found;
}

/* Some servers take a list where one thing is meant, and do the same with each
 * (batches): where a name is asked for, what is in one is not known. */
static json_t *element(const json_t *array, struct bytes token,
		       bool *is_spoiled)
{
	uint64_t index;

	if (bytes_to_u64(token, 9, &index) ||
	    (token.len > 1 && token.data[0] == '0')) {
		*is_spoiled |= json_array_size(array) > 0;
		return NULL;
	}
	return json_array_get(array, (size_t)index);
}

static json_t *value_at(json_t *value, struct bytes pointer, bool *is_spoiled)
{
	char token[TOKEN_MAX];

	while (value && pointer.len) {
		struct bytes name = next_token(&pointer, token);

		if (json_is_object(value))
			value = member(value, name, is_spoiled);
		else
			value = json_is_array(value)
					? element(value, name, is_spoiled)
					: NULL;
	}
	return value;
}

/* ---- its value ---- */

static struct bytes string_of(const json_t *value)
{
	return bytes_from(json_string_value(value), json_string_length(value));
}

static bool is_same_number(const json_t *value, struct bytes text)
{
	json_t *number = json_loadb((const char *)text.data, text.len,
				    JSON_DECODE_ANY, NULL);
	bool is_same;

	if (json_is_integer(value) && json_is_integer(number))
		is_same =
			json_integer_value(value) == json_integer_value(number);
	else
		is_same = number && !(json_number_value(value) <
					      json_number_value(number) ||
				      json_number_value(value) >
					      json_number_value(number));
	json_decref(number);
	return is_same;
}

/* text: as policy_rule.h has it. */
static bool equals(const json_t *value, struct bytes text)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return text.data[0] == '"' &&
		       bytes_equal(string_of(value),
				   bytes_slice(text, 1, text.len - 1));
	case JSON_INTEGER:
	case JSON_REAL:
		return (text.data[0] == '-' ||
			(text.data[0] >= '0' && text.data[0] <= '9')) &&
		       is_same_number(value, text);
	case JSON_TRUE:
		return bytes_is(text, "true");
	case JSON_FALSE:
		return bytes_is(text, "false");
	case JSON_NULL:
		return bytes_is(text, "null");
	case JSON_OBJECT:
	case JSON_ARRAY:
		break;
	}
	return false;
}

static enum holds string_holds(const struct pattern *pattern,
			       struct bytes string)
{
	switch (pattern_ask(pattern, string)) {
	case PATTERN_MATCHES:
		return HOLDS;
	case PATTERN_UNSURE:
		return HOLDS_PARTLY;
	case PATTERN_DIFFERS:
		break;
	}
	return HOLDS_NOT;
}

static enum holds one_holds(const struct policy_json *json, const json_t *value)
{
	if (json->test == JSON_MATCHES)
		return json_is_string(value)
			       ? string_holds(json->pattern, string_of(value))
			       : HOLDS_NOT;
	for (size_t i = 0; i < json->values.count; i++)
		if (equals(value, json->values.items[i]))
			return HOLDS;
	return HOLDS_NOT;
}

/* One of a list's values is a sign, and no more; so are lists in it, and more
 * than can be asked in time. */
static enum holds value_holds(const struct policy_json *json,
			      const json_t *value)
{
	if (!json_is_array(value))
		return one_holds(json, value);
	if (json_array_size(value) > INSPECT_FIELDS_MAX)
		return HOLDS_PARTLY;
	for (size_t i = 0; i < json_array_size(value); i++) {
		const json_t *item = json_array_get(value, i);

		if (json_is_array(item) || one_holds(json, item) != HOLDS_NOT)
			return HOLDS_PARTLY;
	}
	return HOLDS_NOT;
}

static enum holds entry_holds(const struct policy_json *json, json_t *root)
{
	bool is_spoiled = false;
	json_t *value = value_at(root, json->pointer, &is_spoiled);

	if (is_spoiled)
		return HOLDS_PARTLY;
	if (json->test == JSON_ABSENT)
		return value ? HOLDS_NOT : HOLDS;
	return value ? value_holds(json, value) : HOLDS_NOT;
}

/* ---- the parts of a body ---- */

/* What cannot be read may hold anything; an empty body holds nothing. */
static bool meet_unreadable(struct meeting *meeting,
			    const struct policy_rule *rule,
			    struct hearing *hearing)
{
	struct inspection *body = hearing->facts->body;

	if (inspection_content(body).len == 0) {
		hearing->differs = bytes_str("there is none");
		return meeting_add(meeting, rule, RULE_BODY, HOLDS_NOT);
	}
	hearing->differs = bytes_str(inspection_fault(body));
	return meeting_add(meeting, rule, RULE_BODY_UNREADABLE, HOLDS_PARTLY);
}

/* Some servers read a body and the URL's query as one (servlets and PHP a
 * form, Rails and Grape JSON as well): a name that stands in the query too, and
 * that the rule's own query does not speak of, may have any value. */
static bool is_in_query(const struct policy_rule *rule, struct hearing *hearing,
			struct bytes name)
{
	const struct fields *query;

	for (size_t i = 0; i < rule->query.count; i++)
		if (bytes_equal(rule->query.items[i].name, name))
			return false;
	query = hearing_query(hearing);
	for (size_t i = 0; query && i < query->count; i++)
		if (spelling_matches(SPELLING_PARAMETER, query->items[i].name,
				     name))
			return true;
	return !query;
}

/* What the pointer's first name says, where it is not the whole text. */
static enum holds entry_holds_alone(const struct policy_rule *rule,
				    struct hearing *hearing,
				    const struct policy_json *json,
				    json_t *root)
{
	struct bytes rest = json->pointer;
	char token[TOKEN_MAX];

	if (rest.len && is_in_query(rule, hearing, next_token(&rest, token)))
		return HOLDS_PARTLY;
	return entry_holds(json, root);
}

static bool meet_json(struct meeting *meeting, const struct policy_rule *rule,
		      struct hearing *hearing)
{
	const struct policy_body *asked = rule->body;
	enum holds all = HOLDS;
	json_t *root;

	if (asked->json_count == 0)
		return true;
	root = inspection_json(hearing->facts->body);
	if (!root)
		return meet_unreadable(meeting, rule, hearing);
	for (size_t i = 0; i < asked->json_count && all != HOLDS_NOT; i++) {
		enum holds one =
			entry_holds_alone(rule, hearing, &asked->json[i], root);

		if (one != HOLDS)
			hearing->differs = asked->json[i].pointer;
		all = holds_both(all, one);
	}
	return meeting_add(meeting, rule, RULE_BODY, all);
}

/* What servers take for a file they do not take for the field of its name:
 * to them there may be none. */
static bool is_file(struct hearing *hearing, struct bytes name)
{
	const struct fields *files = inspection_files(hearing->facts->body);

	for (size_t i = 0; files && i < files->count; i++)
		if (spelling_matches(SPELLING_PARAMETER, files->items[i].name,
				     name))
			return true;
	return false;
}

/* fields: NULL when there are none. */
static enum holds form_holds(const struct policy_rule *rule,
			     struct hearing *hearing,
			     const struct policy_matches *matches,
			     const struct fields *fields)
{
	enum holds all = HOLDS;

	for (size_t i = 0; i < matches->count && all != HOLDS_NOT; i++) {
		const struct policy_matches one = {&matches->items[i], 1};
		enum holds held;

		if (is_in_query(rule, hearing, matches->items[i].name)) {
			hearing->differs = matches->items[i].name;
			held = HOLDS_PARTLY;
		} else {
			held = fields_hold(hearing, &one, fields, false);
		}
		if (held == HOLDS && matches == &rule->body->multipart &&
		    is_file(hearing, one.items->name)) {
			hearing->differs = one.items->name;
			held = HOLDS_PARTLY;
		}
		all = holds_both(all, held);
	}
	return all;
}

static bool meet_fields(struct meeting *meeting, const struct policy_rule *rule,
			struct hearing *hearing,
			const struct policy_matches *matches,
			const struct fields *(*read)(struct inspection *))
{
	struct inspection *body = hearing->facts->body;
	const struct fields *fields;

	if (matches->count == 0)
		return true;
	fields = read(body);
	if (!fields && inspection_content(body).len)
		return meet_unreadable(meeting, rule, hearing);
	return meeting_add(meeting, rule, RULE_BODY,
			   form_holds(rule, hearing, matches, fields));
}

static bool meet_secrets(struct meeting *meeting,
			 const struct policy_rule *rule,
			 struct hearing *hearing)
{
	struct inspection *body = hearing->facts->body;
	bool is_denial = rule->action == POLICY_DENY;
	const char *secret;
	enum holds holds;

	if (!rule->body->deny_secrets)
		return true;
	secret = inspection_secret(body);
	if (!secret && *inspection_fault(body)) {
		hearing->differs = bytes_str(inspection_fault(body));
		return meeting_add(meeting, rule, RULE_BODY_UNREADABLE,
				   HOLDS_PARTLY);
	}
	/* Who denies waits for one; who asks is not for what has one. */
	if (is_denial)
		holds = secret ? HOLDS : HOLDS_NOT;
	else
		holds = secret ? HOLDS_PARTLY : HOLDS;
	if (secret)
		hearing->differs = bytes_str(secret);
	return meeting_add(meeting, rule, RULE_SECRET, holds);
}

static bool fits(const struct policy_rule *rule,
		 const struct request_facts *facts)
{
	return facts->body_bytes <= rule->body->max &&
	       inspection_content(facts->body).len <= rule->body->max;
}

void meet_body(struct meeting *meeting, const struct policy_rule *rule,
	       struct hearing *hearing)
{
	if (!hearing->facts->body) {
		*meeting = (struct meeting){.stage = RULE_LOOK};
		return;
	}
	/* A body that is too large is not looked into by this rule. */
	if (!fits(rule, hearing->facts)) {
		(void)meeting_add(meeting, rule, RULE_BODY_TOO_LARGE,
				  HOLDS_PARTLY);
		return;
	}
	(void)(meet_json(meeting, rule, hearing) &&
	       meet_fields(meeting, rule, hearing, &rule->body->form,
			   inspection_form) &&
	       meet_fields(meeting, rule, hearing, &rule->body->multipart,
			   inspection_multipart) &&
	       meet_graphql(meeting, rule, hearing) &&
	       meet_secrets(meeting, rule, hearing));
}
