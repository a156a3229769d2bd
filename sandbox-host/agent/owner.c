/* Names of users and groups, from the sandbox's own files: no library is
 * asked, which would load modules that somebody inside may have made. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"

#define USERS_FILE  "/etc/passwd"
#define GROUPS_FILE "/etc/group"
#define LINES_MAX   4096
#define DIGITS_MAX  10
#define KEPT_MAX    8 /* names, which most files of a walk have */

static void close_file(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}
#define auto_file auto_type(close_file)

static bool is_name(const char *name)
{
	struct bytes text = bytes_str(name);

	return text.len > 0 && text.len <= FILE_OWNER_MAX &&
	       wire_is_printable(text);
}

/* A name, or a number that is none's name. */
static void put(const char *name, unsigned number, char *out)
{
	if (name && is_name(name))
		(void)snprintf(out, FILE_OWNER_MAX + 1, "%s", name);
	else
		(void)snprintf(out, FILE_OWNER_MAX + 1, "%u", number);
}

/* What was found, as long as the agent lives: for one request. */
struct kept {
	struct {
		unsigned number;
		char name[FILE_OWNER_MAX + 1]; /* empty: none yet */
	} names[KEPT_MAX];
	size_t next;
};

static bool recall(const struct kept *kept, unsigned number, char *out)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept->names[i].name[0] && kept->names[i].number == number) {
			memcpy(out, kept->names[i].name, FILE_OWNER_MAX + 1);
			return true;
		}
	return false;
}

static void keep(struct kept *kept, unsigned number, const char *name)
{
	size_t at = kept->next++ % KEPT_MAX;

	kept->names[at].number = number;
	(void)snprintf(kept->names[at].name, FILE_OWNER_MAX + 1, "%s", name);
}

void owner_name(uid_t uid, char *out)
{
	static struct kept kept;
	auto_file FILE *file = NULL;
	const struct passwd *user = NULL;

	if (recall(&kept, uid, out))
		return;
	file = fopen(USERS_FILE, "re");
	for (int i = 0; file && i < LINES_MAX; i++) {
		user = fgetpwent(file);
		if (!user || user->pw_uid == uid)
			break;
		user = NULL;
	}
	put(user ? user->pw_name : NULL, uid, out);
	keep(&kept, uid, out);
}

void owner_group(gid_t gid, char *out)
{
	static struct kept kept;
	auto_file FILE *file = NULL;
	const struct group *group = NULL;

	if (recall(&kept, gid, out))
		return;
	file = fopen(GROUPS_FILE, "re");
	for (int i = 0; file && i < LINES_MAX; i++) {
		group = fgetgrent(file);
		if (!group || group->gr_gid == gid)
			break;
		group = NULL;
	}
	put(group ? group->gr_name : NULL, gid, out);
	keep(&kept, gid, out);
}

static int find_number(struct bytes text, unsigned *number)
{
	uint64_t value;

	errno = EINVAL;
	if (bytes_to_u64(text, DIGITS_MAX, &value) < 0 || value >= UINT32_MAX)
		return -1;
	*number = (unsigned)value;
	return 0;
}

static int find_user(struct bytes text, uid_t *uid)
{
	auto_file FILE *file = fopen(USERS_FILE, "re");
	const struct passwd *user;

	for (int i = 0; file && i < LINES_MAX; i++) {
		user = fgetpwent(file);
		if (!user)
			break;
		if (bytes_is(text, user->pw_name)) {
			*uid = user->pw_uid;
			return 0;
		}
	}
	return find_number(text, uid);
}

static int find_group(struct bytes text, gid_t *gid)
{
	auto_file FILE *file = fopen(GROUPS_FILE, "re");
	const struct group *group;

	for (int i = 0; file && i < LINES_MAX; i++) {
		group = fgetgrent(file);
		if (!group)
			break;
		if (bytes_is(text, group->gr_name)) {
			*gid = group->gr_gid;
			return 0;
		}
	}
	return find_number(text, gid);
}

/* No other id is mapped: the kernel would refuse it, after half of what was
 * asked for is done. */
int owner_check(const struct file_access *access)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if ((access->owner.len == 0 ||
	     (find_user(access->owner, &uid) == 0 && uid == geteuid())) &&
	    (access->group.len == 0 ||
	     (find_group(access->group, &gid) == 0 && gid == getegid())))
		return 0;
	errno = EINVAL;
	return -1;
}

void owner_of(const struct file_access *access, uid_t *uid, gid_t *gid)
{
	*uid = access->owner.len ? geteuid() : (uid_t)-1;
	*gid = access->group.len ? getegid() : (gid_t)-1;
}

void owner_refuse(struct rpc_ticket ticket)
{
	rpc_refuse(ticket, HOST_REFUSED_INVALID,
		   "owner and group: a sandbox has one user, which is %u:%u "
		   "inside, and no file can be another's",
		   (unsigned)geteuid(), (unsigned)getegid());
}
