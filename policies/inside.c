#include "policies/inside.h"

static bool same_strings(const struct policy_strings *a,
			 const struct policy_strings *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!bytes_equal(a->items[i], b->items[i]))
			return false;
	return true;
}

static bool same_filesystem(const struct policy_filesystem *a,
			    const struct policy_filesystem *b)
{
	return bytes_equal(a->workspace, b->workspace) &&
	       a->workspace_mode == b->workspace_mode &&
	       a->has_read == b->has_read && same_strings(&a->read, &b->read) &&
	       same_strings(&a->write, &b->write) &&
	       same_strings(&a->hide, &b->hide) &&
	       same_strings(&a->protect, &b->protect) &&
	       same_strings(&a->ignore_files, &b->ignore_files);
}

static bool same_limits(const struct policy_limits *a,
			const struct policy_limits *b)
{
	return a->memory_bytes == b->memory_bytes &&
	       a->processes == b->processes && a->time_ms == b->time_ms &&
	       a->cpu_milli == b->cpu_milli && a->disk_bytes == b->disk_bytes &&
	       a->files == b->files;
}

static bool same_require(const struct policy_require *a,
			 const struct policy_require *b)
{
	return a->landlock == b->landlock && a->memory == b->memory &&
	       a->processes == b->processes && a->cpu == b->cpu &&
	       a->disk == b->disk && a->freezer == b->freezer;
}

static bool same_environment(const struct policy_environment *a,
			     const struct policy_environment *b)
{
	if (!same_strings(&a->pass, &b->pass) || a->set_count != b->set_count)
		return false;
	for (size_t i = 0; i < a->set_count; i++)
		if (!bytes_equal(a->set[i].name, b->set[i].name) ||
		    !bytes_equal(a->set[i].value, b->set[i].value))
			return false;
	return true;
}

static bool same_entries(const struct command_entries *a,
			 const struct command_entries *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (!bytes_equal(a->items[i].text, b->items[i].text))
			return false;
	return true;
}

static bool same_commands(const struct policy_commands *a,
			  const struct policy_commands *b)
{
	return a->is_set == b->is_set && a->autonomy == b->autonomy &&
	       a->actions == b->actions && a->actions_ms == b->actions_ms &&
	       a->hold_ms == b->hold_ms && same_entries(&a->allow, &b->allow) &&
	       same_entries(&a->deny, &b->deny);
}

static bool same_sign(const struct policy_sign *a, const struct policy_sign *b)
{
	return a->is_on == b->is_on && bytes_equal(a->secret, b->secret) &&
	       bytes_equal(a->name, b->name) && bytes_equal(a->email, b->email);
}

/* The credential whose placeholder the i-th variable of one holds, is it in
 * the other policy too, in the same place? A place is a part of it. */
static bool holds_too(const struct policy *policy,
		      const struct policy_credential *one, size_t i)
{
	for (size_t j = 0; j < policy->credential_count; j++) {
		const struct policy_credential *other = &policy->credentials[j];

		if (bytes_equal(other->name, one->name))
			return other->shape == one->shape &&
			       other->placeholder_env.count > i &&
			       bytes_equal(other->placeholder_env.items[i],
					   one->placeholder_env.items[i]);
	}
	return false;
}

static bool same_placeholders(const struct policy *from,
			      const struct policy *to)
{
	for (size_t i = 0; i < to->credential_count; i++) {
		const struct policy_credential *one = &to->credentials[i];

		for (size_t j = 0; j < one->placeholder_env.count; j++)
			if (!holds_too(from, one, j))
				return false;
	}
	return true;
}

const char *policy_inside_differs(const struct policy *from,
				  const struct policy *to)
{
	if (!same_filesystem(&from->filesystem, &to->filesystem))
		return "filesystem";
	if (!same_environment(&from->environment, &to->environment))
		return "environment";
	if (!same_limits(&from->limits, &to->limits))
		return "limits";
	if (!same_require(&from->require, &to->require))
		return "require";
	if (!same_commands(&from->commands, &to->commands))
		return "commands";
	if (!same_sign(&from->sign, &to->sign))
		return "git.push.sign";
	if (!same_placeholders(from, to))
		return "credentials.placeholder";
	return NULL;
}
