/* A walk through a directory, page by page: what is behind the last one is
 * where the walk stands. Links are not followed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "policies/glob.h"
#include "sandbox-host/agent/parts.h"

#define PAGE_BYTES_MAX (48 * 1024)
#define ENTRY_BYTES    128  /* of an entry beside its path and its target */
#define PAGE_NAMES_MAX 4096 /* that are looked at for one page */

struct walker {
	const struct agent *agent;
	char root[PATH_MAX];
	DIR *levels[FILE_DEPTH_MAX];
	size_t ends[FILE_DEPTH_MAX]; /* of path, where each level begins */
	unsigned level_count, depth_max;
	bool is_for_files;
	char path[PATH_MAX]; /* below the walk's directory, of the entry that
				was read last */
	struct glob *globs;  /* NULL: every name */
	size_t glob_count;
};

struct page {
	struct arena arena;
	struct file_entry entries[FILE_PAGE_MAX];
	struct file_page message;
	size_t bytes;
};

void walker_free(struct walker *walker)
{
	if (!walker)
		return;
	while (walker->level_count > 0)
		(void)closedir(walker->levels[--walker->level_count]);
	free(walker->globs);
	free(walker);
}

/* ---- begin ---- */

static int add_glob(void *owner, struct bytes text)
{
	struct walker *walker = owner;
	struct glob_fault fault;

	return glob_parse(&walker->globs[walker->glob_count++], text,
			  GLOB_POLICY, &fault);
}

static int set_pattern(struct walker *walker, struct bytes pattern)
{
	struct glob_fault fault;

	if (pattern.len == 0)
		return 0;
	walker->globs = calloc(GLOB_EXPANSIONS_MAX, sizeof(*walker->globs));
	if (walker->globs &&
	    glob_expand(pattern, add_glob, walker, &fault) == 0)
		return 0;
	errno = walker->globs ? EINVAL : ENOMEM;
	return -1;
}

/* Take fd as the next level; path ends where its entries' names begin. */
static int push(struct walker *walker, int fd, size_t end)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	walker->ends[walker->level_count] = end;
	walker->levels[walker->level_count++] = dir;
	return 0;
}

static int open_root(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	errno = ENOTDIR;
	return -1;
}

static struct walker *begin(const struct agent *agent,
			    const struct file_walk *walk, const char *path)
{
	struct walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return NULL;
	walker->depth_max = walk->depth > 0 && walk->depth < FILE_DEPTH_MAX
				    ? walk->depth
				    : FILE_DEPTH_MAX;
	walker->is_for_files = walk->is_for_files;
	walker->agent = agent;
	(void)snprintf(walker->root, sizeof(walker->root), "%s", path);
	if (set_pattern(walker, walk->pattern) == 0 &&
	    push(walker, open_root(path), 0) == 0)
		return walker;
	walker_free(walker);
	return NULL;
}

/* ---- go on ---- */

static bool is_wanted(const struct walker *walker, const char *name,
		      const struct file_entry *entry)
{
	bool is_match = !walker->globs;

	if (walker->is_for_files && entry->type != FILE_REGULAR)
		return false;
	for (size_t i = 0; !is_match && i < walker->glob_count; i++)
		is_match = glob_matches(&walker->globs[i], bytes_str(name));
	return is_match;
}

/* 0; -1 when memory is out. */
static int add(struct page *page, const char *path,
	       const struct file_entry *entry)
{
	struct file_entry *copy = &page->entries[page->message.entries_count++];

	*copy = *entry;
	copy->path = arena_copy(&page->arena, bytes_str(path));
	copy->owner = arena_copy(&page->arena, entry->owner);
	copy->group = arena_copy(&page->arena, entry->group);
	copy->target = arena_copy(&page->arena, entry->target);
	page->bytes += ENTRY_BYTES + copy->path.len + copy->owner.len +
		       copy->group.len + copy->target.len;
	return copy->path.data && copy->owner.data && copy->group.data &&
			       (copy->target.data || !entry->target.len)
		       ? 0
		       : -1;
}

