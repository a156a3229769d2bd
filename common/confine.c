#include "common/confine.h"

#include <cap-ng.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine_parts.h"
#include "common/log.h"
#include "common/secret.h"

#ifdef SP_UNCONFINED
static const bool is_unconfined = true;
#else
static const bool is_unconfined = false;
#endif

static int limit(int resource, size_t max, const char *what, struct err *err)
{
	const struct rlimit both = {max, max};

	if (max > 0 && setrlimit((__rlimit_resource_t)resource, &both) < 0)
		return err_system(err, "limit %s to %zu", what, max);
	return 0;
}

/* The sets that a later exec could take capabilities from. */
static int drop_bounds(struct err *err)
{
	if (capng_get_caps_process() != 0)
		return err_system(err, "read capabilities");
	/* A container's root may lack the right to drop them; with
	 * no_new_privs they give nothing to anybody. */
	if (!capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		return 0;
	capng_clear(CAPNG_SELECT_BOTH);
	if (capng_apply(CAPNG_SELECT_BOUNDS) != 0)
		return err_set(err, ERR_SYSTEM,
			       "drop the capability bounding set");
	return 0;
}

static int drop_capabilities(struct err *err)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		return err_set(err, ERR_SYSTEM, "drop capabilities");
	return 0;
}

static int become(uid_t uid, gid_t gid, struct err *err)
{
	uid_t real, effective, saved;

	if (setgroups(0, NULL) < 0)
		return err_system(err, "drop the supplementary groups");
	if (setresgid(gid, gid, gid) < 0)
		return err_system(err, "become group %u", gid);
	if (setresuid(uid, uid, uid) < 0)
		return err_system(err, "become user %u", uid);
	if (getresuid(&real, &effective, &saved) < 0 || real != uid ||
	    effective != uid || saved != uid)
		return err_set(err, ERR_SYSTEM, "become user %u: still another",
			       uid);
	return 0;
}

static int drop_root(const struct confine_spec *spec, struct err *err)
{
	if (geteuid() != 0)
		return 0;
	if (drop_bounds(err) < 0)
		return -1;
	if (spec->uid != 0 && become(spec->uid, spec->gid, err) < 0)
		return -1;
	return drop_capabilities(err);
}

static int apply(const struct confine_spec *spec, struct err *err)
{
	if (limit(RLIMIT_NOFILE, spec->files_max, "descriptors", err) < 0)
		return -1;
	if (is_unconfined) {
		secret_protect_process();
		log_info("built for tests with sanitizers: not confined");
		return 0;
	}
	if (limit(RLIMIT_AS, spec->memory_max, "memory", err) < 0 ||
	    drop_root(spec, err) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_system(err, "set no_new_privs");
	if (confine_landlock(spec, err) < 0)
		return -1;
	/* After the change of user, which makes a process dumpable again. */
	secret_protect_process();
	return confine_seccomp(spec, err);
}

int confine(const struct confine_spec *spec, struct err *err)
{
	if (apply(spec, err) < 0)
		return err_prefix(err, "confine %s", spec->name);
	return 0;
}
