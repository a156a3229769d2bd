/*
 * The far ends of the edge's connections, by name: clients, upstreams, and
 * the courier's end of legs, whose frames show as text:
 *
 *	request GET /path?query [body | body 5]
 *	field Accept: text/html
 *	push /acme/widgets.git /acme/widgets report=2 sideband pack
 *	update create 0000..aaaa refs/heads/agent/42
 *	body the bytes
 *	end
 */
#ifndef TESTS_REPLAY_ENDS_H
#define TESTS_REPLAY_ENDS_H

#include "tests/replay/house.h"

#define ENDS_MAX      64
#define END_NAME_MAX  16
#define END_BYTES_MAX (32 << 20)

enum end_kind { END_CLIENT, END_UPSTREAM, END_LEG };

struct end {
	char name[END_NAME_MAX];
	enum end_kind kind;
	int fd;		 /* ours, of the fake pair */
	struct io *io;	 /* TLS over it, or NULL */
	struct buf in;	 /* what TLS brought, or a leg's frames as text */
	struct buf body; /* of a leg: not yet shown */
	bool is_ready;	 /* the handshake is complete */
	bool is_over;	 /* TLS: it ended or failed */
	bool is_cut;	 /* TLS: without close_notify */
	bool is_gone;	 /* we closed it */
	struct ends *ends;
};

struct ends {
	struct house *house;
	struct end list[ENDS_MAX];
	size_t count;
	size_t chunk; /* bytes a read of the edge; 0: no bound */
	SSL_CTX *client;
	SSL_CTX *server;
	EVP_PKEY *key; /* of TLS upstreams */
};

void ends_init(struct ends *ends, struct house *house, size_t chunk);
/* The newest end of that name; NULL when there is none. */
struct end *end_find(struct ends *ends, const char *name);
/* Take fd as a new end. */
struct end *end_add(struct ends *ends, const char *name, enum end_kind kind,
		    int fd);
/* A pair: our side becomes a new end, the other is returned. */
int end_pair(struct ends *ends, const char *name, enum end_kind kind);

/* Start TLS: as a client that wants name, or as the server that has it. */
void end_tls_client(struct end *end, const char *name);
void end_tls_server(struct end *end, const char *name);

/* Send bytes; a leg's go out as LEG_DATA. */
void end_send(struct end *end, struct bytes bytes);
/* What came and was not taken yet. */
struct bytes end_received(struct end *end);
void end_taken(struct end *end);
/* Our side ends, in order (LEG_EOF, close_notify). */
void end_end(struct end *end);
void end_reset(struct end *end);
/* We close it: what was sent still arrives, the edge's writes fail. */
void end_close(struct end *end);
/* Has the edge ended its side? Closed the connection? */
bool end_is_ended(const struct end *end);
bool end_is_closed(const struct end *end);

#endif
