/* Our own files inside, and the host's that ours stand in for. */
#include "sandbox-host/plan_parts.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/roots.h"

#define RESOLV_CONF SANDBOX_FILES "/resolv.conf"
#define HOSTS	    SANDBOX_FILES "/hosts"

/* What the spec brings: names that none of ours have. */
static int add_given(struct plan *plan, const struct sandbox_file *file,
		     struct err *err)
{
	const char *target =
		plan_format(plan, err, SANDBOX_FILES "/%s", file->name);
	struct bytes copy = arena_copy(&plan->arena, file->content);

	if (!target || (file->content.len && !copy.data))
		return err_set(err, ERR_TOO_LARGE, "plan: no memory");
	return plan_add(
		plan,
		(struct plan_step){.kind = PLAN_FILE,
				   .target = target,
				   .content = copy,
				   .mode = file->is_program ? 0555 : 0444},
		err);
}

static int add_made(struct plan *plan, enum plan_kind kind, const char *target,
		    const char *source, struct bytes content, struct err *err)
{
	struct bytes copy = arena_copy(&plan->arena, content);

	if (content.len && !copy.data)
		return err_set(err, ERR_TOO_LARGE, "plan: no memory");
	return plan_add(plan,
			(struct plan_step){.kind = kind,
					   .source = source,
					   .target = target,
					   .content = copy,
					   .mode = 0444},
			err);
}

static int add_file(struct plan *plan, const char *target, const char *source,
		    struct bytes content, struct err *err)
{
	return add_made(plan, PLAN_FILE, target, source, content, err);
}

/* Put our file inside over a file of the host's. */
static int add_cover(struct plan *plan, const char *file, const char *target,
		     struct err *err)
{
	return plan_add(plan,
			(struct plan_step){.kind = PLAN_BIND,
					   .flags = PLAN_INSIDE,
					   .source = file,
					   .target = target},
			err);
}

static int add_trust(struct plan *plan, const struct sandbox_spec *spec,
		     const char **bundle, struct err *err)
{
	bool failed = false;

	*bundle = NULL;
	if (!spec->ca_pem.len)
		return 0;
	for (size_t i = 0; !*bundle && i < ROOTS_PATHS; i++) {
		*bundle = plan_real(plan, roots_paths[i], &failed, err);
		if (failed)
			return -1;
	}
	if (plan_add(plan,
		     (struct plan_step){.kind = PLAN_DIR,
					.target = SANDBOX_CA_DIR,
					.mode = 0755},
		     err) < 0 ||
	    add_file(plan, SANDBOX_CA_PEM, NULL, spec->ca_pem, err) < 0 ||
	    add_file(plan, SANDBOX_CA_BUNDLE, *bundle, spec->ca_pem, err) < 0)
		return -1;
	return add_made(plan, PLAN_TRUSTSTORE, SANDBOX_CA_PKCS12, *bundle,
			spec->ca_pem, err);
}

/* resolv.conf is a file, a link into /run (which is ours), or absent: then
 * programs ask 127.0.0.1, which nobody answers, rather than the host's. */
static int cover(struct plan *plan, const char *path, const char *file,
		 struct err *err)
{
	bool failed;
	const char *real;

	/* Whoever made the image does not choose where ours stands. */
	if (plan->image)
		return add_cover(plan, file, path, err);
	real = plan_real(plan, path, &failed, err);
	if (failed)
		return -1;
	if (!real)
		return 0;
	return add_cover(plan, file, real, err);
}

/* Who asks for its own name is answered here, and the host's other names
 * are not for it to know. */
static int add_hosts(struct plan *plan, const struct sandbox_spec *spec,
		     struct err *err)
{
	const char *name = spec->hostname ? spec->hostname : SANDBOX_HOSTNAME;
	const char *text = plan_format(plan, err,
				       "127.0.0.1 localhost %s\n"
				       "::1 localhost ip6-localhost %s\n",
				       name, name);

	return text ? add_file(plan, HOSTS, NULL, bytes_str(text), err) : -1;
}

int plan_files(struct plan *plan, const struct sandbox_spec *spec,
	       struct err *err)
{
	static const char resolv[] = "nameserver " SANDBOX_ADDRESS4 "\n";
	const char *bundle;

	if (plan_add(plan,
		     (struct plan_step){.kind = PLAN_TMPFS,
					.target = SANDBOX_FILES,
					.mode = 0755},
		     err) < 0 ||
	    add_file(plan, RESOLV_CONF, NULL, bytes_str(resolv), err) < 0 ||
	    add_hosts(plan, spec, err) < 0 ||
	    add_trust(plan, spec, &bundle, err) < 0)
		return -1;
	for (size_t i = 0; i < spec->file_count; i++)
		if (add_given(plan, &spec->files[i], err) < 0)
			return -1;
	if (plan_add(plan,
		     (struct plan_step){.kind = PLAN_FILE,
					.target = SANDBOX_FILES "/hidden"},
		     err) < 0 ||
	    plan_add(plan,
		     (struct plan_step){.kind = PLAN_DIR,
					.target = SANDBOX_FILES "/hidden.d"},
		     err) < 0 ||
	    plan_add(plan,
		     (struct plan_step){.kind = PLAN_SEAL,
					.target = SANDBOX_FILES},
		     err) < 0)
		return -1;
	if (bundle && add_cover(plan, SANDBOX_CA_BUNDLE,
				plan->image ? roots_paths[0] : bundle, err) < 0)
		return -1;
	if (cover(plan, "/etc/hosts", HOSTS, err) < 0)
		return -1;
	return cover(plan, "/etc/resolv.conf", RESOLV_CONF, err);
}
