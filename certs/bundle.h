/*
 * The CA's certificate in the forms that programs in a sandbox read. Public
 * data: no key is ever in it.
 */
#ifndef CERTS_BUNDLE_H
#define CERTS_BUNDLE_H

#include "certs/ca.h"
#include "common/buf.h"

#define BUNDLE_PASSWORD "changeit" /* Java's own default */

/* Append the certificate as PEM. 0, or -1. */
int bundle_pem(const struct ca *ca, struct buf *out, struct err *err);

/* Append a PKCS#12 truststore (RFC 7292) that Java reads: one certificate
 * bag with a friendly name and Oracle's trustedKeyUsage attribute, without
 * which Java does not see an entry that has no key. 0, or -1. */
int bundle_pkcs12(const struct ca *ca, struct buf *out, struct err *err);

#endif
