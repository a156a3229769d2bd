/*
 * sallyport-api: started by sallyport-host (daemon/serve_api.c) with its
 * channel, its sealed configuration, and the sockets that it serves.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/confine.h"
#include "common/digest.h"
#include "common/log.h"
#include "common/secret.h"
#include "sandbox-host/api/api.h"
#include "sandbox-host/api/conn.h"
#include "sandbox-host/api/execd_isolated.h"

#define FILES_MAX   16384
#define FILES_LEAST 1024

/* Beside confine's base set: accepted connections; sealed requests; pipes
 * for the commands that are run in sandboxes. */
static const char *const syscalls[] = {
	"accept4",    "getsockname",	   "getsockopt",
	"setsockopt", "shutdown",	   "pipe2",
	"ioctl",      CONFINE_CALLS_MEMFD, CONFINE_CALLS_SECRET,
	NULL,
};

/* Without the daemon nothing can be done; the next one starts another. */
static void on_daemon_gone(struct rpc *rpc, const char *why, void *owner)
{
	(void)rpc;
	(void)owner;
	log_info("the daemon is gone: %s", why);
	_exit(0);
}

static void answer_certificate(struct rpc_ticket ticket, const void *message,
			       int *fd, void *owner)
{
	struct api *api = owner;

	(void)ticket;
	(void)message;
	if (api->tls)
		api_tls_take(api, *fd);
}

/* Nothing borrows from what was before beyond one turn: requests to the
 * daemon are sealed when they are read. */
static void answer_config(struct rpc_ticket ticket, const void *message,
			  int *fd, void *owner)
{
	struct api *api = owner;
	struct api_memory memory;
	struct api_config config;
	struct err err;

	(void)ticket;
	(void)message;
	if (api_config_open(*fd, &memory, &config, &err) < 0) {
		log_error("a configuration is no good: %s", err.text);
		/* A key that was taken back opens nothing: who is started in
		 * our place has it. */
		_exit(1);
	}
	api_memory_release(&api->memory);
	api->memory = memory;
	api->config = config;
}

static const struct rpc_permit permits[] = {
	{MSG_API_CERTIFICATE, &wire_empty_schema, answer_certificate, true, 0},
	{MSG_API_CONFIG, &wire_empty_schema, answer_config, true, 0},
};

static int take_config(struct api *api, struct err *err)
{
	auto_fd int fd = API_FD_CONFIG;

	return api_config_open(fd, &api->memory, &api->config, err);
}

/* jansson would open /dev/urandom for it. */
static void seed_objects(void)
{
	size_t seed = 0;

	while (seed == 0)
		random_bytes(&seed, sizeof(seed));
	json_object_seed(seed);
}

/* Values for a sandbox's vault come as JSON. */
static void free_wiped(void *block)
{
	if (block)
		secret_wipe(block, malloc_usable_size(block));
	free(block);
}

/* A connection may need another one, to the inside: so many there may be. */
static size_t raise_descriptor_limit(void)
{
	struct rlimit limit = {.rlim_max = FILES_LEAST};

	(void)getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur =
		limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur / 4 < API_CONNS_MAX ? limit.rlim_cur / 4
						  : API_CONNS_MAX;
}

static int start(struct api *api, struct err *err)
{
	const struct rpc_config channel = {
		.permits = permits,
		.permit_count = ARRAY_SIZE(permits),
		.owner = api,
		.on_closed = on_daemon_gone,
	};
	struct confine_spec confinement = {.name = "api", .syscalls = syscalls};
	int sockets[API_LISTENERS_MAX];
	size_t count, conns_max;

	secret_protect_process();
	json_set_alloc_funcs(malloc, free_wiped);
	seed_objects();
	conns_max = raise_descriptor_limit();
	if (take_config(api, err) < 0)
		return -1;
	count = api->config.addresses_count;
	for (size_t i = 0; i < count; i++)
		sockets[i] = API_FD_SOCKETS + (int)i;
	api->loop = io_loop_new(err);
	if (!api->loop)
		return -1;
	io_loop_wipe(api->loop);
	conns_open(api, conns_max);
	if (api->config.has_tls && api_tls_open(api, sockets, count, err) < 0)
		return -1;
	confinement.uid = (uid_t)api->config.uid;
	confinement.gid = (gid_t)api->config.uid;
	if (confine(&confinement, err) < 0)
		return -1;
	api->daemon = rpc_new(api->loop, API_FD_CHANNEL, &channel, err);
	if (!api->daemon || isolated_load(api, err) < 0)
		return -1;
	return api->config.has_tls ? 0 : api_open(api, sockets, count, err);
}

int main(void)
{
	static struct api api;
	struct err err;

	log_open("api", NULL);
	if (start(&api, &err) < 0 || io_loop_run(api.loop, &err) < 0) {
		(void)fprintf(stderr, "sallyport-api: %s\n", err.text);
		return 1;
	}
	return 0;
}
