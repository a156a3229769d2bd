/*
 * sallyport-courier: upstream TLS of requests that carry a credential.
 */
#include "common/openssl_words.h"
#include "gateway/courier/courier.h"

int main(void)
{
	static struct courier courier;

	openssl_words_wait();
	return keeper_main(&courier_spec, &courier);
}
