/*
 * Every message of the sandboxes' service (docs/PROTOCOL.md): who asks the
 * daemon (`sallyport-host`), what the daemon asks a sandbox's supervisor, and
 * what runs a command inside. They travel as the gateway's do (common/rpc).
 *
 *	asker (CLI, API)  -- host.sock -->  sallyport-host
 *	sallyport-host    -- socket of the sandbox -->  sallyport-supervisor
 *	asker             -- a channel handed out -->  sallyport-supervisor
 *
 * What a command reads and writes never passes through the daemon: an asker
 * gets a channel to the sandbox's supervisor (MSG_HOST_CHANNEL), and gives it
 * the command's descriptors.
 *
 * A refusal (struct rpc_refusal) carries an enum host_refusal as its code.
 */
#ifndef SANDBOX_HOST_FLOW_MESSAGES_H
#define SANDBOX_HOST_FLOW_MESSAGES_H

#include "common/rpc.h"
#include "sandbox-host/flow/messages_background.h"
#include "sandbox-host/flow/messages_egress.h"
#include "sandbox-host/flow/messages_files.h"
#include "sandbox-host/flow/messages_host.h"
#include "sandbox-host/flow/messages_isolated.h"
#include "sandbox-host/flow/messages_resident.h"
#include "sandbox-host/flow/messages_session.h"
#include "sandbox-host/flow/messages_store.h"
#include "sandbox-host/flow/messages_supervisor.h"

enum host_msg_type {
	/* who asks for sandboxes -> sallyport-host, requests */
	MSG_HOST_CREATE = 300, /* empty + fd: sandbox_request -> host_sandbox,
				  once it runs */
	MSG_HOST_LIST,	       /* host_query -> host_list */
	MSG_HOST_SHOW,	       /* host_ref -> host_sandbox */
	MSG_HOST_KILL,	       /* host_ref -> host_sandbox, once it has ended */
	MSG_HOST_PAUSE,	       /* host_ref -> host_sandbox, once it rests */
	MSG_HOST_RESUME,       /* host_ref -> host_sandbox, once it runs */
	MSG_HOST_RENEW,	       /* host_renew -> host_sandbox */
	MSG_HOST_METADATA,     /* host_patch -> host_sandbox */
	MSG_HOST_CHANNEL, /* host_channel -> empty + fd: to its supervisor */
	MSG_HOST_CONNECT, /* host_port -> empty + fd: a TCP connection to that
			     port inside, perhaps still connecting */
	MSG_HOST_PORT,	  /* host_port -> host_address: who connects there
			     reaches that port inside */
	MSG_HOST_EVENTS,  /* host_after -> host_events */
	MSG_HOST_LOGS,	  /* host_after -> host_log */
	MSG_HOST_STATUS,  /* empty -> host_status */
	MSG_HOST_METRICS = 325, /* host_ref -> host_metrics */
	MSG_HOST_ISOLATE,	/* host_isolate -> host_sandbox, once it runs */
	MSG_HOST_CONFIG,	/* empty -> empty + fd: what holds, sealed, as a
				   text for people */
	MSG_HOST_RELOAD,	/* empty -> host_reloaded */
	MSG_HOST_IMAGES = 400,	/* empty -> host_images */
	MSG_HOST_IMAGE_PULL,	/* host_name -> host_image, once there */
	MSG_HOST_IMAGE_REMOVE,	/* host_name -> empty */
	MSG_HOST_SNAPSHOT,	/* host_snapshot_request -> host_snapshot */
	MSG_HOST_SNAPSHOTS,	/* host_page -> host_snapshots */
	MSG_HOST_SNAPSHOT_SHOW, /* host_ref -> host_snapshot */
	MSG_HOST_SNAPSHOT_REMOVE, /* host_ref -> empty */

	/* sallyport-host -> sallyport-api, notifications */
	MSG_API_CERTIFICATE = 410, /* empty + fd: PEM, sealed: certificates and
				      their key, from now on shown to clients */
	MSG_API_CONFIG,		   /* empty + fd: api_config, sealed: its keys
				      and policies hold from now on */

	/* sallyport-host -> the supervisor of a sandbox, requests */
	MSG_SUPERVISOR_SHOW = 330,    /* empty -> supervisor_state */
	MSG_SUPERVISOR_END,	      /* supervisor_end -> empty, once begun */
	MSG_SUPERVISOR_PAUSE,	      /* empty -> empty, once it rests */
	MSG_SUPERVISOR_RESUME,	      /* empty -> empty, once it runs */
	MSG_SUPERVISOR_RENEW,	      /* host_renew -> empty */
	MSG_SUPERVISOR_CHANNEL,	      /* host_channel -> empty + fd */
	MSG_SUPERVISOR_CONNECT,	      /* host_port -> empty + fd */
	MSG_SUPERVISOR_PORT,	      /* host_port -> host_address */
	MSG_SUPERVISOR_METRICS = 345, /* empty -> host_metrics */
	MSG_SUPERVISOR_ISOLATE,	      /* host_isolate -> empty + fd:
					 sandbox_request */
	MSG_SUPERVISOR_TAKE,	      /* empty + fd: sandbox_request -> empty:
					 it was built ahead, and is that one's
					 now */
	/* a supervisor -> sallyport-host, notifications */
	MSG_SUPERVISOR_STATE = 338, /* supervisor_state: it became that */
	MSG_SUPERVISOR_EVENTS,	    /* host_events: those that are new */
	MSG_SUPERVISOR_CHANGED,	    /* empty -> empty: another policy holds */
	MSG_SUPERVISOR_BASE,	    /* supervisor_base: it was built */

