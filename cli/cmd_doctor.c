/*
 * What this host lacks, and what mends it. A policy's `require` has the same
 * names.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "common/cgroup.h"
#include "common/cleanup.h"
#include "common/confine.h"
#include "sandbox-host/limits.h"

#define CGROUP_MEND                                                            \
	"run it as root, or in a cgroup that is delegated to this user: "      \
	"systemd-run --user --scope -p Delegate=yes sallyport ..."

enum health { HEALTH_OK, HEALTH_WEAKER, HEALTH_MISSING };

struct finding {
	const char *name;
	enum health health;
	char text[256];
	const char *mend;
};

/* Can this user make the namespaces of a sandbox? Tried, not guessed. */
static bool can_unshare(int flags)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0)
		_exit(unshare(flags) < 0);
	return child > 0 && waitpid(child, &status, 0) == child &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static long read_number(const char *path)
{
	char text[32] = "";
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t value;

	while (got > 0 && text[got - 1] == '\n')
		text[--got] = '\0';
	return got > 0 && bytes_to_u64(bytes_str(text), 18, &value) == 0
		       ? (long)value
		       : -1;
}

static void check_namespaces(struct finding *finding)
{
	static const char apparmor[] =
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

	finding->name = "user namespaces";
	finding->health = can_unshare(CLONE_NEWUSER | CLONE_NEWNS |
				      CLONE_NEWNET | CLONE_NEWPID)
				  ? HEALTH_OK
				  : HEALTH_MISSING;
	(void)snprintf(finding->text, sizeof(finding->text), "%s",
		       finding->health == HEALTH_OK
			       ? "this user can make them"
			       : "this user cannot make them");
	if (read_number(apparmor) == 1)
		finding->mend =
			"install deploy/apparmor/sallyport as "
			"/etc/apparmor.d/sallyport and run: apparmor_parser -r "
			"/etc/apparmor.d/sallyport";
	else
		finding->mend = "sysctl -w kernel.unprivileged_userns_clone=1 "
				"user.max_user_namespaces=15000";
}

static void check_landlock(struct finding *finding)
{
	int abi = confine_landlock_abi();

	finding->name = "Landlock";
	finding->health = abi >= 6 ? HEALTH_OK : HEALTH_WEAKER;
	(void)snprintf(finding->text, sizeof(finding->text),
		       abi ? "ABI %d%s" : "not there: %d%s", abi,
		       abi >= 6	  ? ""
		       : abi >= 4 ? ", without scopes"
				  : ", files only; namespaces and seccomp "
				    "still hold");
	finding->mend = "a kernel of 6.12 or newer, with lsm=landlock";
}

static void check_nftables(struct finding *finding)
{
	finding->name = "nftables";
	finding->health = access("/proc/net/netfilter", F_OK) == 0
				  ? HEALTH_OK
				  : HEALTH_MISSING;
	(void)snprintf(finding->text, sizeof(finding->text), "%s",
		       finding->health == HEALTH_OK ? "netfilter is there"
						    : "no netfilter");
	finding->mend = "modprobe nf_tables nft_redir nft_reject_inet";
}

static const char *holder(bool has_group, const char *otherwise)
{
	return has_group ? "cgroup" : otherwise;
}

/* What holds each limit of a policy, tried with an empty sandbox's groups. */
static void check_limits(struct finding *finding)
{
	const struct sandbox_limits wanted = {
		.memory_bytes = 1 << 30, .processes = 100, .cpu_milli = 1000};
	struct limits limits;

	limits_prepare(&limits, &cgroup_host, &wanted, false);
	finding->name = "limits";
	finding->health =
		limits.has_memory && limits.has_processes && limits.has_cpu
			? HEALTH_OK
			: HEALTH_WEAKER;
	(void)snprintf(finding->text, sizeof(finding->text),
		       "cgroup v%d: limits.memory: %s, limits.processes: %s, "
		       "limits.cpu: %s; limits.files: rlimits; limits.disk: "
		       "rlimits, sizes of private file systems, a watch of "
		       "what else is written",
		       cgroup_is_v2(&cgroup_host) ? 2 : 1,
		       holder(limits.has_memory, "rlimits (each process)"),
		       holder(limits.has_processes, "rlimits"),
		       holder(limits.has_cpu, "nothing"));
	limits_release(&limits);
	finding->mend = CGROUP_MEND;
}

static void check_freezer(struct finding *finding)
{
	const struct sandbox_limits nothing = {0};
	struct limits limits;

	limits_prepare(&limits, &cgroup_host, &nothing, true);
	finding->name = "freezer";
	finding->health = limits_can_rest(&limits) ? HEALTH_OK : HEALTH_WEAKER;
	(void)snprintf(finding->text, sizeof(finding->text), "%s",
		       limits_can_rest(&limits) ? "a sandbox can be paused"
						: "no sandbox can be paused");
	limits_release(&limits);
	finding->mend = CGROUP_MEND;
}

static void print_findings(const json_t *value)
{
	size_t index;
	json_t *row;

	json_array_foreach(value, index, row)
	{
		(void)printf("%-8s %-16s %s\n", json_text(row, "health"),
			     json_text(row, "name"), json_text(row, "text"));
		if (strcmp(json_text(row, "health"), "ok") != 0)
			(void)printf("         mend: %s\n",
				     json_text(row, "mend"));
	}
}

int cmd_doctor(struct cli *cli)
{
	static void (*const checks[])(struct finding *) = {
		check_namespaces, check_landlock, check_nftables, check_limits,
		check_freezer};
	static const char *const names[] = {"ok", "weaker", "MISSING"};
	bool missing = false;
	json_t *list;

	if (arguments_words(cli, 0, 0) < 0)
		return cli_usage(cli);
	cgroup_settle(&cgroup_host);
	list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct finding finding = {0};

		checks[i](&finding);
		missing |= finding.health == HEALTH_MISSING;
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:s}", "name", finding.name,
				  "health", names[finding.health], "text",
				  finding.text, "mend", finding.mend));
	}
	(void)cli_print(cli, list, print_findings);
	json_decref(list);
	return missing ? EXIT_FAILED : EXIT_OK;
}
