#include "common/cleanup.h"
#include "gateway/warden/config_text.h"

static void read_retain(struct reader *reader, const struct text_node *node,
			void *target, size_t offset)
{
	struct warden_config *config = target;

	(void)offset;
	(void)reader_duration(reader, node, &config->gateway.audit_retain_ms);
}

static void read_jsonl(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	struct config_export *export = target;
	struct bytes path;

	(void)offset;
	if (!reader_word(reader, node, &path))
		return;
	if (path.len < 2 || path.data[0] != '/')
		(void)reader_error(reader, node,
				   "this must be an absolute path");
	else if (path.len > CONFIG_EXPORT_PATH_MAX)
		(void)reader_error(reader, node, "more than %d bytes",
				   CONFIG_EXPORT_PATH_MAX);
	else
		export->path = path;
}

static bool read_export(struct reader *reader, const struct text_node *node,
			void *item)
{
	static const struct reader_field fields[] = {
		{"jsonl", read_jsonl, 0},
	};
	struct config_export *export = item;

	return reader_map(reader, node, fields, ARRAY_SIZE(fields), item) &&
	       reader_require(reader, node, "jsonl") && export->path.len > 0;
}

/* Two that write the same file would each find the other's rows there. */
static bool are_different(const struct config_export *exports, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t other = 0; other < i; other++)
			if (bytes_equal(exports[i].path, exports[other].path))
				return false;
	return true;
}

static void read_exports(struct reader *reader, const struct text_node *node,
			 void *target, size_t offset)
{
	struct warden_config *config = target;
	void *items = NULL;
	size_t count = 0;

	(void)offset;
	if (!reader_list(reader, node, sizeof(struct config_export),
			 read_export, &items, &count))
		return;
	if (count > CONFIG_EXPORTS_MAX) {
		(void)reader_error(reader, node, "more than %d files",
				   CONFIG_EXPORTS_MAX);
		return;
	}
	if (!are_different(items, count)) {
		(void)reader_error(reader, node, "a file stands here twice");
		return;
	}
	config->gateway.audit_exports = items;
	config->gateway.audit_exports_count = count;
}

void config_read_audit(struct reader *reader, const struct text_node *node,
		       void *target, size_t offset)
{
	static const struct reader_field fields[] = {
		{"retain", read_retain, 0},
		{"export", read_exports, 0},
	};

	(void)offset;
	(void)reader_map(reader, node, fields, ARRAY_SIZE(fields), target);
}
