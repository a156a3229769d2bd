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
	for (size_t i = 0; i < count; i++)
		if (http_server_listen(&api->server, sockets[i], on_client, api,
				       err) < 0)
			return -1;
	return 0;
}
