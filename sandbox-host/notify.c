#include "sandbox-host/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "policies/remedy.h"

/* Kernel 6.6: wake the waiting side on this CPU. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#endif
#define SYNC_WAKE_UP 1ul

#define NONE	     -1
#define ANSWER_GO_ON 0

enum act {
	ACT_OPEN,   /* write to, by flags */
	ACT_CREATE, /* creat(2) */
	ACT_WRITE,  /* truncate */
	ACT_MAKE,   /* a new name: directory, node, hard link */
	ACT_LINK,   /* a new symbolic link: may stand in for a directory */
	ACT_NAME,   /* give what is there another name */
	ACT_REMOVE,
	ACT_MOVE_FROM,
	ACT_MOVE_TO,
	ACT_CONNECT
};

/* A path argument of a call; dir NONE: relative to the working directory. */
struct notify_path {
	int call;
	enum act act;
	int dir, path; /* arguments */
	int flags;     /* argument, or NONE */
};

#ifdef __NR_open
#define LEGACY(call, act, dir, path, flags)                                    \
	{__NR_##call, act, dir, path, flags},
#else
#define LEGACY(call, act, dir, path, flags)
#endif

/* A call with two paths has two rows. */
static const struct notify_path paths[] = {
	{__NR_openat, ACT_OPEN, 0, 1, 2},
	{__NR_mkdirat, ACT_MAKE, 0, 1, NONE},
	{__NR_mknodat, ACT_MAKE, 0, 1, NONE},
	{__NR_renameat2, ACT_MOVE_FROM, 0, 1, NONE},
	{__NR_renameat2, ACT_MOVE_TO, 2, 3, NONE},
	{__NR_linkat, ACT_NAME, 0, 1, 4},
	{__NR_linkat, ACT_MAKE, 2, 3, NONE},
	{__NR_symlinkat, ACT_LINK, 1, 2, NONE},
	{__NR_unlinkat, ACT_REMOVE, 0, 1, NONE},
	{__NR_truncate, ACT_WRITE, NONE, 0, NONE},
	{__NR_connect, ACT_CONNECT, NONE, 1, NONE},
	{__NR_bind, ACT_MAKE, NONE, 1, NONE},
#ifdef __NR_renameat
	{__NR_renameat, ACT_MOVE_FROM, 0, 1, NONE},
	{__NR_renameat, ACT_MOVE_TO, 2, 3, NONE},
#endif
	LEGACY(open, ACT_OPEN, NONE, 0, 1) LEGACY(creat, ACT_CREATE, NONE, 0,
						  NONE) LEGACY(mkdir, ACT_MAKE,
							       NONE, 0, NONE)
		LEGACY(mknod, ACT_MAKE, NONE, 0, NONE) LEGACY(
			rename, ACT_MOVE_FROM, NONE, 0,
			NONE) LEGACY(rename, ACT_MOVE_TO, NONE, 1,
				     NONE) LEGACY(link, ACT_NAME, NONE, 0, NONE)
			LEGACY(link, ACT_MAKE, NONE, 1, NONE) LEGACY(
				symlink, ACT_LINK, NONE, 1,
				NONE) LEGACY(unlink, ACT_REMOVE, NONE, 0, NONE)
				LEGACY(rmdir, ACT_REMOVE, NONE, 0, NONE)};

static const char *const verbs[] = {
	[ACT_OPEN] = "write to",	 [ACT_CREATE] = "write to",
	[ACT_WRITE] = "write to",	 [ACT_MAKE] = "creation of",
	[ACT_LINK] = "creation of",	 [ACT_REMOVE] = "removal of",
	[ACT_NAME] = "another name for", [ACT_MOVE_FROM] = "move of",
	[ACT_MOVE_TO] = "move to",	 [ACT_CONNECT] = "connect to",
};

#define PATHS_MAX 2

/* The paths of one call, one of them while it is judged. */
struct notify_question {
	const struct notify_path *row;
	unsigned index; /* of row among the call's */
	const __u64 *args;
	uint64_t flags; /* open's */
	struct place_view view;
	struct place place;
	struct place moved;		 /* of a move: what from */
	char paths[PATHS_MAX][PATH_MAX]; /* as the program wrote them */
	int results[PATHS_MAX];		 /* of reading them */
};

static bool is_valid(const struct notify *notify)
{
	__u64 id = notify->request->id;

	return ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Why a path was denied, in a word, and by which rule. */
struct reason {
	const char *word, *rule;
};
static const struct reason read_only = {"read-only", RULE_WRITE};
static const struct reason protected = {"protected", RULE_PROTECT};
static const struct reason hidden = {"hidden", RULE_HIDE};
static const struct reason a_socket = {"a socket of the host", RULE_SOCKETS};
static const struct reason not_mounted = {"not mounted", RULE_SOCKETS};

static void say(struct notify *notify, const struct notify_question *question,
		const struct reason *reason)
{
	if (is_valid(notify))
		report_deny(notify->report, CONSTRAINT_filesystem, reason->rule,
			    "%s %s denied by filesystem (%s)",
			    verbs[question->row->act], question->place.path,
			    reason->word);
}

static bool is_making(const struct notify_question *question)
{
	switch (question->row->act) {
	case ACT_OPEN:
	case ACT_CREATE:
		return question->flags & O_CREAT;
	case ACT_MAKE:
	case ACT_LINK:
	case ACT_MOVE_TO:
		return true;
	case ACT_NAME:
	case ACT_WRITE:
	case ACT_REMOVE:
	case ACT_MOVE_FROM:
	case ACT_CONNECT:
		return false;
	}
	return false;
}

/* Would the call change what is there, or the directory it is in? */
static bool is_changing(const struct notify_question *question)
{
	const struct place *place = &question->place;
	bool writes = (question->flags & O_ACCMODE) != O_RDONLY ||
		      (question->flags & O_TRUNC);

	switch (question->row->act) {
	case ACT_OPEN:
	case ACT_CREATE:
		if (!place->exists)
			return question->flags & O_CREAT;
		/* Devices and pipes do not mind a read-only mount. */
		return writes && (S_ISREG(place->mode) || S_ISDIR(place->mode));
	case ACT_MAKE:
	case ACT_LINK:
		return !place->exists; /* else: EEXIST, the kernel's to say */
	case ACT_WRITE:
	case ACT_REMOVE:
	case ACT_MOVE_FROM:
		return place->exists;
	case ACT_MOVE_TO:
		return true;
	case ACT_NAME:
	case ACT_CONNECT:
		return false;
	}
	return false;
}

static bool is_guarded(const struct notify *notify,
		       const struct notify_question *question)
{
	const char *path = question->place.path;
	enum act act = question->row->act;

	if (guard_covers(&notify->guard, path))
		return true;
	/* Something else in the place of a directory above a guarded name. */
	return (act == ACT_MOVE_TO || act == ACT_MOVE_FROM ||
		act == ACT_LINK) &&
	       guard_is_above(&notify->guard, path);
}

static bool is_veiled(const struct notify *notify,
		      const struct notify_question *question)
{
	const struct place *place = &question->place;

	return guard_veils(&notify->guard, place->path,
			   place->exists && S_ISDIR(place->mode));
}

/* Does a directory go where a name that is hidden in it once it comes would not
 * be? */
static bool is_unveiled(const struct notify *notify,
			const struct notify_question *question)
{
	const struct place *from = &question->moved, *to = &question->place;
	bool is_exchange = question->row->call == __NR_renameat2 &&
			   question->args[4] & RENAME_EXCHANGE;

	if (question->row->act != ACT_MOVE_TO || !from->exists)
		return false;
	return (S_ISDIR(from->mode) &&
		!guard_keeps(&notify->guard, from->path, to->path)) ||
	       (is_exchange && to->exists && S_ISDIR(to->mode) &&
		!guard_keeps(&notify->guard, to->path, from->path));
}

static void say_hidden(struct notify *notify,
		       const struct notify_question *question)
{
	bool is_read = question->row->act == ACT_OPEN && !is_changing(question);

	if (is_valid(notify))
		report_deny(notify->report, CONSTRAINT_filesystem, hidden.rule,
			    "%s %s denied by filesystem (%s)",
			    is_read ? "read of" : verbs[question->row->act],
			    question->place.path, hidden.word);
}

/* Would what a link of /proc leads to be written, or get a name by which it
 * can be? */
static bool is_writing(const struct notify_question *question)
{
	return question->row->act == ACT_WRITE ||
	       question->row->act == ACT_NAME ||
	       (question->flags & O_ACCMODE) != O_RDONLY ||
	       (question->flags & O_TRUNC);
}

/* A program of the host may read from a pipe on a read-only mount. */
static int judge_pipe(struct notify *notify,
		      const struct notify_question *question)
{
	say(notify, question, &read_only);
	return -EACCES;
}

/* An object that is open already, perhaps to be read alone. */
static int judge_handle(struct notify *notify, struct notify_question *question)
{
	struct place_object object;
	int rc;

	if (!is_writing(question))
		return ANSWER_GO_ON;
	rc = place_look(&object, &question->view, &question->place);
	if (rc < 0)
		return rc;
	if (S_ISFIFO(object.mode) && object.is_read_only)
		return judge_pipe(notify, question);
	if (question->place.path[0] != '/' ||
	    !guard_covers(&notify->guard, question->place.path))
		return ANSWER_GO_ON;
	say(notify, question, &protected);
	return -EACCES;
}

/* Judge a path that was found. What to answer: 0 to let the kernel decide,
 * or a negative errno. */
static int judge_write(struct notify *notify, struct notify_question *question)
{
	const struct place *place = &question->place;

	if (place->is_handle)
		return judge_handle(notify, question);
	if (is_veiled(notify, question) || is_unveiled(notify, question)) {
		say_hidden(notify, question);
		return -EACCES;
	}
	if (place->exists && S_ISFIFO(place->mode) && place->is_read_only &&
	    is_writing(question))
		return judge_pipe(notify, question);
	if (question->row->act != ACT_NAME && !is_changing(question))
		return ANSWER_GO_ON;
	if (is_guarded(notify, question)) {
		say(notify, question, &protected);
		return -EACCES;
	}
	if (question->row->act != ACT_NAME && place->is_read_only)
		say(notify, question, &read_only);
	return ANSWER_GO_ON;
}

static int judge_connect(struct notify *notify,
			 struct notify_question *question)
{
	struct place *place = &question->place;
	struct place_object object;
	int rc;

	/* The kernel may find by a descriptor what has no name any more. */
	if (!place->exists)
		return -ENOENT;
	rc = place_look(&object, &question->view, place);
	if (rc < 0)
		return rc;
	if (!S_ISSOCK(object.mode) ||
	    guard_allows_socket(&notify->guard, place->path))
		return ANSWER_GO_ON;
	rc = object.is_read_only ? -EACCES
				 : peers_judge(&notify->peers, &object);
	if (rc == -EACCES)
		say(notify, question, &a_socket);
	return rc;
}

/* The path in a Unix address: 0; ANSWER_GO_ON's business otherwise (1), or
 * a negative errno. */
static int read_address(pid_t pid, const __u64 *args, char out[PATH_MAX])
{
	struct sockaddr_un address = {0};
	/* The kernel does not look at the upper half of the register. */
	size_t len = (uint32_t)args[2];

	if (len < sizeof(address.sun_family) || len > sizeof(address))
		return 1;
	if (place_read_memory(pid, args[1], &address, len) != (ssize_t)len)
		return -EFAULT;
	if (address.sun_family != AF_UNIX || !address.sun_path[0])
		return 1;
	len -= offsetof(struct sockaddr_un, sun_path);
	memcpy(out, address.sun_path, len);
	out[len] = '\0';
	return 0;
}

static void read_flags(struct notify_question *question)
{
	if (question->row->act == ACT_CREATE)
		question->flags = O_CREAT | O_WRONLY | O_TRUNC;
	if (question->row->flags != NONE)
		question->flags = question->args[question->row->flags];
}

/* "link/" is followed whatever the flags say. */
static bool follows(const struct notify_question *question, const char *path)
{
	enum act act = question->row->act;
	uint64_t flags = question->flags;

	if (act == ACT_WRITE || act == ACT_CONNECT || act == ACT_CREATE)
		return true;
	if (act == ACT_NAME)
		return flags & AT_SYMLINK_FOLLOW;
	if (act != ACT_OPEN)
		return false;
	if (path[strlen(path) - 1] == '/')
		return true;
	return !(flags & O_NOFOLLOW) &&
	       !((flags & O_CREAT) && (flags & O_EXCL));
}

/* A host's socket that is not inside: say so, and let it be missing. */
static void say_not_mounted(struct notify *notify,
			    struct notify_question *question, const char *path)
{
	struct stat st;

	if (question->row->act != ACT_CONNECT || path[0] != '/' ||
	    lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	snprintf(question->place.path, PATH_MAX, "%s", path);
	say(notify, question, &not_mounted);
}

/* Is the path in a socket's address? */
static bool has_address(const struct notify_path *row)
{
	return row->call == __NR_connect || row->call == __NR_bind;
}

/* Read all paths of the call whose rows these are. */
static void read_paths(struct notify_question *question,
		       const struct notify_path *const rows[PATHS_MAX],
		       unsigned count)
{
	const pid_t pid = question->view.pid;
	const __u64 *args = question->args;

	if (count == PATHS_MAX)
		place_read_strings(pid,
				   (const uint64_t[]){args[rows[0]->path],
						      args[rows[1]->path]},
				   question->paths, question->results);
	else if (has_address(rows[0]))
		question->results[0] =
			read_address(pid, args, question->paths[0]);
	else
		question->results[0] = place_read_string(
			pid, args[rows[0]->path], question->paths[0]);
}

static int judge(struct notify *notify, struct notify_question *question)
{
	const struct notify_path *row = question->row;
	char *path = question->paths[question->index];
	int dir = row->dir == NONE ? AT_FDCWD : (int)question->args[row->dir];
	int rc = question->results[question->index];

	if (rc == 1)
		return ANSWER_GO_ON;
	read_flags(question);
	/* An empty path is the descriptor itself, where the call takes it. */
	if (rc == -ENOENT && row->act == ACT_NAME) {
		place_of_descriptor(&question->place, &question->view, dir);
		return judge_handle(notify, question);
	}
	if (rc == -ENOENT)
		return ANSWER_GO_ON;
	if (rc < 0)
		return notify_is_own(notify, question->view.pid) ? ANSWER_GO_ON
								 : rc;
	if (!strcmp(path, "/dev/null"))
		return ANSWER_GO_ON;
	rc = place_find(&question->place, &question->view, dir, path,
			follows(question, path));
	if (rc < 0 || (row->act == ACT_CONNECT && !question->place.exists))
		say_not_mounted(notify, question, path);
	if (rc < 0)
		return rc;
	if (row->act == ACT_CONNECT)
		return judge_connect(notify, question);
	if (row->act == ACT_MOVE_FROM)
		question->moved = question->place;
	if (!question->place.exists && !is_making(question))
		return ANSWER_GO_ON;
	return judge_write(notify, question);
}

/* Would a new file have a set-id bit? The mode is in a register: what we see
 * is what the kernel takes. */
static bool makes_set_id(const struct seccomp_data *data)
{
	uint64_t mode = 0;

	if (data->nr == __NR_openat && (data->args[2] & (O_CREAT | O_TMPFILE)))
		mode = data->args[3];
	if (data->nr == __NR_mknodat)
		mode = data->args[2];
#ifdef __NR_open
	if (data->nr == __NR_open && (data->args[1] & (O_CREAT | O_TMPFILE)))
		mode = data->args[2];
	if (data->nr == __NR_creat || data->nr == __NR_mknod)
		mode = data->args[1];
	if (data->nr == __NR_chmod)
		return true;
#endif
	/* The filter shows us these with such a bit only. */
	if (data->nr == __NR_fchmodat || data->nr == __NR_fchmod)
		return true;
	return mode & (S_ISUID | S_ISGID);
}

/* The rows of a call. How many. */
static unsigned rows_of(int call, const struct notify_path *rows[PATHS_MAX])
{
	unsigned count = 0;

	for (size_t i = 0; count < PATHS_MAX && i < ARRAY_SIZE(paths); i++)
		if (paths[i].call == call)
			rows[count++] = &paths[i];
	return count;
}

/* Judge its paths one after the other, up to a refusal. */
static int judge_paths(struct notify *notify,
		       const struct notify_path *const rows[PATHS_MAX],
		       unsigned count)
{
	struct notify_question *question = notify->question;
	int rc = ANSWER_GO_ON;

	place_begin(&question->view, notify->root, (pid_t)notify->request->pid);
	question->args = notify->request->data.args;
	question->moved.exists = false;
	read_paths(question, rows, count);
	for (unsigned i = 0; rc == ANSWER_GO_ON && i < count; i++) {
		question->row = rows[i];
		question->index = i;
		question->flags = 0;
		rc = judge(notify, question);
	}
	return rc;
}

static int decide(struct notify *notify)
{
	const struct seccomp_data *data = &notify->request->data;
	const struct notify_path *rows[PATHS_MAX];
	unsigned count;

	if (makes_set_id(data))
		return notify_refuse(notify, RULE_SET_ID, "no set-id bits");
	if (data->nr == __NR_socket)
		return notify_refuse_socket(notify);
	count = rows_of(data->nr, rows);
	return count > 0 ? judge_paths(notify, rows, count)
			 : notify_refuse(notify, RULE_SYSCALLS,
					 "not open to a sandbox");
}

int notify_serve(struct notify *notify)
{
	struct seccomp_notif_resp *answer = notify->answer;
	int rc;

	memset(notify->request, 0, notify->request_size);
	memset(answer, 0, notify->answer_size);
	if (ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_RECV, notify->request) < 0)
		return errno == EINTR || errno == ENOENT ? 0 : -1;
	rc = decide(notify);
	answer->id = notify->request->id;
	answer->error = rc;
	if (rc == ANSWER_GO_ON)
		answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	/* ENOENT: the program was killed meanwhile. */
	(void)ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_SEND, answer);
	return 0;
}

static void release(struct notify *notify)
{
	if (notify->fd >= 0)
		(void)close(notify->fd);
	if (notify->root >= 0)
		(void)close(notify->root);
	guard_close(&notify->guard);
	free(notify->request);
	free(notify->answer);
	free(notify->question);
	*notify = (struct notify){.fd = -1, .root = -1};
}

int notify_open(struct notify *notify, int fd, int root,
		const struct plan *plan, struct report *report, struct err *err)
{
	struct seccomp_notif_sizes sizes;
	unsigned long sync = SYNC_WAKE_UP;

	*notify = (struct notify){
		.fd = fd, .root = root, .plan = plan, .report = report};
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0) {
		err_system(err, "notify: ask for sizes");
		release(notify);
		return -1;
	}
	notify->request_size = sizes.seccomp_notif > sizeof(*notify->request)
				       ? sizes.seccomp_notif
				       : sizeof(*notify->request);
	notify->answer_size = sizes.seccomp_notif_resp > sizeof(*notify->answer)
				      ? sizes.seccomp_notif_resp
				      : sizeof(*notify->answer);
	notify->request = calloc(1, notify->request_size);
	notify->answer = calloc(1, notify->answer_size);
	notify->question = calloc(1, sizeof(*notify->question));
	if (!notify->request || !notify->answer || !notify->question ||
	    guard_open(&notify->guard, plan, err) < 0) {
		release(notify);
		return err_set(err, ERR_TOO_LARGE, "notify: no memory");
	}
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, sync);
	return 0;
}
