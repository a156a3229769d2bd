/* What an install script builds, as native modules are. */
#include <stdio.h>

int main(void)
{
	return puts("built by an install script") < 0;
}
