#include "gateway/packcheck/store.h"

#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/cleanup.h"

#define CHUNK_BYTES	  (64 * 1024)
#define PACK_MODE	  0600
#define WINDOW_BYTES	  ((size_t)32 << 20)
#define WINDOWS_BYTES_MAX ((size_t)256 << 20)
#define PRIORITY_LAST	  1
#define PRIORITY_PACK	  2
#define NAME_MAX_LEN	  96
#define TRAILER_LEN	  20
#define HEAD_LEN	  12

const char *const pack_store_syscalls[] = {
	"openat",   "newfstatat", "fstat",     "lseek",	   "pread64",
	"pwrite64", "access",	  "faccessat", "link",	   "linkat",
	"rename",   "renameat",	  "unlink",    "unlinkat", NULL,
};

static int failed(struct err *err, const char *verb)
{
	const git_error *last = git_error_last();

	return err_set(err, ERR_LIBRARY, "%s: %s", verb,
		       last && last->message ? last->message : "no reason");
}

int pack_library_init(struct err *err)
{
	if (git_libgit2_init() < 0 ||
	    git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, WINDOW_BYTES) < 0 ||
	    git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT,
			     WINDOWS_BYTES_MAX) < 0 ||
	    git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0) < 0 ||
	    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) < 0)
		return failed(err, "start libgit2");
	return 0;
}

/* ---- the backend that is asked last: it has nothing and remembers ---- */

struct memory {
	git_odb_backend backend;
	git_oid *missing;
};

static int remember_missing(void **content, size_t *len, git_object_t *type,
			    git_odb_backend *backend, const git_oid *oid)
{
	struct memory *memory = (struct memory *)backend;

	(void)content;
	(void)len;
	(void)type;
	*memory->missing = *oid;
	return GIT_ENOTFOUND;
}

static int list_nothing(git_odb_backend *backend, git_odb_foreach_cb each,
			void *owner)
{
	(void)backend;
	(void)each;
	(void)owner;
	return 0;
}

static void free_memory(git_odb_backend *backend)
{
	free(backend);
}

static int add_memory(struct pack_store *store)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory || git_odb_init_backend(&memory->backend,
					    GIT_ODB_BACKEND_VERSION) < 0) {
		free(memory);
		return -1;
	}
	memory->missing = &store->missing;
	memory->backend.read = remember_missing;
	memory->backend.foreach = list_nothing;
	memory->backend.free = free_memory;
	if (git_odb_add_backend(store->odb, &memory->backend, PRIORITY_LAST) <
	    0) {
		free(memory);
		return -1;
	}
	return 0;
}

int pack_store_init(struct pack_store *store, struct err *err)
{
	*store = (struct pack_store){0};
	if (git_odb_new(&store->odb) < 0 || add_memory(store) < 0 ||
	    git_repository_wrap_odb(&store->repo, store->odb) < 0) {
		(void)failed(err, "make an object store");
		pack_store_release(store);
		return -1;
	}
	return 0;
}

void pack_store_release(struct pack_store *store)
{
	git_repository_free(store->repo);
	git_odb_free(store->odb);
	*store = (struct pack_store){0};
}

/* ---- indexing ---- */

void pack_adding_release(struct pack_adding *adding)
{
	git_indexer_free(adding->indexer);
	pack_scan_free(adding->scan);
	*adding = (struct pack_adding){0};
}

int pack_store_begin(struct pack_store *store, struct pack_adding *adding,
		     uint64_t objects_max, struct err *err)
{
	*adding = (struct pack_adding){0};
	adding->scan = pack_scan_new(objects_max);
	if (!adding->scan)
		return err_set(err, ERR_LIBRARY,
			       "index the pack: memory is out");
	if (git_libgit2_opts(GIT_OPT_SET_PACK_MAX_OBJECTS,
			     (size_t)objects_max) < 0 ||
	    git_indexer_new(&adding->indexer, ".", PACK_MODE, store->odb,
			    NULL) < 0) {
		(void)failed(err, "index the pack");
		pack_adding_release(adding);
		return -1;
	}
	return 0;
}

int pack_store_feed(struct pack_adding *adding, struct bytes bytes,
		    struct err *err)
{
	if (adding->is_broken)
		return -1;
	for (size_t at = 0; at < bytes.len; at += CHUNK_BYTES) {
		struct bytes chunk = bytes_slice(bytes, at, at + CHUNK_BYTES);

		adding->is_broken =
			pack_scan_feed(adding->scan, chunk, err) < 0;
		if (adding->is_broken)
			return -1;
		adding->is_broken =
			git_indexer_append(adding->indexer, chunk.data,
					   chunk.len, &adding->progress) < 0;
		if (adding->is_broken)
			return failed(err, "check the pack");
		adding->fed += chunk.len;
	}
	return 0;
}

static int keep_first(const git_oid *oid, void *owner)
{
	git_oid *first = owner;

	*first = *oid;
	return GIT_EUSER;
}

