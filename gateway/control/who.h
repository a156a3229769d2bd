/*
 * Who is at the other end of a Unix socket, as the kernel says, and whether
 * that is an administrator: root, the gateway's own user, or, when the
 * gateway runs as root, a member of the group "sallyport".
 */
#ifndef GATEWAY_CONTROL_WHO_H
#define GATEWAY_CONTROL_WHO_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/err.h"

#define WHO_GROUP "sallyport"
#define WHO_GROUPS_MAX                                                         \
	1024 /* of one process; with more its groups are                       \
		not looked at */

struct who {
	uid_t uid;
	bool is_admin;
};

struct who_rules {
	uid_t own_uid;
	bool has_group; /* members of group are administrators */
	gid_t group;
};

/* Look up the gateway's own user and the group; before confinement, since
 * this opens files. 0, or -1. */
int who_rules_init(struct who_rules *rules, struct err *err);

/* Is it an administrator, with these groups? */
bool who_is_admin(const struct who_rules *rules, uid_t uid, const gid_t *groups,
		  size_t group_count);

/* Of a connected Unix socket. 0, or -1. */
int who_of(const struct who_rules *rules, int fd, struct who *who,
	   struct err *err);

#endif
