#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/yaml_print.h"
#include "common/file.h"
#include "common/nearest.h"
#include "common/plain.h"

int cli_fail(int code, const char *format, ...)
{
	va_list args;

	(void)fputs("sallyport: ", stderr);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	return code;
}

int cli_fail_err(const struct err *err)
{
	static const enum exit_code codes[ERR_MAX] = {
		[ERR_NONE] = EXIT_FAILED,
		[ERR_SYSTEM] = EXIT_FAILED,
		[ERR_INVALID] = EXIT_INVALID,
		[ERR_TOO_LARGE] = EXIT_FAILED,
		[ERR_CLOSED] = EXIT_UNREACHABLE,
		[ERR_TIMEOUT] = EXIT_TIMED_OUT,
		[ERR_DENIED] = EXIT_NOT_PERMITTED,
		[ERR_MISSING] = EXIT_NOT_FOUND,
		[ERR_UNSUPPORTED] = EXIT_FAILED,
		[ERR_LIBRARY] = EXIT_FAILED,
	};

	return cli_fail(codes[err->code], "%s", err->text);
}

int cli_wrong(const struct cli *cli, const char *format, ...)
{
	va_list args;

	(void)fprintf(stderr, "%s: ", cli->argv[0]);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fputc('\n', stderr);
	optarg = NULL; /* if it was wrong, that was told */
	return -1;
}

/* getopt has just read "--option=optarg", or "--option" and optarg. */
static void tell_value(const struct cli *cli)
{
	const char *word = optind > 0 ? cli->argv[optind - 1] : "";
	bool is_alone = word == optarg && optind > 1;
	const char *option = is_alone ? cli->argv[optind - 2] : word;

	(void)fprintf(stderr, "%s: '%s' is no value for %.*s\n", cli->argv[0],
		      optarg, (int)strcspn(option, "="), option);
}

int cli_usage(const struct cli *cli)
{
	const char *help = cli->command->help;
	const char *end = strstr(help, "\n\n");
	size_t len = end ? (size_t)(end - help) : strlen(help) - 1;

	/* getopt leaves the value there of the option that was read last, and
	 * nothing when that was none. */
	if (optarg)
		tell_value(cli);
	else
		nearest_tell_option(cli->argv, help);
	(void)fprintf(stderr, "%.*s\n", (int)len, help);
	return EXIT_USAGE;
}

/* stdio keeps that something was not written, not why. */
static int output_errno;

bool cli_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	if (!output_errno)
		output_errno = errno;
	return false;
}

int cli_end(int code)
{
	/* Of what failed before, errno says nothing any more. */
	bool was_well = !ferror(stdout);

	if ((was_well && cli_flush()) || code != EXIT_OK)
		return code;
	return cli_fail(EXIT_FAILED, "the standard output: %s",
			output_errno ? strerror(output_errno)
				     : "not all of it could be written");
}

int cli_print(const struct cli *cli, const json_t *value,
	      void (*table)(const json_t *value))
{
	if (!cli->json) {
		table(value);
		return EXIT_OK;
	}
	if (cli->yaml)
		return yaml_print(stdout, value) < 0
			       ? cli_fail(EXIT_FAILED, "print YAML")
			       : EXIT_OK;
	if (json_dumpf(value, stdout, JSON_INDENT(2) | JSON_SORT_KEYS) < 0)
		return cli_fail(EXIT_FAILED, "print JSON");
	(void)putchar('\n');
	return EXIT_OK;
}

void cli_print_row(const struct cli *cli, const json_t *row, struct bytes line)
{
	if (cli->yaml)
		(void)yaml_print(stdout, row);
	else
		(void)printf("%.*s\n", BYTES_ARGS(line));
}

void cli_clean(char *text)
{
	plain_text(text);
}

int cli_read_file(const char *path, struct buf *out, struct err *err)
{
	if (path[0] != '-' || path[1] != '\0')
		return file_read_path(path, out, err);
	if (file_read(STDIN_FILENO, out, err) < 0)
		return err_prefix(err, "the standard input");
	return 0;
}
