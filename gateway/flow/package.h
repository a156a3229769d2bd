/*
 * A session as its processes get it: one sealed memfd, made by control when
 * the session is created, kept by the warden, and handed to each process
 * that serves the session. Each keeps its own copy of what it needs.
 */
#ifndef GATEWAY_FLOW_PACKAGE_H
#define GATEWAY_FLOW_PACKAGE_H

#include "common/digest.h"
#include "common/wire.h"
#include "policies/scope.h"

#define PACKAGE_BYTES_MAX (8 * 1024 * 1024)
#define SESSION_ID_MAX	  32 /* "s-" and 26 base32 characters */
/* How long after its creation it ends, however often it is renewed. */
#define SESSION_LIFETIME_MAX_S (30 * 24 * 60 * 60)

struct session_package {
	struct bytes id;     /* "s-..." */
	uint32_t owner_uid;  /* of whoever created it */
	struct bytes repo;   /* URL, or empty */
	struct bytes branch; /* without refs/heads/, or empty */
	/* What the lease is bounded by (policies/permissions.h); or empty. */
	struct bytes permissions;
	/* What that and the policy come to, as permissions_write() has it. */
	struct bytes permitted;
	struct bytes policy_name;
	uint64_t created_ms;	     /* wall clock */
	uint64_t expires_ms;	     /* wall clock */
	struct bytes lease_hash;     /* SHA-256, 32 bytes */
	bool has_proxy;		     /* clients may come by the door */
	struct bytes policy_text;    /* for the edge: compiled there again */
	struct bytes guardrail_text; /* the same; empty: there is none */
	struct scope scope;	     /* for the keepers */
};

/* A mapped and decoded package. */
struct package {
	struct bytes mapping;
	struct arena arena;
	struct session_package session;
};

/* Seal a package; a memfd, or -1. */
int package_seal(const struct session_package *session, struct err *err);
/* Map and decode fd (untrusted; stays the caller's). NULL on failure. */
struct package *package_open(int fd, struct err *err);
void package_free(struct package *package);

#endif
