#include "sandbox-host/session/denials.h"

#include <stdio.h>
#include <string.h>

#include "common/plain.h"
#include "policies/remedy.h"
#include "sandbox-host/session/client.h"

static bool is_of_told(struct told *told, const json_t *row)
{
	const char *host = json_text(row, "host");
	const char *constraint = json_text(row, "constraint");
	const char *activity = json_text(row, "activity");

	if (strcmp(activity, "connection") != 0 &&
	    strcmp(activity, "push") != 0)
		return !strcmp(told->host, host) &&
		       !strcmp(told->constraint, constraint);
	(void)snprintf(told->host, sizeof(told->host), "%s", host);
	(void)snprintf(told->constraint, sizeof(told->constraint), "%s",
		       constraint);
	return false;
}

static bool was_told(struct told *told, const char *line)
{
	uint64_t digest = 14695981039346656037ull; /* FNV-1a */

	for (const char *at = line; *at; at++)
		digest = (digest ^ (uint8_t)*at) * 1099511628211ull;
	for (size_t i = 0; i < DENIALS_REMEMBERED; i++)
		if (told->lines[i] == digest)
			return true;
	told->lines[told->next] = digest;
	told->next = (told->next + 1) % DENIALS_REMEMBERED;
	return false;
}

/* What was wanted, in words. */
static void describe(const json_t *row, char *out, size_t size)
{
	const char *activity = json_text(row, "activity");
	const char *method = json_text(row, "method");
	const char *host = json_text(row, "host");
	const char *path = json_text(row, "path");
	json_int_t port = json_integer_value(json_object_get(row, "port"));
	json_int_t count = json_integer_value(json_object_get(row, "count"));

	if (count > 0)
		(void)snprintf(out, size,
			       "%" JSON_INTEGER_FORMAT " more of kind %s",
			       count, activity);
	else if (!strcmp(activity, "push"))
		(void)snprintf(out, size, "push to %s of %s (%s)", path, host,
			       method);
	else if (!strcmp(activity, "dns"))
		(void)snprintf(out, size, "look-up of %s", host);
	else if (!strcmp(activity, "connection") && port)
		(void)snprintf(out, size,
			       "connection to %s:%" JSON_INTEGER_FORMAT, host,
			       port);
	else
		(void)snprintf(out, size, "%s %s%s",
			       method[0] ? method : activity, host, path);
}

void denials_line(const json_t *row, char *out, size_t size)
{
	char what[DENIALS_LINE_BYTES / 2];
	const char *detail = json_text(row, "detail");

	describe(row, what, sizeof(what));
	(void)snprintf(out, size, "sallyport: denied %s: %s (rule %s)%s%s",
		       what, json_text(row, "constraint"),
		       json_text(row, "rule"), detail[0] ? ": " : "", detail);
	plain_text(out);
}

void denials_wanted_line(struct bytes id, struct bytes what, char *out,
			 size_t size)
{
	(void)snprintf(out, size,
		       "sallyport: approval %.*s wanted for %.*s: "
		       "sallyport approval approve %.*s",
		       BYTES_ARGS(id), BYTES_ARGS(what), BYTES_ARGS(id));
	plain_text(out);
}

static bool is_denied(const json_t *row)
{
	return json_is_false(json_object_get(row, "allowed"));
}

bool denials_are_known(const struct policy_strings *quiet, const json_t *row)
{
	char line[DENIALS_LINE_BYTES];

	if (!is_denied(row))
		return false;
	if (!strcmp(json_text(row, "activity"), "sandbox"))
		return quiet_covers(quiet, bytes_str(json_text(row, "detail")));
	denials_line(row, line, sizeof(line));
	return quiet_covers(quiet, bytes_str(line));
}

const char *denials_remedy(const json_t *row)
{
	const char *constraint = json_text(row, "constraint");

	if (!is_denied(row))
		return "";
	return remedy_of(constraint_from_name(bytes_str(constraint)),
			 bytes_str(json_text(row, "rule")));
}

bool denials_tell(struct told *told, const json_t *row, char *out, size_t size)
{
	const char *activity = json_text(row, "activity");

	if (!is_denied(row) || !strcmp(activity, "sandbox"))
		return false;
	if (!strcmp(activity, "approval")) {
		/* Who is refused says so itself. */
		if (strcmp(json_text(row, "constraint"), "approval_pending"))
			return false;
		denials_wanted_line(bytes_str(json_text(row, "approval")),
				    bytes_str(json_text(row, "detail")), out,
				    size);
	} else {
		if (is_of_told(told, row))
			return false;
		denials_line(row, out, size);
	}
	return !was_told(told, out);
}
