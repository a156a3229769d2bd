/*
 * Whose socket listens at a file. A path leads to sockets of every network
 * namespace; the kernel tells of one namespace which files its sockets have
 * (sock_diag).
 */
#ifndef SANDBOX_HOST_PEERS_H
#define SANDBOX_HOST_PEERS_H

#include "common/err.h"
#include "sandbox-host/place.h"

/* Datagrams of one answer, each of some hundred sockets. */
#define PEERS_ANSWERS_MAX 65536

#define PEERS_KNOWN 32

/* A file that a socket was bound to: no other ever is. */
struct peers_file {
	uint64_t inode, born;
	dev_t device;
};

struct peers {
	int inside, outside; /* of peers_open(), there and here; -1: none */
	pid_t init;	     /* process 1, by its number here */
	/* Of sockets inside: a ring, since the kernel looks long. */
	struct peers_file known[PEERS_KNOWN];
	unsigned next;
};

/* A descriptor that asks for sockets of this process's namespace, wherever it
 * goes to; *fd is -1 where the kernel has none. 0, or -1. */
int peers_open(int *fd, struct err *err);
/* Find out whether the kernel tells: else inside becomes -1. 0, or -1. */
int peers_begin(struct peers *peers, struct err *err);
/* May a program inside connect to the socket file that place_look() found?
 * 0: a socket of its own namespace listens there, or the kernel does not tell;
 * -EACCES: one of ours; -ECONNREFUSED: none of the two, so that it is of a
 * third namespace, or nobody's. */
int peers_judge(struct peers *peers, const struct place_object *object);

#endif
