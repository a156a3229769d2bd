/*
 * One entry of `credentials`, as compiled: part of struct policy (policy.h),
 * and as immutable. Which secret may go where, and in which form.
 */
#ifndef POLICIES_POLICY_CREDENTIAL_H
#define POLICIES_POLICY_CREDENTIAL_H

#include "policies/constraint.h"
#include "policies/policy_rule.h"

enum policy_attach {
	ATTACH_BEARER,
	ATTACH_BASIC,
	ATTACH_GITHUB,
	ATTACH_CERTIFICATE, /* a TLS client certificate; no field of a head */
	ATTACH_HEADER,	    /* a field of the policy's choice */
	ATTACH_QUERY,	    /* a parameter of the URL */
	ATTACH_SIGV4,	    /* requests are signed (AWS Signature Version 4) */
	ATTACH_PLACEHOLDER, /* where the placeholder stands, and there alone */
	ATTACH_MAX
};

/* What becomes of a response with the credential in it. */
enum policy_scrub {
	SCRUB_CUT,  /* it is cut off before it */
	SCRUB_MASK, /* it passes, with the credential overwritten */
	SCRUB_STOP, /* it is cut off, and the session ends */
	SCRUB_MAX
};

/* What a placeholder looks like. */
enum placeholder_shape {
	SHAPE_OPAQUE,
	SHAPE_GITHUB,
	SHAPE_NPM,
	SHAPE_JWT,
	SHAPE_AWS, /* two values: an access key's id, and its secret */
	SHAPE_MAX
};

/* Where the secret takes a placeholder's place. */
enum placeholder_place { /* bits */
			 PLACE_HEADER = 1,
			 PLACE_BASIC = 2, /* in Basic, once decoded */
			 PLACE_QUERY = 4,
			 PLACE_PATH = 8,
			 PLACE_BODY = 16,
			 PLACE_MAX = 32
};

/* A secret whose name begins so is none of the vault's: it was given for this
 * session alone, and goes with it. */
#define POLICY_LENT "session."

#define CREDENTIAL_WORD_MAX 256 /* field, prefix, suffix, region, service */

struct policy_credential {
	struct bytes name;
	struct bytes secret; /* its name in the vault */
	enum policy_attach attach;
	struct bytes username; /* basic: before the colon */
	/* header: the field's name; query: the parameter's. */
	struct bytes field;
	struct bytes prefix, suffix;  /* header: around the secret */
	struct bytes region, service; /* sigv4; empty: as the host says */
	bool may_be_unsigned;	      /* sigv4: a body may go out unhashed */
	struct policy_strings hosts;
	const uint16_t *ports; /* empty: as the rules say */
	size_t port_count;
	struct policy_strings methods;	       /* empty: all */
	struct policy_strings paths;	       /* globs; empty: all */
	struct policy_strings placeholder_env; /* variables that hold it */
	/* The policy's own; empty: one is made for each session. */
	struct bytes placeholder_text;
	enum placeholder_shape shape;
	unsigned places; /* enum placeholder_place */
	enum policy_scrub scrub;
};

/* Why a header of this name cannot hold a credential: NULL, or one line.
 * Framing, hop-by-hop fields and what the gateway itself writes or removes
 * are none of a policy's. */
const char *credential_header_fault(struct bytes name);

/* May the credential go with such a request? CONSTRAINT_none, or what is
 * against it. */
enum constraint credential_covers(const struct policy_credential *credential,
				  uint16_t port, struct bytes method,
				  struct bytes path);
/* Can one request be of both? Paths are compared by what stands before the
 * first and after the last star: when in doubt, they can. */
bool credential_meets(const struct policy_credential *one,
		      const struct policy_credential *two);

/* What AWS calls the service and the region of a host, borrowing from host.
 * "sqs.eu-central-1.amazonaws.com", "bucket.s3.eu-west-1.amazonaws.com",
 * "iam.amazonaws.com" (us-east-1). False: it is no such host. */
bool credential_aws_names(struct bytes host, struct bytes *service,
			  struct bytes *region);

#endif
