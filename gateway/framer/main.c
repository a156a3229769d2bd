/*
 * sallyport-framer: decodes HTTP/2 of an upstream that gets a credential, for
 * the courier, which may not.
 */
#include "gateway/framer/framer.h"

int main(void)
{
	static struct framer framer;

	return keeper_main(&framer_spec, &framer);
}
