/*
 * What the next gateway is to be started with, and what no command may write
 * meanwhile: left in the directory of the sockets.
 */
#include "gateway/warden/leave.h"

#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "gateway/flow/run_config.h"

struct list {
	struct bytes names[RUN_CONFIG_NAMES_MAX + 1]; /* one too many is told */
	size_t count;
};

static void add(struct list *list, struct bytes name)
{
	if (list->count < ARRAY_SIZE(list->names))
		list->names[list->count++] = name;
}

/* Of a program's words those that may be files which it obeys: its script, its
 * settings. Not a directory: all below it would be protected. */
static bool is_file(struct bytes word)
{
	const char *path = (const char *)word.data;
	struct stat info;

	return path[0] == '/' && word.len < PATH_MAX &&
	       (stat(path, &info) < 0 || S_ISREG(info.st_mode));
}

static void add_source(struct list *list, const struct config_source *source)
{
	if (source->kind == SOURCE_FILE)
		add(list, source->path);
	for (size_t i = 0; i < source->words_count; i++)
		if (is_file(source->words[i].text))
			add(list, source->words[i].text);
}

static void add_names(struct list *list, const struct warden_config *config)
{
	if (config->guardrail_path)
		add(list, bytes_str(config->guardrail_path));
	if (config->gateway.has_private_roots)
		add(list, bytes_str(config->ca_bundle_path));
	for (size_t i = 0; i < config->gateway.sources_count; i++)
		add_source(list, &config->gateway.sources[i]);
}

int leave_check(const struct warden_config *config, struct err *err)
{
	struct list list = {.count = 0};

	add_names(&list, config);
	if (list.count <= RUN_CONFIG_NAMES_MAX)
		return 0;
	return err_set(err, ERR_INVALID,
		       "more than %d files are named in it: each one of "
		       "`secrets`, and each word of their programs that "
		       "begins with / and is no directory",
		       RUN_CONFIG_NAMES_MAX);
}

int leave_config(const struct config_options *options,
		 const struct warden_config *config, struct err *err)
{
	struct run_config before = {0};
	struct list list = {.count = 0};
	struct run_config_left left = {.file = options->file,
				       .names = list.names};
	const char *from = config->from[CONFIG_STATE].where;
	int result;

	add_names(&list, config);
	left.count = list.count;
	if (from &&
	    (!strcmp(from, "--state") || !strcmp(from, "SALLYPORT_STATE")))
		left.state = config->state;
	/* One for a command has the state of that command: the operator's is
	 * what the gateway before was told. */
	if (config->exit_when_idle) {
		(void)run_config_read(config->run, &before, err);
		left.state = before.state[0] ? before.state : NULL;
	}
	result = run_config_leave(config->run, &left, err);
	run_config_release(&before);
	return result;
}
