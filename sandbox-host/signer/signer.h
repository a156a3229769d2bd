/*
 * git's signing program inside a sandbox (gpg.ssh.program). git calls it as
 * it would ssh-keygen; where it is asked to sign with the session's key it
 * has the gateway do it (POST http://sallyport.internal/sign), since no key
 * is in here. Everything else, verifying too, is for the real ssh-keygen.
 */
#ifndef SANDBOX_HOST_SIGNER_SIGNER_H
#define SANDBOX_HOST_SIGNER_SIGNER_H

#include <netinet/in.h>

#include "common/buf.h"

#define SIGNER_OBJECT_MAX (1024 * 1024)
#define SIGNER_ANSWER_MAX (64 * 1024)
#define SIGNER_WHY_MAX	  2048

/* "-Y sign -n git -f KEY [-U] FILE" */
struct signer_call {
	const char *key, *file;
};

/* Is that what we were called with? */
bool signer_call_read(int argc, char **argv, struct signer_call *call);
/* Do two public key files (their texts) hold one key? What follows the key is
 * a comment. */
bool signer_is_key(struct bytes one, struct bytes two);
/* Where the gateway is, of "http://198.18.0.1:3128"; NULL or anything else is
 * left alone. */
void signer_proxy_read(const char *url, struct sockaddr_in *address);

/* Read the gateway's whole answer (a response with an end): the signature,
 * borrowed from it. 0; or -1, and why, in words for people. */
int signer_answer_read(struct bytes answer, struct bytes *signature,
		       struct buf *why);

#endif
