#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "sandbox-host/store/store.h"

#define INDEX_MAX  (1024 * 1024)
#define SAID_MAX   2048
#define PULL_MAX_S "1800"

/* The end of what it says on stderr; it has no other output. */
static int run(const char *const *words, struct err *err)
{
	char said[SAID_MAX + 1], last[SAID_MAX + 1] = "";
	auto_fd int mine = -1;
	int ends[2], status = 0;
	ssize_t len;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_system(err, "make a pipe");
	mine = ends[0];
	pid = fork();
	if (pid == 0) {
		if (dup2(ends[1], STDOUT_FILENO) < 0 ||
		    dup2(ends[1], STDERR_FILENO) < 0)
			_exit(126);
		(void)execvp(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	(void)close(ends[1]);
	while (pid > 0 && (len = read(mine, said, SAID_MAX)) > 0) {
		said[len] = '\0';
		memcpy(last, said, (size_t)len + 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_system(err, "run %s", words[2]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, ERR_UNSUPPORTED,
			       "there is no %s: apt-get install skopeo umoci",
			       words[2]);
	return err_set(err, ERR_INVALID, "%s: %.300s", words[2], last);
}

static int read_digest(char digest[80], struct err *err)
{
	json_t *index =
		json_load_file("oci/index.json", JSON_REJECT_DUPLICATES, NULL);
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

/* Both are told where everything of theirs goes: nothing of the host's user
 * is theirs. */
int oci_pull(const char *source, char digest[80], struct err *err)
{
	const char *const copy[] = {"timeout",
				    PULL_MAX_S,
				    "skopeo",
				    "--insecure-policy",
				    "copy",
				    "--quiet",
				    "--preserve-digests",
				    source,
				    "oci:oci:image",
				    NULL};
	const char *const unpack[] = {"timeout",   PULL_MAX_S,	 "umoci",
				      "unpack",	   "--rootless", "--image",
				      "oci:image", "bundle",	 NULL};
	auto_fd int root = -1;

	if (clearenv() != 0 || setenv("PATH", "/usr/bin:/bin", 1) < 0 ||
	    setenv("HOME", ".", 1) < 0 || setenv("TMPDIR", ".", 1) < 0 ||
	    setenv("XDG_RUNTIME_DIR", ".", 1) < 0)
		return err_set(err, ERR_TOO_LARGE, "no memory");
	if (run(copy, err) < 0 || read_digest(digest, err) < 0 ||
	    run(unpack, err) < 0)
		return -1;
	if (rename("bundle/rootfs", "root") < 0)
		return err_system(err, "take the image's root");
	root = open("root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return root < 0 ? err_system(err, "open the image's root")
			: copy_clean(root, err);
}
