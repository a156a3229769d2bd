#include "sandbox-host/require.h"

#include "common/cleanup.h"
#include "sandbox-host/landlock.h"

/* Whatever can be written to is of a size that we gave it. */
static bool has_disk(const struct sandbox_spec *spec)
{
	return spec->workspace_mode == SANDBOX_READ && spec->write.count == 0;
}

static int check_landlock(unsigned wanted, struct err *err)
{
	long abi = landlock_abi();

	if (abi >= (long)wanted)
		return 0;
	return err_set(
		err, ERR_UNSUPPORTED,
		"the policy requires landlock-%u: this kernel has %s%.0ld",
		wanted, abi > 0 ? "ABI " : "no Landlock", abi > 0 ? abi : 0);
}

int require_check(const struct sandbox_spec *spec, const struct limits *limits,
		  struct err *err)
{
	const struct sandbox_require *require = &spec->require;
	const struct {
		bool is_wanted, is_there;
		const char *name, *lack;
	} rows[] = {
		{require->memory, limits->has_memory, "limits.memory",
		 "this host gives us no cgroup of memory"},
		{require->processes, limits->has_processes, "limits.processes",
		 "this host gives us no cgroup of pids"},
		{require->cpu, limits->has_cpu, "limits.cpu",
		 "this host gives us no cgroup of cpu"},
		{require->disk, has_disk(spec), "limits.disk",
		 "nothing bounds what is written to the workspace or to "
		 "`write`"},
		{require->freezer, limits->freezer != NULL, "freezer",
		 "this host gives us no cgroup that can be frozen"},
	};

	if (require->landlock && check_landlock(require->landlock, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_wanted && !rows[i].is_there)
			return err_set(err, ERR_UNSUPPORTED,
				       "the policy requires %s: %s",
				       rows[i].name, rows[i].lack);
	return 0;
}
