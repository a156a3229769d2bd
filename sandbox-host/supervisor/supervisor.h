/*
 * sallyport-supervisor: one process for one sandbox of the service. It makes
 * the session with the gateway and the sandbox, serves both until they end,
 * and removes all it made. It outlives the daemon that started it: a daemon
 * started later finds it by its socket.
 *
 *	build   -> policy, session, workspace, sandbox
 *	store   -> an image and volumes for it; image: what that says
 *	life    -> states, expiry, rest, the end
 *	answers -> what the daemon asks
 *	inside  -> words of process 1, to whoever waits for them
 *	exec    -> commands, each with a channel to who asked for it
 *	background -> those that go on without who asked, and what they write
 *	shells  -> what sessions of a shell keep from run to run
 *	residents -> terminals and contexts, which stay when who looks goes
 *	admit   -> those that the policy lets run
 *	ask     -> a person, about those that it leaves to one
 *	isolate -> another sandbox beside this one, in its workspace
 *	changes -> what an isolated session changed there
 *	agents  -> what serves files inside
 *	signals -> for commands, until they were sent
 *	ports   -> ports of the inside on the host's loopback
 *	output  -> what the entrypoint writes, to the sandbox's log
 *	pace    -> how fast is read what nobody waits for
 *	events  -> what happened, the newest
 *	network -> what the gateway denies, among the events
 *	link    -> the session stays while we do
 *	secrets -> files of the gateway's that were not hidden at the start
 *	again   -> another one, when the gateway had ended and is back
 *	away    -> an answer to who connects meanwhile
 *
 * It dies: the kernel ends everything inside with it, the gateway ends the
 * session, and the daemon sweeps what is left.
 */
#ifndef SANDBOX_HOST_SUPERVISOR_SUPERVISOR_H
#define SANDBOX_HOST_SUPERVISOR_SUPERVISOR_H

#include <limits.h>

#include "common/io.h"
#include "gateway/flow/proposal.h"
#include "policies/command/judge.h"
#include "policies/policy.h"
#include "sandbox-host/flow/files.h"
#include "sandbox-host/flow/messages.h"
#include "sandbox-host/service.h"
#include "sandbox-host/session/gateway.h"
#include "sandbox-host/session/recorder.h"
#include "sandbox-host/supervisor/image.h"
#include "sandbox-host/supervisor/pace.h"

#define EXECS_MAX	     512 /* channels for commands */
#define PORTS_MAX	     32
#define PORT_CONNECTIONS_MAX 128  /* of all ports */
#define WAITING_MAX	     1024 /* for words of process 1 */
#define ASKS_MAX	     16	  /* commands that wait for a person */
#define LINK_RETRY_MS	     500
#define SESSION_TTL_S	     (7 * 24 * 3600) /* the longest there is */
#define SESSION_RENEW_MS     (24 * 3600 * 1000)
#define AWAY_AFTER_MS	     3000 /* until then they wait for the gateway */
#define AWAY_KEPT	     64	  /* answered, not yet closed */

/* Somebody who waits for words of process 1 about one number. */
struct waiting {
	uint32_t serial;
	void (*on_word)(struct service_word *word, void *owner);
	void *owner;
	struct waiting *next, *prev;
};

struct again;
struct away;
struct background;
struct changes_channel;
struct commit;
struct egress;
struct event;
struct exec;
struct port;
struct relay;
struct residents;
struct shells;

/* How it was started; strings live as long as the process. */
struct supervisor_options {
	char *id; /* in the command line; of no sandbox yet at first */
	const char *workspaces;	    /* where new ones are made */
	const char *default_policy; /* a file; or NULL */
	struct sandbox_uids uids;
	const char *image, *image_settings; /* NULL: the host's own root */
	bool image_is_read_only;
	const char *volumes[SUPERVISOR_ROOTS_MAX]; /* volumes are below */
	size_t volume_count;
	const char *private[SUPERVISOR_ROOTS_MAX]; /* and never in these */
	size_t private_count;
	const char *secret; /* a file that is shown to nobody inside; NULL */
	bool is_bounded; /* the policy brings in nothing of the host's files */
	bool is_ahead;	 /* nobody has asked for it yet (ahead.c) */
	bool is_pooled;	 /* host.yaml asks for it */
};

