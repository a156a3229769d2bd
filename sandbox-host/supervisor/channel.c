#include "sandbox-host/supervisor/channel.h"

#include <unistd.h>

int channel_open(struct io_loop *loop, const struct rpc_config *config,
		 struct rpc **rpc, struct err *err)
{
	int ends[2];

	*rpc = NULL;
	if (io_message_pair(ends, err) < 0)
		return -1;
	*rpc = rpc_new(loop, ends[0], config, err);
	if (*rpc)
		return ends[1];
	(void)close(ends[1]);
	return -1;
}
