/*
 * sallyport-courier: upstream TLS of requests that carry a credential.
 */
#include "gateway/courier/courier.h"

int main(void)
{
	static struct courier courier;

	return keeper_main(&courier_spec, &courier);
}
