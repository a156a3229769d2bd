/*
 * Every message that travels between our processes (docs/PROTOCOL.md), as
 * structs (messages_*.h); their schemas are in messages_*.c. Who may send what
 * to whom is each keeper's permit table.
 *
 * A refusal (struct rpc_refusal) carries an enum constraint as its code.
 */
#ifndef GATEWAY_FLOW_MESSAGES_H
#define GATEWAY_FLOW_MESSAGES_H

#include "common/rpc.h"
#include "gateway/flow/messages_keepers.h"
#include "gateway/flow/messages_ledger.h"
#include "gateway/flow/messages_script.h"
#include "gateway/flow/messages_sign.h"
#include "gateway/flow/messages_tokens.h"
#include "gateway/flow/messages_warden.h"
#include "gateway/flow/proposal.h"
#include "gateway/flow/roles.h"

enum msg_type {
	/* warden -> any child, notifications but where said */
	MSG_PEER = 1,	   /* msg_peer + fd: a channel to a peer */
	MSG_SESSION_OPEN,  /* empty + fd: a package; again: another end */
	MSG_SESSION_CLOSE, /* request: msg_session_ref -> empty */
	MSG_LISTENER,	   /* msg_listener + fd: to an edge or control */
	MSG_DRAIN,	   /* empty: finish and exit */
	MSG_CONFIG, /* empty + fd: a sealed gateway_config, from now on */

	/* any child -> warden */
	MSG_READY = 20, /* empty, notification: confined and serving */
	/* edge -> warden, request */
	MSG_PACKCHECK_START, /* empty -> empty + fd: channel to a packcheck */
	/* control -> warden, requests */
	MSG_SESSION_CREATE, /* empty + fd: package -> empty */
	MSG_SESSION_REVOKE, /* msg_session_ref -> empty, when it holds; also
			       of the courier: the policy says stop */
	MSG_SESSION_ATTACH, /* msg_attach + fd: listener -> empty */
	MSG_SESSION_LIST,   /* msg_session_query -> msg_session_list */
	MSG_PROCESS_LIST,   /* msg_process_query -> msg_process_list */
	MSG_SESSION_RENEW,  /* msg_session_renew -> empty */
	/* edge -> warden, request */
	MSG_SCRIPT_START, /* empty -> empty + fd: channel to a script */
	/* the CLI -> control, request */
	MSG_SESSION_HOLD, /* msg_session_hold -> empty */
	/* courier -> warden, request */
	MSG_FRAMER_START, /* msg_session_ref -> empty + fd: channel to one */
	/* edge -> warden, notification */
	MSG_PACKCHECK_SOON, /* empty: one will be asked for, most likely */
	/* control -> warden, and warden -> who keeps the session: another
	 * policy from now on. Answered when it holds. */
	MSG_SESSION_CHANGE, /* empty + fd: a package of that id -> empty; to the
			       warden: msg_session_change + fd ->
			       msg_session_changed */
	/* control -> warden */
	MSG_SESSION_PACKAGE, /* msg_session_ref -> empty + fd: its package */
	/* ledger -> warden, request */
	MSG_EXPORT_OPEN, /* msg_export_ref -> empty + fd: the file, O_APPEND */
	/* control -> warden, requests */
	MSG_CONFIG_SHOW,   /* empty -> empty + fd: its text, sealed */
	MSG_CONFIG_RELOAD, /* empty -> msg_config_reloaded */
	/* a supervisor -> control, request */
	MSG_SESSION_TERMS, /* empty -> msg_session_terms: of one that would
			      begin now */
	/* control -> who holds a session, notifications */
	MSG_SESSION_CHANGED, /* msg_session_hold: it has another policy */
	MSG_TERMS_CHANGED,   /* empty: one that begins from now on has other
				terms */

	/* edge -> minter */
	MSG_MINT = 40, /* msg_mint -> msg_minted */
	/* control -> minter */
	MSG_CA_GET, /* empty -> msg_ca */

	/* edge -> dialer */
	MSG_DIAL = 50, /* msg_dial -> msg_dialed + fd */

	/* edge -> courier */
	MSG_LEG_OPEN = 60, /* msg_leg_open + fd -> msg_leg_opened + fd */
	MSG_PRINTS_GET,	   /* empty -> msg_prints: of its session's secrets */
	MSG_SIGN,	   /* msg_sign -> msg_signed: a commit or a tag */

