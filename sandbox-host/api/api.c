#include "sandbox-host/api/api.h"

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
