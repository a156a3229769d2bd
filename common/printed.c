#include "common/printed.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int printed_end(const char *program)
{
	/* Of what failed before, errno says nothing any more. */
	bool was_well = !ferror(stdout);

	if (fflush(stdout) == 0 && was_well)
		return 0;
	(void)fprintf(stderr, "%s: the standard output: %s\n", program,
		      was_well ? strerror(errno)
			       : "not all of it could be written");
	return 1;
}