/* Where the indexer left a pack. */
struct files {
	char index[NAME_MAX_LEN], pack[NAME_MAX_LEN];
};

/* Open the pack by reading one object of it: the store then needs its files
 * by name no more. */
static git_odb_backend *open_pack(const struct files *files)
{
	git_odb_backend *backend = NULL;
	git_object_t type;
	git_oid first;
	size_t len;

	if (git_odb_backend_one_pack(&backend, files->index) < 0)
		return NULL;
	if (backend->foreach(backend, keep_first, &first) == GIT_EUSER &&
	    backend->read_header(&len, &type, backend, &first) == 0)
		return backend;
	backend->free(backend);
	return NULL;
}

static int use_pack(struct pack_store *store, const struct files *files,
		    struct err *err)
{
	git_odb_backend *backend = open_pack(files);

	if (!backend)
		return failed(err, "open the pack");
	if (git_odb_add_backend(store->odb, backend,
				PRIORITY_PACK + store->packs) < 0) {
		backend->free(backend);
		return failed(err, "use the pack");
	}
	store->packs++;
	store->last = backend;
	return 0;
}

static enum pack_added commit(struct pack_store *store, git_indexer *indexer,
			      git_indexer_progress *progress, struct err *err)
{
	static const git_oid none;
	bool is_empty = progress->total_objects == 0;
	struct files files;
	int status = 0;

	store->missing = none;
	store->last = NULL;
	if (git_indexer_commit(indexer, progress) < 0) {
		if (!git_oid_equal(&store->missing, &none))
			return PACK_LACKS_BASE;
		(void)failed(err, "check the pack");
		return PACK_BROKEN;
	}
	(void)snprintf(files.index, sizeof(files.index), "pack-%s.idx",
		       git_indexer_name(indexer));
	(void)snprintf(files.pack, sizeof(files.pack), "pack-%s.pack",
		       git_indexer_name(indexer));
	if (!is_empty)
		status = use_pack(store, &files, err);
	if (unlink(files.index) < 0 || unlink(files.pack) < 0)
		status = err_system(err, "unlink the pack");
	return status < 0 ? PACK_BROKEN : PACK_ADDED;
}

static int check_size(struct bytes pack, const struct pack_limits *limits,
		      struct err *err)
{
	if (pack.len > limits->bytes_max)
		return err_set(err, ERR_TOO_LARGE,
			       "check the pack: more than %llu bytes",
			       (unsigned long long)limits->bytes_max);
	if (pack.len < HEAD_LEN + TRAILER_LEN)
		return err_set(err, ERR_INVALID, "check the pack: cut short");
	return 0;
}

/* The rest of the pack; and its objects, which a pack that was begun before
 * its limits were known may have too many of. */
static int take_rest(struct pack_adding *adding, struct bytes pack,
		     const struct pack_limits *limits, struct err *err)
{
	if (adding->fed > pack.len)
		return err_set(err, ERR_INVALID, "check the pack: it shrank");
	if (pack_store_feed(adding,
			    bytes_slice(pack, (size_t)adding->fed, pack.len),
			    err) < 0)
		return -1;
	if (!pack_scan_is_whole(adding->scan))
		return err_set(err, ERR_INVALID, "check the pack: cut short");
	if (adding->progress.total_objects > limits->objects_max)
		return err_set(err, ERR_TOO_LARGE,
			       "check the pack: more than %llu objects",
			       (unsigned long long)limits->objects_max);
	return 0;
}

enum pack_added pack_store_finish(struct pack_store *store,
				  struct pack_adding *adding, struct bytes pack,
				  const struct pack_limits *limits,
				  struct err *err)
{
	enum pack_added added = PACK_BROKEN;

	if (check_size(pack, limits, err) == 0 &&
	    take_rest(adding, pack, limits, err) == 0)
		added = commit(store, adding->indexer, &adding->progress, err);
	pack_adding_release(adding);
	return added;
}

enum pack_added pack_store_add(struct pack_store *store, struct bytes pack,
			       const struct pack_limits *limits,
			       struct err *err)
{
	struct pack_adding adding;

	if (pack_store_begin(store, &adding, limits->objects_max, err) < 0)
		return PACK_BROKEN;
	return pack_store_finish(store, &adding, pack, limits, err);
}

bool pack_store_is_pushed(const struct pack_store *store, const git_oid *oid)
{
	git_odb_backend *pushed = store->pushed;

	return pushed && pushed->exists(pushed, oid) != 0;
}

enum pack_lookup pack_store_commit(struct pack_store *store, const git_oid *oid,
				   git_commit **commit)
{
	int status = git_commit_lookup(commit, store->repo, oid);

	if (status == 0)
		return PACK_COMMIT;
	return git_odb_exists(store->odb, oid) ? PACK_NO_COMMIT : PACK_ABSENT;
}
