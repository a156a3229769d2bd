#include <stdarg.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "sandbox-host/api/egress.h"
#include "sandbox-host/api/spec.h"

#define LABEL_MAX    63
#define PREFIX_MAX   64
#define RESERVED     "opensandbox.io/"
#define DIGITS_MAX   15
#define THOUSAND     1000
#define POLICY_NAME  "opensandbox"
#define RULE_MEMBERS 2

int spec_refuse(struct spec_fault *fault, unsigned status, const char *format,
		...)
{
	va_list args;

	fault->status = status;
	va_start(args, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -1;
}

/* ---- quantities ---- */

static uint64_t factor_of(struct bytes unit)
{
	static const struct {
		const char *unit;
		uint64_t factor;
	} units[] = {
		{"", 1000},
		{"m", 1},
		{"k", 1000ull * THOUSAND},
		{"K", 1000ull * THOUSAND},
		{"M", 1000000ull * THOUSAND},
		{"G", 1000000000ull * THOUSAND},
		{"T", 1000000000000ull * THOUSAND},
		{"Ki", 1024ull * THOUSAND},
		{"Mi", 1024ull * 1024 * THOUSAND},
		{"Gi", 1024ull * 1024 * 1024 * THOUSAND},
		{"Ti", 1024ull * 1024 * 1024 * 1024 * THOUSAND},
	};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (bytes_is(unit, units[i].unit))
			return units[i].factor;
	return 0;
}

static size_t digits_of(struct bytes text)
{
	size_t len = 0;

	while (len < text.len && text.data[len] >= '0' && text.data[len] <= '9')
		len++;
	return len;
}

/* Up to three digits after the point. */
static int read_fraction(struct bytes *text, uint64_t *thousandths)
{
	size_t digits;

	*thousandths = 0;
	if (text->len == 0 || text->data[0] != '.')
		return 0;
	*text = bytes_slice(*text, 1, text->len);
	digits = digits_of(*text);
	if (digits == 0 || digits > 3)
		return -1;
	for (size_t i = 0; i < 3; i++)
		*thousandths = *thousandths * 10 +
			       (i < digits ? text->data[i] - (uint64_t)'0' : 0);
	*text = bytes_slice(*text, digits, text->len);
	return 0;
}

int spec_quantity(struct bytes text, uint64_t *thousandths)
{
	size_t digits = digits_of(text);
	uint64_t whole, part, factor, value;

	if (bytes_to_u64(bytes_slice(text, 0, digits), DIGITS_MAX, &whole) < 0)
		return -1;
	text = bytes_slice(text, digits, text.len);
	if (read_fraction(&text, &part) < 0)
		return -1;
	factor = factor_of(text);
	if (factor == 0 || __builtin_mul_overflow(whole, factor, &value) ||
	    __builtin_add_overflow(value, part * (factor / THOUSAND), &value))
		return -1;
	*thousandths = value;
	return 0;
}

/* ---- labels ---- */

static bool is_alnum(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool is_label(struct bytes text)
{
	if (text.len == 0 || text.len > LABEL_MAX || !is_alnum(text.data[0]) ||
	    !is_alnum(text.data[text.len - 1]))
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!is_alnum(text.data[i]) && text.data[i] != '-' &&
		    text.data[i] != '_' && text.data[i] != '.')
			return false;
	return true;
}

int spec_label(struct bytes key, struct bytes value, struct spec_fault *fault)
{
	struct bytes name = key, prefix = {0};

	if (bytes_starts_with(key, bytes_str(RESERVED)))
		return spec_refuse(fault, 400,
				   "metadata: " RESERVED " is reserved");
	if (bytes_find(key, '/', 0) >= 0)
		(void)bytes_split(&name, '/', &prefix);
	if (!is_label(name) || prefix.len > PREFIX_MAX ||
	    (prefix.len > 0 && !is_label(prefix)) ||
	    (prefix.len == 0 && name.len != key.len))
		return spec_refuse(fault, 400,
				   "metadata: a key is [prefix/]name, of "
				   "letters, digits, '-', '_' and '.', at most "
				   "63 characters");
	if (value.len > 0 && !is_label(value))
		return spec_refuse(fault, 400,
				   "metadata: a value is of letters, digits, "
				   "'-', '_' and '.', at most 63 characters");
	return 0;
}

/* ---- networkPolicy ---- */

/* Whether the name is one that a rule may have is the policy's to say; here
 * only what could be read as something else is refused. */
static bool is_action(const char *text)
{
	return text && (!strcmp(text, "allow") || !strcmp(text, "deny"));
}

static int read_rule(const json_t *item, json_t *rules,
		     struct spec_fault *fault)
{
	const char *action = json_string_value(json_object_get(item, "action"));
	const char *target = json_string_value(json_object_get(item, "target"));
	const char *why;

	if (!is_action(action) || !target ||
	    json_object_size(item) != RULE_MEMBERS)
		return spec_refuse(fault, 422,
				   "networkPolicy.egress: a rule is "
				   "{action: allow|deny, target: ...}");
	/* Here it may stand as the last rule, in place of defaultAction. */
	why = strcmp(target, "*") != 0 ? egress_rule_fault(action, target)
				       : NULL;
	if (why)
		return spec_refuse(fault, 400, "networkPolicy.egress: %s", why);
	return json_array_append_new(rules,
				     egress_target_rule(target, action)) < 0
		       ? spec_refuse(fault, 500, "no memory")
		       : 0;
}

static int read_rules(const json_t *network, json_t *rules,
		      struct spec_fault *fault)
{
	const json_t *egress = json_object_get(network, "egress");
	const json_t *item;
	size_t i;

	if (egress && !json_is_null(egress) && !json_is_array(egress))
		return spec_refuse(fault, 422,
				   "networkPolicy.egress must be a list");
	if (json_array_size(egress) > SPEC_RULES_MAX)
		return spec_refuse(fault, 413,
				   "networkPolicy.egress: at most %d rules",
				   SPEC_RULES_MAX);
	json_array_foreach(egress, i, item)
	{
		if (read_rule(item, rules, fault) < 0)
			return -1;
	}
	return 0;
}

static int read_network(const json_t *network, json_t *rules,
			struct spec_fault *fault)
{
	const json_t *given = json_object_get(network, "defaultAction");
	const char *action = json_string_value(given);
	const char *key;
	json_t *value;

	if (!json_is_object(network))
		return spec_refuse(fault, 422,
				   "networkPolicy must be an object");
	json_object_foreach((json_t *)(uintptr_t)network, key, value)
	{
		if (strcmp(key, "defaultAction") && strcmp(key, "egress"))
			return spec_refuse(fault, 422,
					   "networkPolicy has defaultAction "
					   "and egress only");
	}
	if (given && !json_is_null(given) && !is_action(action))
		return spec_refuse(fault, 422,
				   "networkPolicy.defaultAction is allow or "
				   "deny");
	if (read_rules(network, rules, fault) < 0)
		return -1;
	if (action && !strcmp(action, "allow") &&
	    json_array_append_new(rules, egress_default_rule()) < 0)
		return spec_refuse(fault, 500, "no memory");
	return 0;
}

int spec_network(struct arena *arena, const json_t *network,
		 struct bytes *policy, struct spec_fault *fault)
{
	json_t *rules = json_array();
	json_t *root = NULL;
	char *text = NULL;
	int result = read_network(network, rules, fault);

	/* JSON is YAML, and leaves nothing to quoting. */
	if (result < 0) {
		json_decref(rules);
		return -1;
	}
	root = json_pack("{s:s, s:s, s:o}", "version", "1", "name", POLICY_NAME,
			 "network", egress_network(rules));
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	*policy =
		text ? arena_copy(arena, bytes_str(text)) : bytes_from(NULL, 0);
	free(text);
	return policy->len > 0 ? 0 : spec_refuse(fault, 500, "no memory");
}
