/*
 * The inside of struct upstream, shared by the files of this folder alone:
 * upstream.c (life, events), get.c (its connection), response.c (parsing),
 * direct.c and leg.c (the two kinds of connection).
 */
#ifndef GATEWAY_UPSTREAM_INSIDE_H
#define GATEWAY_UPSTREAM_INSIDE_H

#include "gateway/http/framing.h"
#include "gateway/http/head.h"
#include "gateway/upstream/dial.h"
#include "gateway/upstream/upstream.h"

#define UPSTREAM_KEY_MAX (HOST_NAME_MAX_LEN + 8 + UPSTREAM_BINDING_MAX_LEN)

enum upstream_state {
	UP_CONNECTING, /* dial, TLS, leg */
	UP_READY,      /* nothing sent yet in this exchange */
	UP_HEAD,       /* waiting for a response head */
	UP_BODY,       /* in the response's body */
	UP_DONE,       /* the response ended */
	UP_FAILED,
	UP_IDLE,  /* in the pool */
	UP_CLOSED /* waits for IO_RELEASED */
};

/* Is HTTP/2 offered, and how much may come ahead of its reader? */
enum h2_wish { H2_UNWANTED, H2_NARROW, H2_WIDE };

struct upstream;

/* What a direct connection and a leg do differently. */
struct upstream_kind {
	int (*send)(struct upstream *up, const struct request *request,
		    const struct upstream_labels *labels, struct err *err);
	int (*body)(struct upstream *up, struct bytes bytes);
	int (*body_end)(struct upstream *up);
	/* Bytes arrived on io: bring them to up->source. -1: broken. */
	int (*receive)(struct upstream *up, struct err *err);
	/* Where the response's bytes are. */
	struct buf *(*source)(struct upstream *up);
};
extern const struct upstream_kind upstream_direct;
extern const struct upstream_kind upstream_leg;

struct upstream {
	struct upstream_pool *pool;
	const struct upstream_kind *kind;
	struct target target;
	char binding[UPSTREAM_BINDING_MAX_LEN + 1];
	char address[64];
	upstream_fn *fn;
	void *owner;
	enum upstream_state state;
	unsigned trust; /* the pool's, when it began */
	struct dial *dial;
	struct io *io;
	/* A leg that is asked for: its request, and the courier's channel. */
	struct leg_asking *asking;
	struct buf raw; /* leg: upstream's bytes, out of their frames */
	bool has_ended; /* the stream ended in order */
	bool is_over;	/* no byte comes any more, whether in order or not */
	bool is_paused;
	bool is_parsing;
	bool is_reused;
	bool offers_h2;		/* by ALPN, or has the courier do so */
	bool keeps_trailers;	/* both legs are HTTP/2 */
	bool is_wide;		/* enum h2_wish */
	struct upstream_h2 *h2; /* io is a stream of it; may be gone */
	struct buf trailer;
	bool has_said;	      /* anything in answer to this request */
	bool is_ready_due;    /* a deferred READY still holds it */
	bool body_is_open;    /* our body is not complete yet */
	bool may_switch;      /* the request asked for a WebSocket */
	enum framing framing; /* of our body, direct */
	char method[GUARD_METHOD_MAX + 1];
	unsigned interim;
	struct guard guard;
	struct arena arena;
	struct response response;
	struct body_decoder decoder;
	struct bytes span;
	enum constraint constraint;
	char detail[256];
	struct upstream *next, *prev;
};

/* upstream.c */
void upstream_ready(struct upstream *up);
void upstream_fail(struct upstream *up, enum constraint constraint,
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Zeroed; NULL when memory is out. */
struct upstream *upstream_place(void);
void upstream_free(struct upstream *up);
/* Give up its hold on io, dial and leg request. */
void upstream_close(struct upstream *up);
void upstream_on_io(struct io *io, enum io_event event, void *owner);

/* direct.c, leg.c: begin with a connected descriptor (taken). */
int upstream_start_direct(struct upstream *up, int fd, struct err *err);
int upstream_start_leg(struct upstream *up, int fd, struct err *err);
void upstream_cancel_leg(struct leg_asking *asking);
/* Say that the response was read whole. 0, or -1. */
int upstream_done_leg(struct upstream *up);

/* h2.c: go on with up->io, whose ALPN chose HTTP/2. */
void upstream_begin_h2(struct upstream *up);
/* Take a stream of a connection that is there. 0, or -1: there is none. */
int upstream_join_h2(struct upstream *up);
/* Something was odd: its connection gets no further stream. */
void upstream_retire_h2(struct upstream *up);
void upstream_review_h2(struct upstream_pool *pool, upstream_may_fn *may,
			void *owner);
void upstream_distrust_h2(struct upstream_pool *pool);
void upstream_release_h2(struct upstream_pool *pool);

/* response.c: parse what is in the source, delivering events. */
void upstream_parse(struct upstream *up);
void upstream_expect_response(struct upstream *up, struct bytes method);

#endif
