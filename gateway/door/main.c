/*
 * sallyport-door: the way in for proxy clients outside.
 */
#include "gateway/door/door.h"

int main(void)
{
	static struct door door;

	return keeper_main(&door_spec, &door);
}
