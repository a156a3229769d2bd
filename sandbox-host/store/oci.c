#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/usage.h"
#include "sandbox-host/store/settings.h"
#include "sandbox-host/store/store.h"

#define PACKED	  "oci"
#define UNPACKED  "bundle"
#define LOOK_MS	  100
#define SAID_MAX  2048
#define SHOWN_MAX 300
/* The daemon ends all of it by limits.image_time, which is at most that. */
#define PULL_MAX_S    "86400"
#define KILL_AFTER_S  "5"
#define PROGRAM_AT    4 /* of the words, after those of `timeout` */
#define MANIFEST_MAX  (4 << 20)
#define PULL_DATA_MAX (2ull << 30) /* memory of each program */

/* What a program writes below the current directory, and how much it may. */
struct work {
	const char *const *words;
	const char *tree; /* what it makes */
	const char *what; /* "packed" */
	const struct store_budget *budget;
};

static int too_large(const struct work *work, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE,
		       "%s, the image is larger than limits.image_bytes of "
		       "host.yaml: %llu",
		       work->what, (unsigned long long)work->budget->bytes);
}

/* 0, or -1: it is too much by now. */
static int look(const struct work *work, struct err *err)
{
	auto_fd int tree = open(work->tree, O_RDONLY | O_DIRECTORY |
						    O_NOFOLLOW | O_CLOEXEC);
	struct usage usage = {0};

	if (tree < 0)
		return errno == ENOENT ? 0
				       : err_system(err, "look at the image");
	if (usage_add(tree, &usage, err) < 0)
		return -1;
	if (usage.bytes > work->budget->bytes)
		return too_large(work, err);
	if (usage.entries > work->budget->entries)
		return err_set(err, ERR_TOO_LARGE,
			       "the image has more than %llu files",
			       (unsigned long long)work->budget->entries);
	return 0;
}

/* `timeout` is a group of its own with what it starts, and ends with us. */
_Noreturn static void become(const struct work *work, int output)
{
	const struct rlimit most = {work->budget->bytes, work->budget->bytes};
	const struct rlimit memory = {PULL_DATA_MAX, PULL_DATA_MAX};

	if (setpgid(0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &most) < 0 ||
	    setrlimit(RLIMIT_DATA, &memory) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
		_exit(126);
	(void)execvp(work->words[0], (char *const *)(uintptr_t)work->words);
	_exit(127);
}

/* A line may come in parts. */
static void add_said(char last[SAID_MAX + 1], const char *text, size_t len)
{
	size_t have = strlen(last);
	size_t kept = have + len > SAID_MAX ? SAID_MAX - len : have;

	memmove(last, last + have - kept, kept);
	memcpy(last + kept, text, len);
	last[kept + len] = '\0';
}

/* Until it has closed its output; the end of that is in last. 0, or -1: it
 * wrote too much. */
static int follow(const struct work *work, int output, char last[SAID_MAX + 1],
		  struct err *err)
{
	struct pollfd said = {.fd = output, .events = POLLIN};
	uint64_t start = clock_monotonic_ms();
	uint64_t due_ms = start + LOOK_MS;
	ssize_t len = 1;

	/* Looked at in time, however much it says. */
	while (len > 0) {
		char text[SAID_MAX];

		start = clock_monotonic_ms();
		if (start < due_ms) {
			if (poll(&said, 1, (int)(due_ms - start)) <= 0)
				continue;
			len = read(output, text, SAID_MAX);
			if (len > 0)
				add_said(last, text, (size_t)len);
			continue;
		}
		if (look(work, err) < 0)
			return -1;
		due_ms = clock_monotonic_ms();
		due_ms += LOOK_MS + 4 * (due_ms - start);
	}
	return 0;
}

/* How it ended; err is of what was written. */
static int judge(const struct work *work, int status, const char *last,
		 struct err *err)
{
	const char *name = work->words[PROGRAM_AT];
	size_t len = strlen(last);

	if (look(work, err) < 0)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, ERR_UNSUPPORTED,
			       "there is no %s: apt-get install skopeo umoci",
			       name);
	/* What the rlimit refuses is as large as it may be. */
	if (strstr(last, strerror(EFBIG)) || strstr(last, "file too large"))
		return too_large(work, err);
	return err_set(err, ERR_INVALID, "%s: %s", name,
		       last + (len > SHOWN_MAX ? len - SHOWN_MAX : 0));
}

