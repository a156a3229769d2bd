#include "gateway/control/who.h"

#include <errno.h>
#include <grp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"

#define GROUP_BYTES_MAX (64 * 1024)

int who_rules_init(struct who_rules *rules, struct err *err)
{
	static char space[GROUP_BYTES_MAX];
	struct group group, *found = NULL;
	int number;

	*rules = (struct who_rules){.own_uid = getuid()};
	if (rules->own_uid != 0)
		return 0;
	number = getgrnam_r(WHO_GROUP, &group, space, sizeof(space), &found);
	if (number != 0 && number != ENOENT) {
		errno = number;
		return err_system(err, "look up group " WHO_GROUP);
	}
	rules->has_group = found != NULL;
	rules->group = found ? found->gr_gid : 0;
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
