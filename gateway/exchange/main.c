/*
 * sallyport-exchange: buys tokens at the endpoints of the configuration.
 */
#include "common/openssl_words.h"
#include "gateway/exchange/exchange.h"

int main(void)
{
	static struct exchange exchange;

	openssl_words_wait();
	return keeper_main(&exchange_spec, &exchange);
}