	/* dialer -> courier: a connection to the upstream proxy, to be one to
	 * its target */
	MSG_PROXY_CONNECT = 65, /* msg_proxy_connect + fd -> empty + fd */

	/* courier -> vault */
	MSG_TOKEN_GET = 70, /* msg_token_get -> msg_token */
	/* control -> vault */
	MSG_SECRET_PUT,	   /* msg_secret -> empty */
	MSG_SECRET_LIST,   /* empty -> msg_secret_list */
	MSG_SECRET_REMOVE, /* msg_secret_name -> empty */
	/* courier -> vault: of the upstream proxy of the configuration */
	MSG_PROXY_SECRET_GET, /* empty -> msg_proxy_secret */
	MSG_PRINTS_MAKE,      /* msg_prints_make -> msg_prints */
	/* control -> vault */
	MSG_SECRET_ROTATE, /* msg_secret -> empty: another value */
	MSG_KEY_ROTATE,	   /* empty -> empty: another key of the vault */
	MSG_SOURCE_LIST,   /* empty -> msg_source_list */
	/* courier -> vault */
	MSG_SIGN_MAKE, /* msg_sign_make -> msg_signed */
	/* control -> vault */
	MSG_SIGNER_GET, /* msg_session_ref -> msg_signer: who signs for it */
	/* control -> vault: values for one session, gone with it */
	MSG_LENT_PUT,	 /* msg_lent -> empty */
	MSG_LENT_REMOVE, /* msg_lent, without a value -> empty */

	/* any -> ledger */
	MSG_RECORDS = 90,    /* msg_records, notification */
	MSG_RECORDS_DURABLE, /* msg_records -> empty, once on disk */
	/* control -> ledger */
	MSG_LEDGER_QUERY,  /* msg_ledger_query -> msg_ledger_rows */
	MSG_LEDGER_VERIFY, /* msg_ledger_verify -> msg_ledger_verified */
	MSG_LEDGER_FOLLOW, /* msg_ledger_query -> empty, then MSG_LEDGER_ROWS */
	/* ledger -> control, notification */
	MSG_LEDGER_ROWS, /* msg_ledger_rows */
	/* edge -> ledger, requests: proposals of its own session */
	MSG_PROPOSAL_TAKE, /* proposal (the question) -> proposal: go on if it
			      is approved; what is approved once is used up */
	MSG_PROPOSAL_ASK,  /* proposal (the question) -> proposal */
	MSG_PROPOSAL_SHOW, /* msg_proposal_ref -> msg_proposal_found */
	/* control -> ledger, requests */
	MSG_PROPOSAL_GET,    /* msg_proposal_ref -> msg_proposal_found */
	MSG_PROPOSAL_LIST,   /* msg_proposal_query -> msg_proposal_list */
	MSG_PROPOSAL_DECIDE, /* msg_proposal_decide -> msg_proposal_found */
	/* ledger -> edge, notification */
	MSG_PROPOSAL_DECIDED, /* msg_proposal_ref */

	/* edge -> packcheck */
	MSG_PACK_CHECK = 110, /* msg_pack_check + fd -> msg_pack_verdict */
	MSG_PACK_ADD,	      /* empty + fd: an ancestry pack -> verdict */
	MSG_PACK_SECRETS,     /* msg_pack_secrets, notification: before CHECK */
	MSG_PACK_AHEAD, /* empty + fd: the pushed pack so far, notification */

	/* door -> edge, notification */
	MSG_CLIENT = 120, /* msg_client + fd: a connection whose lease it is */

	/* edge -> script */
	MSG_SCRIPT_LOAD = 130, /* msg_script_load -> empty */
	MSG_SCRIPT_DECIDE,     /* msg_script_request -> msg_script_verdict */

	/* vault -> warden: the file of a source, or what its program said */
	MSG_SOURCE_OPEN = 140, /* msg_source_ref -> empty + fd */
	/* vault -> exchange */
	MSG_EXCHANGE,  /* msg_exchange -> msg_exchanged */
	MSG_TOKEN_END, /* msg_token_end -> empty */
	/* exchange -> dialer: the endpoint of a source */
	MSG_SOURCE_DIAL, /* msg_source_ref -> msg_dialed + fd */

	/* courier -> framer, notification */
	MSG_FRAMES_OPEN = 150, /* empty + fd: frames.h, of one connection */
	MSG_TYPE_MAX
};

#endif
