#include "gateway/warden/program_exec.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine.h"

#define PROGRAM_CPU_S	   20
#define PROGRAM_FILES	   256
#define PROGRAM_FILE_BYTES (16 << 20)

static void limit(int resource, rlim_t value)
{
	const struct rlimit both = {value, value};

	if (setrlimit(resource, &both) < 0)
		_exit(126);
}

/* No helper needs them, and each is a way into another process, the kernel
 * or the host's mounts. An allow-list would break what helpers are: programs
 * of any kind, with files and network of their own. */
static const char *const denied_calls[] = {
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"process_madvise",
	"kcmp",
	"pidfd_getfd",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"open_by_handle_at",
	"mount",
	"umount2",
	"move_mount",
	"open_tree",
	"fsopen",
	"fspick",
	"fsmount",
	"mount_setattr",
	"pivot_root",
	"swapon",
	"swapoff",
	"reboot",
	"settimeofday",
	"clock_settime",
	"acct",
	"quotactl",
	NULL,
};

static void confine_program(uid_t uid)
{
	struct err err;

	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_CPU, PROGRAM_CPU_S);
	limit(RLIMIT_NOFILE, PROGRAM_FILES);
	limit(RLIMIT_FSIZE, PROGRAM_FILE_BYTES);
	if (uid && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
		    setresuid(uid, uid, uid) < 0))
		_exit(126);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    confine_deny_calls(denied_calls, &err) < 0)
		_exit(126);
}

void program_exec(const char *const *argv, int out, uid_t uid)
{
	static const char *const envp[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
		"/bin",
		"HOME=/nonexistent",
		"LANG=C.UTF-8",
		NULL,
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)sigemptyset(&none);
	if (null < 0 || setsid() < 0 || chdir("/") < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0 ||
	    dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0U, 0) < 0)
		_exit(126);
	(void)signal(SIGPIPE, SIG_DFL);
	confine_program(uid);
	(void)execve(argv[0], (char *const *)(uintptr_t)argv,
		     (char *const *)(uintptr_t)envp);
	_exit(127);
}
