/*
 * What each byte may be part of (RFC 9110 5.6.2 and 5.5, RFC 9112 3.2).
 * Private to gateway/http.
 */
#ifndef GATEWAY_HTTP_CLASSES_H
#define GATEWAY_HTTP_CLASSES_H

#include <stdint.h>

#define CLASS_TOKEN	1 /* tchar */
#define CLASS_VALUE	2 /* of a field's value: HTAB, SP, VCHAR, obs-text */
#define CLASS_TARGET	4 /* VCHAR but '#' and '\' */
#define CLASS_AUTHORITY 8 /* of a host name or IPv4 address, and '_' */

extern const uint8_t http_classes[256];

#endif
