/*
 * A request's head in HTTP/2 (RFC 9113 8.3, RFC 7541), made of the same head in
 * HTTP/1.1 as request.c wrote it. Every field is a literal that is never
 * indexed (RFC 7541 6.2.3), without Huffman's code: no table, on either
 * side or on the way, ever holds a credential. Each block says first that there
 * is no table, so that it is good for one of any size that upstream allows.
 */
#ifndef GATEWAY_COURIER_FIELDS_H
#define GATEWAY_COURIER_FIELDS_H

#include "common/buf.h"

/* So many bytes are enough for the frames of any head of head_len bytes. */
size_t fields_bytes_max(size_t head_len);

/* Append HEADERS, with CONTINUATION where one frame is not enough. is_end:
 * nothing follows on that stream. Of HTTP/1.1 alone are Connection and
 * Transfer-Encoding: left out; of HTTP/2 "te: trailers": said. out has room
 * for fields_bytes_max() and holds the credential then, wiped by the caller.
 * 0, or -1. */
int fields_write(struct buf *out, struct bytes head, uint32_t stream,
		 bool is_end);

#endif
