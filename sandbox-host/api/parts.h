/*
 * What the files that write answers share. Private to reply.c and stream.c.
 */
#ifndef SANDBOX_HOST_API_PARTS_H
#define SANDBOX_HOST_API_PARTS_H

#include "sandbox-host/api/conn.h"

#define REPLY_FIELDS_MAX (EXCHANGE_FIELDS_MAX + 2)

/* The fields of an answer (room for REPLY_FIELDS_MAX): its type (NULL: none),
 * its request's number, those that were added. */
void reply_fields(struct fields *fields, const struct exchange *exchange,
		  const char *content_type);

#endif
