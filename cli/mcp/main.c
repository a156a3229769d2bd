/*
 * sallyport-mcp PROGRAM [OPTION]...: `sallyport mcp`; PROGRAM is sallyport.
 */
#include <getopt.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/arguments.h"
#include "cli/mcp/stdio.h"
#include "cli/mcp/tool.h"
#include "common/log.h"

#define FILE_SIZE_MAX (2 * TOOL_CONTENT_MAX)

static int parse_life(const char *text, unsigned *seconds)
{
	uint64_t value;

	if (bytes_to_u64(bytes_str(text), 9, &value) < 0 || value == 0 ||
	    value > 365ull * 24 * 3600)
		return -1;
	*seconds = (unsigned)value;
	return 0;
}

static int parse(int argc, char **argv, struct server_config *config)
{
	static const struct option table[] = {
		{"policy", required_argument, NULL, 'p'},
		{"workspace", required_argument, NULL, 'w'},
		{"repo", required_argument, NULL, 'r'},
		{"branch", required_argument, NULL, 'b'},
		{"image", required_argument, NULL, 'i'},
		{"timeout", required_argument, NULL, 't'},
		{"keep", no_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 'p':
			config->policy = optarg;
			break;
		case 'w':
			config->workspace = optarg;
			break;
		case 'r':
			config->repo = optarg;
			break;
		case 'b':
			config->branch = optarg;
			break;
		case 'i':
			config->image = optarg;
			break;
		case 't':
			if (parse_life(optarg, &config->life_s) < 0)
				return -1;
			break;
		case 'k':
			config->keeps = true;
			break;
		default:
			return -1;
		}
	}
	return optind == argc ? 0 : -1;
}

static int serve(const struct server_config *config)
{
	const struct rlimit files = {FILE_SIZE_MAX, FILE_SIZE_MAX};
	struct server server;
	struct io_loop *loop;
	struct err err;
	int result = -1;

	/* What is read of a sandbox is copied first: how large can it get? */
	if (setrlimit(RLIMIT_FSIZE, &files) < 0)
		return cli_fail(EXIT_FAILED, "bound the size of files");
	loop = io_loop_new(&err);
	if (!loop)
		return cli_fail_err(&err);
	if (server_open(&server, config, loop, &err) == 0)
		result = stdio_serve(&server, &err);
	io_loop_free(loop);
	return result < 0 ? cli_fail_err(&err) : EXIT_OK;
}

int main(int argc, char **argv)
{
	struct server_config config = {.life_s = SERVER_LIFE_DEFAULT_S};

	log_open("mcp", NULL);
	if (argc < 2)
		return EXIT_USAGE;
	config.program = argv[1];
	argv[1] = argv[0];
	if (parse(argc - 1, argv + 1, &config) < 0) {
		(void)fputs("See sallyport mcp --help.\n", stderr);
		return EXIT_USAGE;
	}
	return serve(&config);
}
