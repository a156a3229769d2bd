/* System calls that are refused whatever they name. */
#include <errno.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "policies/remedy.h"
#include "sandbox-host/notify.h"

#define SOCKET_TYPE 0xf /* the rest of a socket's type are flags */

/* What a socket that no sandbox has is answered with. */
static int socket_error(const struct seccomp_data *data)
{
	int family = (int)data->args[0];
	int protocol = (int)data->args[2];

	if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
	    family != AF_NETLINK)
		return -EAFNOSUPPORT;
	if ((family == AF_INET || family == AF_INET6) && protocol > IPPROTO_UDP)
		return -EPROTONOSUPPORT;
	return -EPERM;
}

int notify_refuse_socket(struct notify *notify)
{
	const struct seccomp_data *data = &notify->request->data;

	report_deny(notify->report, CONSTRAINT_syscall, RULE_SYSCALLS,
		    "socket denied by syscall (family %d, type %d, protocol "
		    "%d is not open to a sandbox)",
		    (int)data->args[0], (int)data->args[1] & SOCKET_TYPE,
		    (int)data->args[2]);
	return socket_error(data);
}

int notify_refuse(struct notify *notify, const char *rule, const char *why)
{
	char *name = seccomp_syscall_resolve_num_arch(
		notify->request->data.arch, notify->request->data.nr);

	report_deny(notify->report, CONSTRAINT_syscall, rule,
		    "%s denied by syscall (%s)", name ? name : "a call", why);
	free(name);
	return -EPERM;
}
