/*
 * sallyport-exchange: buys tokens at the endpoints of the configuration.
 */
#include "gateway/exchange/exchange.h"

int main(void)
{
	static struct exchange exchange;

	return keeper_main(&exchange_spec, &exchange);
}