	/* an asker -> a supervisor, on a channel for one command */
	MSG_EXEC_STDIO = 350, /* exec_stdio + fd, notification, before START;
				 one that is not given is /dev/null; a pipe
				 becomes the sandbox's */
	MSG_EXEC_START,	 /* empty + fd: exec_request -> exec_started, with the
			    pty's master when it has one */
	MSG_EXEC_SIGNAL, /* exec_signal -> empty */
	MSG_EXEC_KEEP = 354, /* exec_keep -> background_ref, before START: it
				will go on without the channel, and what it
				writes is kept; no MSG_EXEC_STDIO then */
	/* a supervisor -> the asker, notification */
	MSG_EXEC_ENDED = 353, /* exec_ended: its last word on this channel */
	MSG_EXEC_ASKED = 358, /* exec_asked, before START is answered: it waits
				 for a person; again, for another proposal */

	/* the API -> a supervisor, on a channel for it, requests */
	MSG_BACKGROUND_SHOW = 355, /* background_ref -> background_state */
	MSG_BACKGROUND_READ, /* background_from -> background_output + fd: the
				bytes, sealed; none where there are none */
	MSG_BACKGROUND_STOP, /* background_ref -> empty: SIGTERM for its group,
				and SIGKILL when that does not end it; also
				where it has ended */

	/* the API -> a supervisor, on a channel for it, requests */
	MSG_EGRESS_SHOW = 360, /* empty -> egress_answer + fd: the policy */
	MSG_EGRESS_CHANGE,     /* egress_change + fd -> egress_answer */
	MSG_EGRESS_LEND,       /* egress_value -> egress_answer */

	/* an asker -> the agent inside, on a channel of its own, requests */
	MSG_FILE_SHOW = 370, /* file_ref -> file_entry; no link is followed */
	MSG_FILE_WALK,	     /* file_walk -> file_page: begin at a directory */
	MSG_FILE_WALK_ON,    /* empty -> file_page */
	MSG_FILE_OPEN,	     /* file_ref -> file_entry: to read from */
	MSG_FILE_READ,	     /* file_span -> file_piece */
	MSG_FILE_CREATE,     /* file_access -> empty: begin to write one, and
				the directories above it */
	MSG_FILE_WRITE,	     /* file_piece -> empty: behind what was written */
	MSG_FILE_COMMIT,     /* empty -> empty: from now on it is there */
	MSG_FILE_REMOVE,     /* file_remove -> empty */
	MSG_FILE_MOVE,	     /* file_pair -> empty: to where nothing is */
	MSG_FILE_MKDIR,	     /* file_access -> empty; those above it, too */
	MSG_FILE_LINK,	     /* file_pair -> empty: a symbolic one */
	MSG_FILE_SET_ACCESS, /* file_access -> empty */
	MSG_FILE_REPLACE,    /* empty + fd: file_replace -> file_count */

	/* the API -> a supervisor, on a channel for it, requests */
	MSG_CHANGES_SHOW = 390, /* empty -> empty + fd: changes_list */
	MSG_CHANGES_COMMIT, /* changes_wish -> changes_result; what was applied
			       ends the sandbox */

	/* the API -> a supervisor, on a channel for it, requests */
	MSG_SESSION_MAKE, /* session_wish -> session_ref */
	MSG_SESSION_TAKE, /* session_ref -> session_taken + fd: its state,
			     sealed, where it has run. Nobody else has it before
			     the channel closes */
	MSG_SESSION_GIVE, /* empty + fd, notification: the state of the one that
			     was taken, from now on */
	MSG_SESSION_DROP, /* session_ref -> empty */

	/* the API -> a supervisor, on a channel for it, requests */
	MSG_RESIDENT_MAKE = 420, /* resident_wish + fd: exec_request, that it
				    runs -> resident_ref */
	MSG_RESIDENT_LIST,	 /* resident_ref (its kind) -> resident_list */
	MSG_RESIDENT_SHOW,	 /* resident_ref -> resident_state */
	MSG_RESIDENT_DROP,	 /* resident_ref, or all of a kind -> empty */
	MSG_RESIDENT_SIGNAL,	 /* resident_signal, for its group -> empty; to
				    a context only while something runs in it */
	MSG_RESIDENT_TAKE, /* resident_take -> resident_taken + fd: what is
			      kept, sealed, where there is any. Nobody else has
			      it before the channel closes, or takes it over */
	/* of the one that was taken; the last four notifications */
	MSG_RESIDENT_START,  /* resident_start -> empty, once it runs */
	MSG_RESIDENT_LEAVE,  /* empty: nothing runs in it that is not wanted */
	MSG_RESIDENT_RESIZE, /* resident_size */
	MSG_RESIDENT_WRITE,  /* resident_input: one, until it was heard */
	MSG_RESIDENT_READ,   /* empty: a piece of output may come */
	/* a supervisor -> the API, notifications about it */
	MSG_RESIDENT_HEARD,  /* resident_heard: another one may be written */
	MSG_RESIDENT_OUTPUT, /* resident_output: the piece */
	MSG_RESIDENT_ENDED,  /* resident_ended, after all that it wrote */
	MSG_RESIDENT_LOST,   /* resident_lost: it is not this channel's */
};

enum host_refusal {
	HOST_REFUSED = 1,	  /* it failed */
	HOST_REFUSED_INVALID,	  /* what was asked makes no sense */
	HOST_REFUSED_MISSING,	  /* there is no such sandbox */
	HOST_REFUSED_STATE,	  /* not in the state that it is in */
	HOST_REFUSED_FULL,	  /* a limit of the host's was reached */
	HOST_REFUSED_FORBIDDEN,	  /* not by whoever asks */
	HOST_REFUSED_UNSUPPORTED, /* this host cannot do that */
	HOST_REFUSED_UNREACHABLE, /* the gateway, or a supervisor, is away */
	HOST_REFUSAL_MAX
};

#endif
