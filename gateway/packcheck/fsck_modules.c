#include <fcntl.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "gateway/packcheck/fsck.h"

#define FILE_NAME    "modules"
#define FILE_MODE    0600
#define SETTINGS_MAX 100000

/* ---- one setting ---- */

static bool is_option(struct bytes value)
{
	return value.len > 0 && value.data[0] == '-';
}

/* "ext::sh -c ..." runs whatever it says: a helper of git's choice. */
static bool names_a_helper(struct bytes url)
{
	ptrdiff_t at = bytes_find_bytes(url, bytes_str("::"), 0);

	for (ptrdiff_t i = 0; i < at; i++) {
		uint8_t c = url.data[i];
		bool is_word = (c >= '0' && c <= '9') ||
			       (c >= 'a' && c <= 'z') ||
			       (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
			       c == '.' || c == '_';

		if (!is_word)
			return false;
	}
	return at >= 0;
}

/* Line ends, written as they are or as an escape. */
static bool has_line_end(struct bytes url)
{
	for (size_t i = 0; i < url.len; i++) {
		struct bytes escape = bytes_slice(url, i, i + 3);

		if (url.data[i] < 0x20 || url.data[i] == 0x7f ||
		    bytes_equal_nocase(escape, bytes_str("%0a")) ||
		    bytes_equal_nocase(escape, bytes_str("%0d")) ||
		    bytes_is(escape, "%00"))
			return true;
	}
	return false;
}

/* "..//host", "../:host": behind the URL that it is relative to, these are
 * another's host (CVE-2020-11008). */
static bool replaces_host(struct bytes url)
{
	bool climbs = false;

	for (;;) {
		if (bytes_starts_with(url, bytes_str("../"))) {
			climbs = true;
			url = bytes_slice(url, 3, url.len);
		} else if (bytes_starts_with(url, bytes_str("./"))) {
			url = bytes_slice(url, 2, url.len);
		} else {
			return climbs && url.len > 0 &&
			       (url.data[0] == ':' || url.data[0] == '/');
		}
	}
}

/* Credentials of whatever host would be sent there. */
static bool has_no_host(struct bytes url)
{
	static const char *const schemes[] = {"http://", "https://", "ftp://",
					      "ftps://"};
	static const char ends[] = "/?#";
	struct bytes host, user;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (!bytes_is_nocase(bytes_slice(url, 0, len), schemes[i]))
			continue;
		host = bytes_slice(url, len, url.len);
		for (size_t j = 0; ends[j]; j++) {
			struct bytes rest = host;

			(void)bytes_split(&rest, (uint8_t)ends[j], &host);
		}
		return host.len == 0 ||
		       (bytes_split(&host, '@', &user) && host.len == 0);
	}
	return false;
}

static const char *check_url(struct bytes url)
{
	if (is_option(url))
		return "a submodule's URL is an option";
	if (names_a_helper(url))
		return "a submodule's URL runs a helper";
	if (replaces_host(url) || has_no_host(url))
		return "a submodule's URL names no host";
	return has_line_end(url) ? "a submodule's URL has a line end" : NULL;
}

/* git drops a CR at the end of one that it writes and reads again: then it is
 * another path (CVE-2025-48384). */
static bool has_control(struct bytes path)
{
	for (size_t i = 0; i < path.len; i++)
		if (path.data[i] < 0x20 || path.data[i] == 0x7f)
			return true;
	return false;
}

/* Is a part of it ".."? Windows has two slashes. */
static bool climbs(struct bytes path)
{
	size_t from = 0;

	for (size_t i = 0; i <= path.len; i++) {
		if (i < path.len && path.data[i] != '/' && path.data[i] != '\\')
			continue;
		if (bytes_is(bytes_slice(path, from, i), ".."))
			return true;
		from = i + 1;
	}
	return false;
}

/* name: "submodule.<name>.<setting>", the name as it was written. */
static const char *check_setting(struct bytes name, struct bytes value)
{
	static const struct bytes prefix = BYTES_LITERAL("submodule.");
	size_t dot = name.len;
	struct bytes module, setting;

	if (!bytes_starts_with(name, prefix))
		return NULL;
	while (dot > prefix.len && name.data[dot - 1] != '.')
		dot--;
	if (dot <= prefix.len)
		return NULL;
	module = bytes_slice(name, prefix.len, dot - 1);
	setting = bytes_slice(name, dot, name.len);
	if (module.len == 0 || climbs(module))
		return "a submodule's name leaves its place";
	if (bytes_is(setting, "url"))
		return check_url(value);
	if (bytes_is(setting, "path") &&
	    (is_option(value) || climbs(value) || has_control(value) ||
	     bytes_starts_with(value, bytes_str("/"))))
		return "a submodule's path leaves its place";
	if (bytes_is(setting, "update") &&
	    bytes_starts_with(value, bytes_str("!")))
		return "a submodule's update runs a command";
	return NULL;
}

/* ---- the file ---- */

static const char *check_settings(git_config *config)
{
	git_config_iterator *iterator;
	git_config_entry *entry;
	const char *fault = NULL;
	int status = 0;

	if (git_config_iterator_new(&iterator, config) < 0)
		return ".gitmodules cannot be read";
	for (size_t i = 0; !fault && status == 0; i++) {
		status = git_config_next(&entry, iterator);
		if (status == 0)
			fault = i == SETTINGS_MAX
					? ".gitmodules has too many settings"
					: check_setting(
						  bytes_str(entry->name),
						  bytes_str(entry->value));
	}
	git_config_iterator_free(iterator);
	if (!fault && status != GIT_ITEROVER)
		return ".gitmodules cannot be read";
	return fault;
}

static int write_file(struct bytes content)
{
	auto_fd int fd = open(
		FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);

	if (fd < 0)
		return -1;
	return write(fd, content.data, content.len) == (ssize_t)content.len
		       ? 0
		       : -1;
}

/* git does not follow includes there, and nobody needs one. */
static bool includes(struct bytes content)
{
	static const struct bytes word = BYTES_LITERAL("[include");

	for (size_t i = 0; i + word.len <= content.len; i++)
		if (bytes_equal_nocase(bytes_slice(content, i, i + word.len),
				       word))
			return true;
	return false;
}

const char *fsck_modules(struct bytes content)
{
	const char *fault = ".gitmodules cannot be read";
	git_config *config;

	if (content.len > FSCK_MODULES_MAX)
		return ".gitmodules is too large";
	if (bytes_find(content, '\0', 0) >= 0)
		return ".gitmodules has a NUL in it";
	if (includes(content))
		return ".gitmodules includes another file";
	if (write_file(content) == 0 &&
	    git_config_open_ondisk(&config, FILE_NAME) == 0) {
		fault = check_settings(config);
		git_config_free(config);
	}
	(void)unlink(FILE_NAME);
	return fault;
}
