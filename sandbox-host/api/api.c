#include "sandbox-host/api/api.h"

#include <string.h>

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
	if (api->is_loading) {
		memcpy(api->waiting, sockets, count * sizeof(*sockets));
		api->waiting_count = count;
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		if (http_server_listen(&api->server, sockets[i], on_client, api,
				       err) < 0)
			return -1;
	return 0;
}

int api_serve(struct api *api, struct err *err)
{
	api->is_loading = false;
	return api_open(api, api->waiting, api->waiting_count, err);
}
