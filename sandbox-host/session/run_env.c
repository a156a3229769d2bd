#include "sandbox-host/session/run_env.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/environment.h"
#include "sandbox-host/session/client.h"
#include "sandbox-host/session/signing.h"

/* What a run sets itself, while it is collected. */
struct set {
	struct sandbox_variable *items;
	size_t count, size;
};

static void put(struct set *set, const char *name, const char *value)
{
	if (name && value && set->count < set->size)
		set->items[set->count++] =
			(struct sandbox_variable){name, value};
}

/* Once for each name, whatever the port: the URL for ssh has none. */
static size_t add_host(const char *hosts[RUN_GIT_HOSTS_MAX], size_t count,
		       const char *host)
{
	size_t len = strcspn(host, ":");

	for (size_t i = 0; i < count; i++)
		if (strcspn(hosts[i], ":") == len &&
		    !strncmp(hosts[i], host, len))
			return count;
	if (count < RUN_GIT_HOSTS_MAX)
		hosts[count++] = host;
	return count;
}

static size_t git_hosts(const struct policy *policy, struct arena *arena,
			const char *hosts[RUN_GIT_HOSTS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < policy->repo_count; i++) {
		const struct policy_repo *repo = &policy->repos[i];
		const char *host =
			repo->port == 443 ? arena_str(arena, repo->host)
					  : arena_format(arena, "%.*s:%u",
							 BYTES_ARGS(repo->host),
							 repo->port);

		if (host)
			count = add_host(hosts, count, host);
	}
	return add_host(hosts, count, "github.com");
}

/* git's settings in the environment, while they are numbered. */
struct git_settings {
	struct set *set;
	struct arena *arena;
	size_t count;
};

static void put_setting(struct git_settings *git, const char *key,
			const char *value)
{
	put(git->set,
	    arena_format(git->arena, "GIT_CONFIG_KEY_%zu", git->count), key);
	put(git->set,
	    arena_format(git->arena, "GIT_CONFIG_VALUE_%zu", git->count),
	    value);
	git->count++;
}

/* URLs that begin with `from` begin with https://host/ instead. */
static void put_instead(struct git_settings *git, const char *host,
			const char *from)
{
	put_setting(git,
		    arena_format(git->arena, "url.https://%s/.insteadOf", host),
		    from);
}

/* Signed without a thought: by whom the gateway signs for, and nobody
 * else. */
static void put_signing(struct git_settings *git, json_t *signing)
{
	const struct {
		const char *key, *value;
	} settings[] = {
		{"user.name", json_text(signing, "name")},
		{"user.email", json_text(signing, "email")},
		{"user.signingKey", SANDBOX_FILES "/" SIGNING_KEY},
		{"gpg.format", "ssh"},
		{"gpg.ssh.program", SANDBOX_FILES "/" SIGNING_PROGRAM},
		{"commit.gpgSign", "true"},
		{"tag.gpgSign", "true"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		put_setting(git, settings[i].key, settings[i].value);
}

/* Forges that serve ssh under another name, where only 443 is open. */
static void put_ssh_over_443(struct git_settings *git, const char *host)
{
	static const struct {
		const char *host, *name;
	} forges[] = {{"github.com", "ssh.github.com"},
		      {"gitlab.com", "altssh.gitlab.com"},
		      {"bitbucket.org", "altssh.bitbucket.org"}};

	for (size_t i = 0; i < ARRAY_SIZE(forges); i++)
		if (!strcmp(forges[i].host, host))
			put_instead(git, host,
				    arena_format(git->arena,
						 "ssh://git@%s:443/",
						 forges[i].name));
}

/* ssh cannot leave, nor git's own protocol: remotes that are written for
 * them go by HTTPS. */
static void put_git(struct set *set, const struct run_env *from,
		    struct arena *arena)
{
	static const struct {
		const char *before, *after;
	} forms[] = {{"git@", ":"},	  {"git@", ":/"},
		     {"ssh://git@", "/"}, {"ssh://git@", ":22/"},
		     {"ssh://", "/"},	  {"git+ssh://git@", "/"},
		     {"git://", "/"}};
	struct git_settings git = {.set = set, .arena = arena};
	const char *hosts[RUN_GIT_HOSTS_MAX];
	size_t count = git_hosts(from->policy, arena, hosts);

	for (size_t i = 0; i < count; i++) {
		int len = (int)strcspn(hosts[i], ":");

		for (size_t j = 0; j < ARRAY_SIZE(forms); j++)
			put_instead(&git, hosts[i],
				    arena_format(arena, "%s%.*s%s",
						 forms[j].before, len, hosts[i],
						 forms[j].after));
		put_ssh_over_443(&git, hosts[i]);
	}
	if (json_is_object(from->signing))
		put_signing(&git, from->signing);
	put(set, "GIT_CONFIG_COUNT", arena_format(arena, "%zu", git.count));
}

static void put_policy(struct set *set, const struct policy *policy,
		       struct arena *arena)
{
	for (size_t i = 0; i < policy->environment.set_count; i++)
		put(set, arena_str(arena, policy->environment.set[i].name),
		    arena_str(arena, policy->environment.set[i].value));
}

static void put_placeholders(struct set *set, json_t *placeholders)
{
	const char *name;
	json_t *text;

	json_object_foreach(placeholders, name, text)
	{
		put(set, name, json_string_value(text));
	}
}

static void put_given(struct set *set, const struct run_env *from,
		      struct arena *arena)
{
	for (size_t i = 0; i < from->given_count; i++) {
		const char *equals = strchr(from->given[i], '=');

		put(set,
		    arena_str(arena,
			      bytes_from(from->given[i],
					 (size_t)(equals - from->given[i]))),
		    equals + 1);
	}
}

static const char *const *strings_of(struct arena *arena,
				     const struct policy_strings *strings)
{
	const char **items =
		arena_array(arena, strings->count + 1, sizeof(*items));

	for (size_t i = 0; items && i < strings->count; i++)
		items[i] = arena_str(arena, strings->items[i]);
	return items;
}

static void say_dropped(void *owner, const char *name)
{
	char text[256];
	const struct sandbox_event event = {CONSTRAINT_none, text, "", false};

	(void)owner;
	snprintf(text, sizeof(text),
		 "variable %.128s is not passed: it looks like a credential: "
		 "put it into the vault",
		 name);
	sandbox_event_print(NULL, &event);
}

int run_env_make(const struct run_env *from, struct arena *arena,
		 struct sandbox_spec *spec, struct err *err)
{
	const struct policy_environment *policy = &from->policy->environment;
	struct environment environment = {
		.caller = from->caller,
		.pass = {strings_of(arena, &policy->pass), policy->pass.count},
		.image = from->image,
		.image_count = from->image_count,
		.has_ca = spec->ca_pem.len > 0,
		.on_dropped = say_dropped,
	};
	struct set set = {.size = SANDBOX_ENV_MAX};

	set.items = arena_array(arena, set.size, sizeof(*set.items));
	if (!set.items)
		return err_set(err, ERR_TOO_LARGE, "environment: no memory");
	put_git(&set, from, arena);
	put_policy(&set, from->policy, arena);
	put_placeholders(&set, from->placeholders);
	put_given(&set, from, arena);
	environment.set = set.items;
	environment.set_count = set.count;
	return environment_make(&environment, arena, &spec->env,
				&spec->env_count, err);
}
