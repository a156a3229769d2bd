/*
 * Compile the kinds of tokens into the Vectorscan database that the library
 * carries, for the least of the processors it runs on:
 *
 *	sp_secret_compiler OUT.c
 */
#include <hs/hs.h>
#include <inttypes.h>

#include "common/cleanup.h"
#include "policies/inspect/secret_kinds.h"

#define BYTES_A_LINE 16

static hs_database_t *compile(void)
{
	auto_free const char **regexes =
		calloc(secret_kinds_count, sizeof(*regexes));
	auto_free unsigned *flags = calloc(secret_kinds_count, sizeof(*flags));
	auto_free unsigned *ids = calloc(secret_kinds_count, sizeof(*ids));
	/* No features: not those of the processor that builds. */
	const hs_platform_info_t platform = {0};
	hs_database_t *database = NULL;
	hs_compile_error_t *error = NULL;

	if (!regexes || !flags || !ids)
		return NULL;
	for (unsigned i = 0; i < secret_kinds_count; i++) {
		regexes[i] = secret_kinds[i].regex;
		flags[i] = HS_FLAG_SOM_LEFTMOST;
		ids[i] = i;
	}
	if (hs_compile_multi(regexes, flags, ids, (unsigned)secret_kinds_count,
			     HS_MODE_STREAM | HS_MODE_SOM_HORIZON_SMALL,
			     &platform, &database, &error) != HS_SUCCESS) {
		(void)fprintf(stderr, "%s: %s\n",
			      error->expression < 0
				      ? "all"
				      : regexes[error->expression],
			      error->message);
		(void)hs_free_compile_error(error);
		return NULL;
	}
	return database;
}

static void write_bytes(FILE *out, const char *bytes, size_t len)
{
	(void)fprintf(out, "#include \"policies/inspect/secret_database.h\"\n\n"
			   "const unsigned char secret_database[] = {");
	for (size_t i = 0; i < len; i++)
		(void)fprintf(out, "%s%u,", i % BYTES_A_LINE ? "" : "\n",
			      (unsigned char)bytes[i]);
	(void)fprintf(out, "\n};\n\nconst size_t secret_database_len = %zu;\n",
		      len);
}

int main(int argc, char **argv)
{
	hs_database_t *database = compile();
	char *bytes = NULL;
	size_t len = 0;
	FILE *out;
	int rc = 1;

	if (argc == 2 && database &&
	    hs_serialize_database(database, &bytes, &len) == HS_SUCCESS) {
		out = fopen(argv[1], "w");
		if (out) {
			write_bytes(out, bytes, len);
			rc = fclose(out) == 0 ? 0 : 1;
		}
	}
	free(bytes);
	(void)hs_free_database(database);
	return rc;
}
