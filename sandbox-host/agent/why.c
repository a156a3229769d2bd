/* Why a file can not be read or written, in the reporter's words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sandbox-host/agent/parts.h"
#include "sandbox-host/plan_parts.h"

static const char *const verbs[] = {
	[ATTEMPT_READ] = "read of",	 [ATTEMPT_WRITE] = "write to",
	[ATTEMPT_REMOVE] = "removal of", [ATTEMPT_MOVE] = "move of",
	[ATTEMPT_MAKE] = "creation of",	 [ATTEMPT_LINK] = "creation of",
	[ATTEMPT_ACCESS] = "access to",
};

static enum host_refusal code_of(int number)
{
	switch (number) {
	case ENOENT:
		return HOST_REFUSED_MISSING;
	case EACCES:
	case EPERM:
	case EROFS:
	case EBUSY:
		return HOST_REFUSED_FORBIDDEN;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EMLINK:
		return HOST_REFUSED_FULL;
	case EEXIST:
	case ENOTEMPTY:
	case ETXTBSY:
		return HOST_REFUSED_STATE;
	case EINVAL:
	case EISDIR:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case EXDEV:
	case ENXIO: /* a socket, a terminal that nobody has */
	case ENODEV:
		return HOST_REFUSED_INVALID;
	case ENOSYS: /* nobody judges the call any more: all inside ends */
		return HOST_REFUSED_UNREACHABLE;
	default:
		return HOST_REFUSED;
	}
}

static void clean(char *text)
{
	for (; *text; text++)
		if ((uint8_t)*text < ' ' || (uint8_t)*text > 0x7e)
			*text = '?';
}

/* Does the attempt go where a link at the end of the path leads? */
static bool is_followed(enum attempt attempt)
{
	return attempt == ATTEMPT_READ || attempt == ATTEMPT_WRITE ||
	       attempt == ATTEMPT_MAKE || attempt == ATTEMPT_ACCESS;
}

/* The real name of what is, or would be, at path: its directories are
 * followed as far as they are there. */
static void find_real(enum attempt attempt, const char *path,
		      char out[PATH_MAX])
{
	char name[PATH_MAX], head[PATH_MAX], real[PATH_MAX];
	size_t len;
	int put;

	if (!is_followed(attempt) || path_follow(path, name) < 0)
		(void)snprintf(name, sizeof(name), "%s", path);
	(void)snprintf(head, sizeof(head), "%s", name);
	do {
		const char *slash = strrchr(head, '/');

		len = slash ? (size_t)(slash - head) : 0;
		head[len] = '\0';
		if (realpath(len ? head : name[0] == '/' ? "/" : ".", real))
			break;
		real[0] = '\0';
	} while (len > 0);
	put = snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "",
		       name + len + (name[len] == '/'));
	if (put < 0 || put >= PATH_MAX)
		(void)snprintf(out, PATH_MAX, "%s", path);
}

static bool is_covered(const struct plan *plan, enum plan_kind kind,
		       const char *path)
{
	for (size_t i = 0; i < plan->step_count; i++)
		if (plan->steps[i].kind == kind &&
		    plan_is_within(path, plan->steps[i].target))
			return true;
	return false;
}

/* The policy's reason, or NULL. */
static const char *reason_of(const struct agent *agent, enum attempt attempt,
			     const char *path)
{
	if (is_covered(agent->plan, PLAN_HIDE, path) ||
	    guard_veils(&agent->guard, path, false) ||
	    guard_veils(&agent->guard, path, true))
		return "hidden";
	if (attempt == ATTEMPT_READ)
		return NULL;
	if (is_covered(agent->plan, PLAN_PROTECT, path) ||
	    guard_covers(&agent->guard, path) ||
	    guard_is_above(&agent->guard, path))
		return "protected";
	return plan_is_writable(agent->plan, path) ? NULL : "read-only";
}

int agent_may(const struct agent *agent, enum attempt attempt, const char *path)
{
	char real[PATH_MAX];
	bool is_moved = attempt == ATTEMPT_MOVE || attempt == ATTEMPT_LINK;

	find_real(attempt, path, real);
	if (!guard_veils(&agent->guard, real, false) &&
	    !guard_veils(&agent->guard, real, true) &&
	    (attempt == ATTEMPT_READ || !guard_covers(&agent->guard, real)) &&
	    !(is_moved && guard_is_above(&agent->guard, real)))
		return 0;
	errno = EACCES;
	return -1;
}

int agent_may_move(const struct agent *agent, const char *from, const char *to)
{
	char before[PATH_MAX], after[PATH_MAX];
	struct stat st;

	find_real(ATTEMPT_MOVE, from, before);
	find_real(ATTEMPT_MOVE, to, after);
	if (lstat(from, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    guard_keeps(&agent->guard, before, after))
		return 0;
	errno = EACCES;
	return -1;
}

bool agent_may_remove(const struct agent *agent, const char *real)
{
	return !guard_veils(&agent->guard, real, true) &&
	       !guard_covers(&agent->guard, real);
}

void agent_refuse(struct agent *agent, struct rpc_ticket ticket,
		  enum attempt attempt, const char *path)
{
	enum host_refusal code = code_of(errno);
	const char *words = strerror(errno);
	char real[PATH_MAX];
	const char *reason;

	find_real(attempt, path, real);
	reason = code == HOST_REFUSED_FORBIDDEN
			 ? reason_of(agent, attempt, real)
			 : NULL;
	clean(real);
	if (reason)
		rpc_refuse(ticket, (uint16_t)code,
			   "%s %.300s denied by filesystem (%s)",
			   verbs[attempt], real, reason);
	else
		rpc_refuse(ticket, (uint16_t)code, "%.300s: %s", real, words);
}
