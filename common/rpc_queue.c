#include "common/rpc_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io.h"
#include "common/rpc.h"
#include "common/secret.h"

struct rpc_queued {
	struct rpc_queued *next;
	int fd; /* a duplicate, or -1 */
	size_t len;
	uint8_t data[];
};

static void drop_first(struct rpc_queue *queue)
{
	struct rpc_queued *first = queue->first;

	queue->first = first->next;
	if (!queue->first)
		queue->last = NULL;
	queue->bytes -= sizeof(*first) + first->len;
	if (first->fd >= 0) {
		(void)close(first->fd);
		queue->fds--;
	}
	/* A token may have passed through here. */
	secret_wipe(first->data, first->len);
	free(first);
}

void rpc_queue_release(struct rpc_queue *queue)
{
	while (queue->first)
		drop_first(queue);
}

static bool is_again(const struct err *err)
{
	return err->code == ERR_SYSTEM && err->number == EAGAIN;
}

static int keep(struct rpc_queue *queue, struct bytes bytes, int fd,
		struct err *err)
{
	size_t size = sizeof(struct rpc_queued) + bytes.len;
	struct rpc_queued *added;

	if (size > RPC_QUEUE_MAX - queue->bytes ||
	    (fd >= 0 && queue->fds >= RPC_QUEUE_FDS_MAX))
		return err_set(err, ERR_TOO_LARGE,
			       "queue a message: the peer does not read");
	added = malloc(size);
	if (!added)
		return err_set(err, ERR_SYSTEM, "queue a message: no memory");
	*added = (struct rpc_queued){.fd = -1, .len = bytes.len};
	memcpy(added->data, bytes.data, bytes.len);
	if (fd >= 0) {
		added->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (added->fd < 0) {
			free(added);
			return err_system(err, "duplicate a descriptor");
		}
		queue->fds++;
	}
	if (queue->last)
		queue->last->next = added;
	else
		queue->first = added;
	queue->last = added;
	queue->bytes += size;
	return 0;
}

static int send_failed(const struct err *why, struct err *err)
{
	if (why->number == EPIPE || why->number == ECONNRESET)
		return err_set(err, ERR_CLOSED, "%s", why->text);
	if (err)
		*err = *why;
	return -1;
}

int rpc_queue_send(struct rpc_queue *queue, int socket, struct bytes bytes,
		   int fd, struct err *err)
{
	struct err why;

	if (queue->first)
		return keep(queue, bytes, fd, err);
	if (io_message_send(socket, bytes, fd, &why) == 0)
		return 0;
	if (is_again(&why))
		return keep(queue, bytes, fd, err);
	return send_failed(&why, err);
}

int rpc_queue_flush(struct rpc_queue *queue, int socket, unsigned max,
		    struct err *err)
{
	for (; queue->first && max > 0; max--) {
		struct rpc_queued *first = queue->first;
		struct bytes bytes = bytes_from(first->data, first->len);
		struct err why;

		if (io_message_send(socket, bytes, first->fd, &why) < 0)
			return is_again(&why) ? 0 : send_failed(&why, err);
		drop_first(queue);
	}
	return 0;
}
