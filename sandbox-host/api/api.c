#include "sandbox-host/api/api.h"

#include <utlist.h>

#include "sandbox-host/api/conn.h"

static void on_client(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	(void)peer;
	(void)original;
	(void)was_redirected;
	conn_accept(owner, fd);
}

int api_open(struct api *api, const int *sockets, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		struct io_listener *listener =
			io_listen(api->loop, sockets[i], on_client, api, err);

		if (!listener)
			return -1;
		api->listeners[api->listener_count++] = listener;
	}
	return 0;
}

void api_close(struct api *api)
{
	struct conn *conn, *next;

	for (size_t i = 0; i < api->listener_count; i++)
		io_listener_free(api->listeners[i]);
	api->listener_count = 0;
	DL_FOREACH_SAFE(api->conns, conn, next)
	conn_close(conn);
}
