#include "gateway/tls/library.h"

#include <openssl/err.h>

#include "common/openssl_words.h"

int tls_library_error(struct err *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? openssl_reason(code) : NULL;

	ERR_clear_error();
	return err_set(err, ERR_LIBRARY, "%s: %s", what,
		       reason ? reason : "no reason");
}