/* It has no other output than stderr. */
static int run(const struct work *work, struct err *err)
{
	char last[SAID_MAX + 1] = "";
	auto_fd int mine = -1;
	int ends[2], status = 0, result;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	mine = ends[0];
	pid = fork();
	if (pid == 0)
		become(work, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return err_system(err, "run %s", work->words[PROGRAM_AT]);
	result = follow(work, mine, last, err);
	if (result < 0) {
		(void)kill(-pid, SIGKILL);
		(void)kill(pid, SIGKILL);
	}
	if (waitpid(pid, &status, 0) < 0)
		return err_system(err, "run %s", work->words[PROGRAM_AT]);
	return result < 0 ? -1 : judge(work, status, last, err);
}

static int read_digest(char digest[80], struct err *err)
{
	json_t *index = json_load_file(PACKED "/index.json",
				       JSON_REJECT_DUPLICATES, NULL);
	json_t *list = json_object_get(index, "manifests");
	const char *text = json_string_value(
		json_object_get(json_array_get(list, 0), "digest"));
	bool is_good = text && json_array_size(list) == 1 &&
		       strlen(text) == strlen("sha256:") + 64 &&
		       !strncmp(text, "sha256:", 7) &&
		       strspn(text + 7, "0123456789abcdef") == 64;

	if (is_good)
		(void)snprintf(digest, 80, "%s", text);
	json_decref(index);
	return is_good ? 0
		       : err_set(err, ERR_INVALID,
				 "what skopeo wrote has no digest");
}

static int check_manifest(const char *digest, struct err *err)
{
	char path[128];
	struct stat info;

	(void)snprintf(path, sizeof(path), PACKED "/blobs/sha256/%s",
		       digest + strlen("sha256:"));
	if (stat(path, &info) < 0)
		return err_system(err, "look at the image's manifest");
	return info.st_size <= MANIFEST_MAX
		       ? 0
		       : err_set(err, ERR_TOO_LARGE,
				 "the image's manifest has more than %d bytes",
				 MANIFEST_MAX);
}

/* Both are told where everything of theirs goes: nothing of the host's user
 * is theirs. */
int oci_pull(const char *source, const struct store_budget *budget,
	     char digest[80], struct err *err)
{
	const char *const copy[] = {"timeout",
				    "-k",
				    KILL_AFTER_S,
				    PULL_MAX_S,
				    "skopeo",
				    "--insecure-policy",
				    "copy",
				    "--quiet",
				    "--preserve-digests",
				    source,
				    "oci:" PACKED ":image",
				    NULL};
	const char *const unpack[] = {"timeout",    "-k",      KILL_AFTER_S,
				      PULL_MAX_S,   "umoci",   "unpack",
				      "--rootless", "--image", PACKED ":image",
				      UNPACKED,	    NULL};
	const struct work copying = {copy, PACKED, "packed", budget};
	const struct work unpacking = {unpack, UNPACKED, "unpacked", budget};
	auto_fd int root = -1;

	if (clearenv() != 0 || setenv("PATH", "/usr/bin:/bin", 1) < 0 ||
	    setenv("HOME", ".", 1) < 0 || setenv("TMPDIR", ".", 1) < 0 ||
	    setenv("XDG_RUNTIME_DIR", ".", 1) < 0)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (run(&copying, err) < 0 || read_digest(digest, err) < 0 ||
	    check_manifest(digest, err) < 0 ||
	    settings_keep(PACKED, digest, err) < 0 || run(&unpacking, err) < 0)
		return -1;
	if (rename(UNPACKED "/rootfs", "root") < 0)
		return err_system(err, "take the image's root");
	root = open("root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return root < 0 ? err_system(err, "open the image's root")
			: copy_clean(root, err);
}