static bool may_enter(const struct walker *walker)
{
	char path[2 * PATH_MAX];

	/* Nothing appears that is hidden, where nothing is. */
	if (!walker->agent->plan->watches_reads)
		return true;
	(void)snprintf(path, sizeof(path), "%s/%s", walker->root, walker->path);
	return strlen(path) < PATH_MAX &&
	       agent_may(walker->agent, ATTEMPT_READ, path) == 0;
}

/* What has ended meanwhile, or may not be looked at, is passed by. */
static int take_name(struct walker *walker, struct page *page, const char *name)
{
	unsigned level = walker->level_count - 1;
	int directory = dirfd(walker->levels[level]);
	size_t end = walker->ends[level];
	struct entry_text text;
	struct file_entry entry;
	int len = snprintf(walker->path + end, sizeof(walker->path) - end,
			   "%s%s", end ? "/" : "", name);

	if (len < 0 || (size_t)len >= sizeof(walker->path) - end ||
	    entry_read(directory, name, &text, &entry) < 0)
		return 0;
	if (is_wanted(walker, name, &entry) &&
	    add(page, walker->path, &entry) < 0)
		return -1;
	if (entry.type == FILE_DIRECTORY &&
	    walker->level_count < walker->depth_max && may_enter(walker))
		(void)push(
			walker,
			openat(directory, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			end + (size_t)len);
	return 0;
}

static bool is_full(const struct page *page)
{
	return page->message.entries_count == FILE_PAGE_MAX ||
	       page->bytes + ENTRY_BYTES + 2 * PATH_MAX > PAGE_BYTES_MAX;
}

/* 0, or -1 when memory is out. */
static int fill(struct walker *walker, struct page *page)
{
	for (int i = 0;
	     i < PAGE_NAMES_MAX && walker->level_count > 0 && !is_full(page);
	     i++) {
		const struct dirent *entry =
			readdir(walker->levels[walker->level_count - 1]);

		if (!entry)
			(void)closedir(walker->levels[--walker->level_count]);
		else if (strcmp(entry->d_name, ".") != 0 &&
			 strcmp(entry->d_name, "..") != 0 &&
			 take_name(walker, page, entry->d_name) < 0)
			return -1;
	}
	page->message.more = walker->level_count > 0;
	return 0;
}

static void reply_page(struct agent *agent, struct rpc_ticket ticket)
{
	static struct page page;

	page.message = (struct file_page){.entries = page.entries};
	page.bytes = 0;
	arena_init(&page.arena, WIRE_MESSAGE_MAX);
	if (fill(agent->walker, &page) == 0)
		rpc_reply(ticket, &file_page_schema, &page.message, -1);
	else
		rpc_refuse(ticket, HOST_REFUSED_FULL, "no memory");
	arena_release(&page.arena);
}

void answer_walk(struct rpc_ticket ticket, const void *message, int *fd,
		 void *owner)
{
	const struct file_walk *walk = message;
	struct agent *agent = owner;
	char path[PATH_MAX] = "";

	(void)fd;
	walker_free(agent->walker);
	agent->walker = path_copy(walk->path, path) < 0 ||
					agent_may(agent, ATTEMPT_READ, path) < 0
				? NULL
				: begin(agent, walk, path);
	if (agent->walker)
		reply_page(agent, ticket);
	else
		agent_refuse(agent, ticket, ATTEMPT_READ, path);
}

void answer_walk_on(struct rpc_ticket ticket, const void *message, int *fd,
		    void *owner)
{
	struct agent *agent = owner;

	(void)message;
	(void)fd;
	if (agent->walker)
		reply_page(agent, ticket);
	else
		rpc_refuse(ticket, HOST_REFUSED_INVALID, "no walk was begun");
}
