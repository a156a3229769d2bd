/*
 * A URL that somebody wrote, as the gateway would see the request.
 */
#ifndef POLICIES_URL_H
#define POLICIES_URL_H

#include "common/arena.h"
#include "common/err.h"
#include "policies/constraint.h"
#include "policies/facts.h"

/* Fill facts (all but the method) from an http(s) URL; a fragment stays with
 * the client. Everything lives in arena or url. 0, or -1 with *err, and
 * *constraint when it is one that the gateway would refuse itself. */
int url_facts(const char *url, struct arena *arena, struct request_facts *facts,
	      enum constraint *constraint, struct err *err);

/* Make *url, which an operator wrote, one whose host url_facts() takes: a name
 * beyond ASCII becomes the A-labels that a policy's rule has for it, in arena.
 * Whatever else is wrong stays for url_facts(). 0, or -1 with *err. */
int url_to_ascii(const char **url, struct arena *arena, struct err *err);

#endif
