/*
 * sallyport-edge: one session's way out.
 */
#include <stdlib.h>
#include <string.h>

#include "common/apart.h"
#include "common/openssl_words.h"
#include "gateway/edge/edge.h"
#include "gateway/edge/lane.h"

int main(int argc, char **argv)
{
	static struct edge edge;

	if (argc == 2 && !strcmp(argv[1], "--dump-states")) {
		lanes_dump(stdout);
		return EXIT_SUCCESS;
	}
	apart_begin();
	openssl_words_wait();
	return keeper_main(&edge_spec, &edge);
}
