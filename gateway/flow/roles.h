/*
 * The processes, and the descriptors each is born with.
 */
#ifndef GATEWAY_FLOW_ROLES_H
#define GATEWAY_FLOW_ROLES_H

/* X(ROLE, executable) */
#define ROLES(X)                                                               \
	X(WARDEN, "sallyport-warden")                                          \
	X(EDGE, "sallyport-edge")                                              \
	X(MINTER, "sallyport-minter")                                          \
	X(DIALER, "sallyport-dialer")                                          \
	X(COURIER, "sallyport-courier")                                        \
	X(VAULT, "sallyport-vault")                                            \
	X(PACKCHECK, "sallyport-packcheck")                                    \
	X(LEDGER, "sallyport-ledger")                                          \
	X(CONTROL, "sallyport-control")                                        \
	X(DOOR, "sallyport-door")                                              \
	X(SCRIPT, "sallyport-script")                                          \
	X(EXCHANGE, "sallyport-exchange")                                      \
	X(FRAMER, "sallyport-framer")

enum role {
#define X(role, file) ROLE_##role,
	ROLES(X)
#undef X
		ROLE_MAX
};

/* "edge". */
const char *role_name(enum role role);
/* "sallyport-edge". */
const char *role_executable(enum role role);

/* Every child of the warden starts with these descriptors, and no other
 * but 0 (/dev/null), 1 and 2 (the log). */
#define ROLE_FD_WARDEN 3 /* SOCK_SEQPACKET: msg_warden.h */
#define ROLE_FD_CONFIG 4 /* sealed memfd: struct gateway_config */
#define ROLE_FD_STATE                                                          \
	5 /* directory, for ledger, vault and minter: theirs                   \
	     alone; for packcheck: an empty one, 0700, best on a               \
	     tmpfs, removed after it; for control: the run                     \
	     directory; for the others: /dev/null */

#endif
