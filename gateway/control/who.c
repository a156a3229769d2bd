#include "gateway/control/who.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"

#define GROUP_BYTES_MAX (64 * 1024)

struct group_answer {
	int number; /* errno, or 0 */
	bool is_found;
	gid_t group;
};

/* A lookup that hangs ends with the process that waits for it. */
static void answer_group(int fd, pid_t asker)
{
	static char space[GROUP_BYTES_MAX];
	struct group_answer answer = {0};
	struct group group, *found = NULL;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != asker)
		_exit(1);
	answer.number =
		getgrnam_r(WHO_GROUP, &group, space, sizeof(space), &found);
	answer.is_found = found != NULL;
	answer.group = found ? found->gr_gid : 0;
	_exit(write(fd, &answer, sizeof(answer)) != sizeof(answer));
}

/* A process of its own asks: the libraries that the host has for such a
 * question would stay in this one, 0.3 MiB of it. */
static int ask_group(struct group_answer *answer, struct err *err)
{
	auto_fd int ours = -1, theirs = -1;
	int fds[2], status;
	pid_t asker = getpid(), pid;
	ssize_t len;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_system(err, "look up group " WHO_GROUP);
	ours = fds[0];
	theirs = fds[1];
	pid = fork();
	if (pid < 0)
		return err_system(err, "look up group " WHO_GROUP);
	if (pid == 0)
		answer_group(theirs, asker);
	(void)close(take_fd(&theirs));
	len = read(ours, answer, sizeof(*answer));
	if (waitpid(pid, &status, 0) != pid || len != sizeof(*answer))
		return err_set(err, ERR_SYSTEM,
			       "look up group " WHO_GROUP ": no answer");
	return 0;
}

int who_rules_init(struct who_rules *rules, struct err *err)
{
	struct group_answer answer;

	*rules = (struct who_rules){.own_uid = getuid()};
	if (rules->own_uid != 0)
		return 0;
	if (ask_group(&answer, err) < 0)
		return -1;
	if (answer.number != 0 && answer.number != ENOENT) {
		errno = answer.number;
		return err_system(err, "look up group " WHO_GROUP);
	}
	rules->has_group = answer.is_found;
	rules->group = answer.group;
	return 0;
}

bool who_is_admin(const struct who_rules *rules, uid_t uid, const gid_t *groups,
		  size_t group_count)
{
	if (uid == 0 || uid == rules->own_uid)
		return true;
	for (size_t i = 0; rules->has_group && i < group_count; i++)
		if (groups[i] == rules->group)
			return true;
	return false;
}

int who_of(const struct who_rules *rules, int fd, struct who *who,
	   struct err *err)
{
	gid_t groups[WHO_GROUPS_MAX + 1];
	socklen_t size = sizeof(groups) - sizeof(groups[0]);
	struct ucred peer;
	socklen_t peer_size = sizeof(peer);
	size_t count;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) < 0)
		return err_system(err, "ask who connected");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) {
		log_warn("uid %u: its groups are not known", peer.uid);
		size = 0;
	}
	count = size / sizeof(groups[0]);
	groups[count++] = peer.gid;
	who->uid = peer.uid;
	who->is_admin = who_is_admin(rules, peer.uid, groups, count);
	return 0;
}
