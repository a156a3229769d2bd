/*
 * The floor for tests/bench/sandbox_start: the same namespaces, a root of
 * bind mounts, proc, and an exec. No filter, no network rules, no care.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL                                                                    \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |           \
	 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

static void check(int rc, const char *what)
{
	if (rc < 0) {
		perror(what);
		exit(125);
	}
}

static void write_map(const char *path, unsigned id)
{
	char text[64];
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int len = snprintf(text, sizeof(text), "%u %u 1\n", id, id);

	check(fd, path);
	check((int)write(fd, text, (size_t)len), path);
	close(fd);
}

static void bind_read_only(const char *from, const char *to)
{
	int tree =
		open_tree(AT_FDCWD, from,
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};

	check(tree, from);
	check(mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			    sizeof(attr)),
	      from);
	check(mkdir(to, 0755), to);
	check(move_mount(tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH), to);
	close(tree);
}

static void build_root(void)
{
	check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	check(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=0755"), "tmpfs");
	check(mkdir("/tmp/old", 0700), "old");
	check((int)syscall(SYS_pivot_root, "/tmp", "/tmp/old"), "pivot");
	check(chdir("/"), "chdir");
	bind_read_only("/old/usr", "/usr");
	bind_read_only("/old/etc", "/etc");
	check(symlink("usr/bin", "/bin"), "/bin");
	check(symlink("usr/lib", "/lib"), "/lib");
	check(symlink("usr/lib64", "/lib64"), "/lib64");
	check(mkdir("/proc", 0555), "/proc");
	check(mount("proc", "/proc", "proc", 0, NULL), "proc");
	check(umount2("/old", MNT_DETACH), "detach");
}

int main(int argc, char **argv)
{
	struct clone_args args = {.flags = ALL, .exit_signal = SIGCHLD};
	unsigned uid = getuid();
	unsigned gid = getgid();
	int status;
	int fd;
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	check(pid, "clone3");
	if (pid > 0) {
		check(waitpid(pid, &status, 0), "wait");
		return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
	}
	fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	check(fd, "setgroups");
	check((int)write(fd, "deny", 4), "setgroups");
	close(fd);
	write_map("/proc/self/uid_map", uid);
	write_map("/proc/self/gid_map", gid);
	build_root();
	if (argc < 2)
		return 2;
	execv(argv[1], argv + 1);
	return 127;
}
