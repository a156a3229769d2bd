#include "sandbox-host/peers.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/cleanup.h"

#define BUFFER_BYTES 32768 /* what the kernel gives at once, at most */
#define ALL_COOKIES  ~0u
/* A device as the kernel has it in memory. */
#define KERNEL_MINOR_BITS 20
#define KERNEL_MINOR_MASK ((1u << KERNEL_MINOR_BITS) - 1)

int peers_open(int *fd, struct err *err)
{
	*fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	return *fd >= 0 || errno == EPROTONOSUPPORT || errno == EAFNOSUPPORT
		       ? 0
		       : err_system(err, "peers: ask for sockets");
}

/* Who is looked for, and who was found. */
struct search {
	uint32_t inode; /* the kernel tells no more of it */
	dev_t device;
	bool is_found;
	bool has_other; /* one of another device: perhaps the same */
};

static int on_attribute(const struct nlattr *attribute, void *data)
{
	const struct nlattr **vfs = data;

	if (mnl_attr_get_type(attribute) == UNIX_DIAG_VFS &&
	    mnl_attr_get_payload_len(attribute) >= sizeof(struct unix_diag_vfs))
		*vfs = attribute;
	return MNL_CB_OK;
}

static int on_socket(const struct nlmsghdr *message, void *data)
{
	struct search *search = data;
	const struct nlattr *attribute = NULL;
	const struct unix_diag_vfs *vfs;
	dev_t device;

	(void)mnl_attr_parse(message, sizeof(struct unix_diag_msg),
			     on_attribute, &attribute);
	if (!attribute)
		return MNL_CB_OK;
	vfs = mnl_attr_get_payload(attribute);
	if (vfs->udiag_vfs_ino != search->inode)
		return MNL_CB_OK;
	device = makedev(vfs->udiag_vfs_dev >> KERNEL_MINOR_BITS,
			 vfs->udiag_vfs_dev & KERNEL_MINOR_MASK);
	search->is_found |= device == search->device;
	search->has_other |= device != search->device;
	return MNL_CB_OK;
}

static int ask(int fd, unsigned sequence)
{
	char bytes[MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(struct unix_diag_req))];
	struct nlmsghdr *message = mnl_nlmsg_put_header(bytes);
	struct unix_diag_req *request;

	message->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	message->nlmsg_seq = sequence;
	request = mnl_nlmsg_put_extra_header(message, sizeof(*request));
	request->sdiag_family = AF_UNIX;
	request->udiag_states = 1u << TCP_LISTEN;
	request->udiag_show = UDIAG_SHOW_VFS;
	request->udiag_cookie[0] = request->udiag_cookie[1] = ALL_COOKIES;
	return send(fd, message, message->nlmsg_len, 0) < 0 ? -errno : 0;
}

/* All of an answer, so that the next one is to the next question. The kernel
 * makes it while it is read: nothing waits. */
static int search_all(int fd, struct search *search)
{
	static unsigned sequence;
	char bytes[BUFFER_BYTES];
	int rc = ask(fd, ++sequence);

	for (unsigned i = 0; rc == 0 && i < PEERS_ANSWERS_MAX; i++) {
		ssize_t len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (len < 0)
			return -errno;
		switch (mnl_cb_run(bytes, (size_t)len, sequence, 0, on_socket,
				   search)) {
		case MNL_CB_OK:
			break;
		case MNL_CB_STOP:
			return 0;
		default:
			return -errno;
		}
	}
	return rc < 0 ? rc : -E2BIG;
}

/* The device of a mount's file system. Of some (btrfs, an overlay) stat() tells
 * another one of a file. False: it is not known. */
static bool device_of_mount(pid_t init, uint64_t mount, dev_t *device)
{
	unsigned major = 0, minor = 0;
	size_t size = 0;
	char path[64];
	char *line = NULL;
	bool is_known = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init);
	file = fopen(path, "re");
	while (file && !is_known && getline(&line, &size, file) > 0) {
		unsigned long id;

		is_known = sscanf(line, "%lu %*u %u:%u", &id, &major, &minor) ==
				   3 &&
			   id == mount;
	}
	if (is_known)
		*device = makedev(major, minor);
	free(line);
	if (file)
		(void)fclose(file);
	return is_known;
}

/* Does a socket of the descriptor's namespace listen there? 1, 0, or a negative
 * errno. */
static int listens(int fd, pid_t init, const struct place_object *object)
{
	struct search search = {
		.inode = (uint32_t)object->inode,
		.device = object->device,
	};
	int rc = search_all(fd, &search);

	if (rc < 0 || search.is_found || !search.has_other)
		return rc < 0 ? rc : search.is_found;
	if (!device_of_mount(init, object->mount, &search.device))
		return 0;
	rc = search_all(fd, &search);
	return rc < 0 ? rc : search.is_found;
}

int peers_begin(struct peers *peers, struct err *err)
{
	struct search search = {0};
	int rc = peers->inside < 0 ? -ENOENT
				   : search_all(peers->inside, &search);

	if (rc == 0)
		return 0;
	/* It has no such questions, or knows no Unix sockets. */
	if (rc != -ENOENT)
		return err_set(err, ERR_SYSTEM,
			       "peers: sockets are not told: %s",
			       strerror(-rc));
	if (peers->inside >= 0)
		(void)close(peers->inside);
	peers->inside = -1;
	return 0;
}

static bool is_known(const struct peers *peers,
		     const struct place_object *object)
{
	for (size_t i = 0; object->born && i < PEERS_KNOWN; i++) {
		const struct peers_file *file = &peers->known[i];

		if (file->inode == object->inode &&
		    file->born == object->born &&
		    file->device == object->device)
			return true;
	}
	return false;
}

static void learn(struct peers *peers, const struct place_object *object)
{
	peers->known[peers->next] = (struct peers_file){
		object->inode, object->born, object->device};
	peers->next = (peers->next + 1) % PEERS_KNOWN;
}

int peers_judge(struct peers *peers, const struct place_object *object)
{
	int rc;

	if (peers->inside < 0 || is_known(peers, object))
		return 0;
	rc = listens(peers->inside, peers->init, object);
	if (rc > 0) {
		learn(peers, object);
		return 0;
	}
	if (rc == 0 && peers->outside >= 0 &&
	    listens(peers->outside, peers->init, object) > 0)
		return -EACCES;
	return -ECONNREFUSED;
}