struct supervisor {
	struct supervisor_options options;
	struct io_loop *loop;
	int dir; /* of the sandbox's files */
	struct arena arena;
	struct request_memory memory;
	struct sandbox_request request;

	/* ahead: who wants it now, until it is theirs */
	struct rpc_ticket taker;
	struct request_memory taken_memory;
	struct sandbox_request taken;

	/* build */
	struct policy *policy;
	struct command_gate gate; /* of the policy's `commands` */
	struct reply session;
	const char *workspace;
	bool owns_workspace;
	char changes[PATH_MAX]; /* of an overlay; empty: there is none */
	const char *layers;	/* over an image; NULL: there are none */
	struct image image;
	struct sandbox *sandbox;

	/* life */
	enum host_state state;
	char reason[HOST_REASON_MAX + 1];
	char message[HOST_MESSAGE_MAX + 1];
	uint64_t changed_ms, expires_ms; /* wall clock */
	uint64_t ran_ms; /* the same: last run of its own shell; 0 */
	bool has_exit_code;
	int exit_code;
	uint64_t expiry_ms;   /* the same on the monotonic clock */
	uint64_t time_end_ms; /* monotonic: `limits.time` is over; 0: none */
	struct io_timer *expiry;
	struct io_timer *rest_timer;
	uint64_t rest_until_ms, rest_again_ms; /* monotonic: the end of it, and
						the next try */
	unsigned rest_wait_ms;		       /* until then */
	struct rpc_ticket rest_ticket;

	/* egress */
	struct egress *egresses;
	size_t egress_count;
	/* changes, of an isolated session */
	struct changes_channel *changes_channel; /* one at a time */
	struct commit *commit; /* wanted when it ends; NULL: none is */

	/* answers */
	struct rpc *daemon; /* NULL: there is none now */
	struct io_listener *listener;
	/* inside */
	struct io_watch *control, *reports, *disk;
	struct waiting *waiting;
	size_t waiting_count;
	uint32_t last_serial;
	struct exec *execs;
	size_t exec_count, ask_count;
	struct background *background; /* NULL: nothing was kept yet */
	struct shells *shells;	       /* likewise */
	struct residents *residents;   /* likewise */
	char ask_key[27]; /* of what is not shown (admit.c); empty yet */
	struct port *ports;
	struct relay *relays;
	size_t port_count, relay_count;

	/* metrics: last asked for (0: never), and what was used by then */
	uint64_t metrics_ms, metrics_cpu_ms;

	/* output */
	int output, log; /* the pipe's read end, -1; where it goes */
	struct io_watch *output_watch;
	struct pace_turn output_turn;
	uint64_t log_size;
	/* pace */
	struct pace pace;

	/* events */
	struct event *events; /* a ring */
	uint64_t event_count; /* ever */
	struct recorder recorder;

	/* link */
	struct attachment attachment;
	struct io_timer *link_timer, *renew_timer;
	struct session_request wanted;	    /* what it was created from */
	struct sandbox_listeners listeners; /* ours; for another session */
	uint64_t session_end_ms, lost_ms;   /* monotonic; not lost: 0 */
	bool is_unknown;     /* to the gateway: another one is to be made */
	struct again *again; /* one that is under way; or NULL */
	struct away *away;   /* NULL: nobody is answered */
	char *policy_text;   /* changed; NULL: as at first */
	unsigned changes_unheard; /* of it, by the daemon */
	pid_t reader;		  /* of the gateway's denials; 0: none */
	int denials;		  /* its queue */
	struct io_watch *denials_watch;
};

#endif
