/*
 * replay SCENARIO bytes|whole|faults
 *
 * bytes: what arrives at the edge arrives one byte at a time. whole: as it
 * was sent. faults: after each step of the scenario, in a copy of the
 * process, something goes wrong; then nothing may be left open.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "tests/replay/faults.h"

static void check_nothing_is_left(struct play *play, const struct cue *last)
{
	for (size_t i = 0; i < play->ends.count; i++) {
		struct end *end = &play->ends.list[i];
		struct bytes rest = end_received(end);

		if (rest.len == 0)
			continue;
		bytes_show(end->name, rest);
		script_fail(last, "%s received more", end->name);
	}
	for (unsigned role = 0; role < ROLE_MAX; role++)
		if (house_has_asked(&play->house, (enum role)role))
			script_fail(last, "the %s was asked more",
				    role_name((enum role)role));
}

int main(int argc, char **argv)
{
	static struct script script;
	static struct play play;
	bool has_faults = argc == 3 && !strcmp(argv[2], "faults");
	bool is_whole = has_faults || (argc == 3 && !strcmp(argv[2], "whole"));

	if (argc != 3) {
		(void)fprintf(stderr, "usage: replay SCENARIO MODE\n");
		return EXIT_FAILURE;
	}
	script_load(&script, argv[1]);
	house_open(&play.house);
	ends_init(&play.ends, &play.house, is_whole ? 0 : 1);
	for (size_t i = 0; i < script.count; i++) {
		play_step(&play, &script.steps[i]);
		if (has_faults)
			faults_try(&play, &script.steps[i]);
	}
	check_nothing_is_left(&play, &script.steps[script.count - 1]);
	faults_settle(&play, &script.steps[script.count - 1]);
	return EXIT_SUCCESS;
}
