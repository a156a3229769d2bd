#include "gateway/tls/server_name.h"

#define LIST_HEADER   2
#define NAME_HEADER   3 /* type, length */
#define NAME_MAX_SENT 255

int tls_server_name(SSL *ssl, struct bytes *name)
{
	const uint8_t *data;
	size_t len, list_len, name_len;

	if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data,
				       &len))
		return 0;
	if (len < LIST_HEADER + NAME_HEADER)
		return -1;
	list_len = (size_t)data[0] << 8 | data[1];
	name_len = (size_t)data[3] << 8 | data[4];
	if (list_len != len - LIST_HEADER ||
	    data[2] != TLSEXT_NAMETYPE_host_name ||
	    name_len != list_len - NAME_HEADER || name_len == 0 ||
	    name_len > NAME_MAX_SENT)
		return -1;
	*name = bytes_from(data + LIST_HEADER + NAME_HEADER, name_len);
	return 1;
}
