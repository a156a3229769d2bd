/* The record of an overlay: pairs of texts, each ended by a zero byte. */
#include "sandbox-host/overlay_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "sandbox-host/plan_parts.h"

#define RECORD		 "record"
#define RECORD_NEW	 "record.new"
#define RECORD_BYTES_MAX (16 * 1024 * 1024)
#define RECORD_VERSION	 "1"
#define BOOT_MAX	 64
#define SECOND_NS	 INT64_C(1000000000)
#define OUT_OF_STEP_NS	 (2 * SECOND_NS)

static int64_t now_ns(clockid_t clock)
{
	struct timespec now = {0, 0};

	(void)clock_gettime(clock, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static int64_t offset_ns(void)
{
	return now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME);
}

/* Empty when it can not be read: then no boot equals another. */
static void read_boot(char out[BOOT_MAX])
{
	auto_fd int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, out, BOOT_MAX - 1);

	out[len > 0 ? len : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static int put(struct buf *out, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int put(struct buf *out, const char *key, const char *format, ...)
{
	char text[2 * PATH_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(text))
		return -1;
	return buf_add(out, bytes_from(key, strlen(key) + 1)) < 0 ||
			       buf_add(out, bytes_from(text, (size_t)len + 1)) <
				       0
		       ? -1
		       : 0;
}

/* What the sandbox could not write there, the commit does not either. */
static const char *key_of(const struct plan *plan, const struct plan_step *step)
{
	switch ((int)step->kind) {
	case PLAN_GUARD:
	case PLAN_VEIL:
	case PLAN_PROTECT:
	case PLAN_HIDE:
		break;
	default:
		return NULL;
	}
	if (step->flags & PLAN_GLOB)
		return "glob";
	return plan_is_within(step->target, plan->workspace) ? "guard" : NULL;
}

static int put_steps(struct buf *out, const struct plan *plan)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		const struct plan_step *step = &plan->steps[i];
		const char *key = key_of(plan, step);

		if (key && put(out, key, "%s", step->target) < 0)
			return -1;
	}
	return 0;
}

static int make_text(const struct plan *plan, struct buf *out)
{
	const struct plan_identity *identity = &plan->identity;
	char boot[BOOT_MAX];
	struct timespec now;
	struct stat st;

	read_boot(boot);
	/* File systems stamp with this clock, or with one a tick behind it:
	 * what was written before is never later. */
	if (stat(plan->workspace, &st) < 0 ||
	    clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    put(out, "version", RECORD_VERSION) < 0 ||
	    put(out, "workspace", "%s", plan->workspace) < 0 ||
	    put(out, "device", "%ju", (uintmax_t)st.st_dev) < 0 ||
	    put(out, "inode", "%ju", (uintmax_t)st.st_ino) < 0 ||
	    put(out, "uid", "%ju", (uintmax_t)identity->uid) < 0 ||
	    put(out, "gid", "%ju", (uintmax_t)identity->gid) < 0 ||
	    put(out, "start", "%" PRId64,
		now.tv_sec * SECOND_NS + now.tv_nsec) < 0 ||
	    put(out, "offset", "%" PRId64, offset_ns()) < 0 ||
	    put(out, "boot", "%s", boot) < 0)
		return -1;
	return put_steps(out, plan);
}

int overlay_record_write(int fd, const struct plan *plan, struct err *err)
{
	auto_type(buf_release) struct buf text;
	struct bytes left;
	auto_fd int file = -1;

	buf_init(&text, RECORD_BYTES_MAX);
	if (make_text(plan, &text) < 0)
		return err_set(err, ERR_TOO_LARGE, "overlay: a long record");
	file = openat(fd, RECORD_NEW,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	if (file < 0)
		return err_system(err, "overlay: make the record");
	for (left = buf_view(&text); left.len;) {
		ssize_t done = write(file, left.data, left.len);

		if (done < 0)
			return err_system(err, "overlay: write the record");
		left = bytes_slice(left, (size_t)done, left.len);
	}
	if (fdatasync(file) < 0 || renameat(fd, RECORD_NEW, fd, RECORD) < 0)
		return err_system(err, "overlay: write the record");
	return 0;
}

static int damaged(struct err *err)
{
	return err_set(err, ERR_INVALID, "overlay: the record is damaged");
}

static int read_whole(int fd, struct buf *out, struct err *err)
{
	auto_fd int file =
		openat(fd, RECORD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (file < 0 && errno == ENOENT)
		return err_set(err, ERR_MISSING, "overlay: no changes there");
	if (file < 0)
		return err_system(err, "overlay: open the record");
	if (file_read(file, out, err) < 0)
		return err_prefix(err, "overlay: the record");
	return 0;
}

static bool take_number(const char *value, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	return *value && !*end && errno == 0;
}

/* A pair. False: it is none of ours. */
static bool take(struct overlay_record *record, const char *key,
		 const char *value)
{
	const struct {
		const char *key;
		int64_t *to;
	} numbers[] = {{"start", &record->start_ns},
		       {"offset", &record->offset_ns},
		       {"device", (int64_t *)&record->device},
		       {"inode", (int64_t *)&record->inode}};
	int64_t number;

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(key, numbers[i].key))
			return take_number(value, numbers[i].to);
	if (!strcmp(key, "version"))
		return !strcmp(value, RECORD_VERSION);
	if (!strcmp(key, "workspace"))
		record->workspace = value;
	else if (!strcmp(key, "boot"))
		record->boot = value;
	else if (!strcmp(key, "guard") || !strcmp(key, "glob"))
		record->steps[record->step_count++] = (struct plan_step){
			.kind = PLAN_GUARD,
			.flags = key[1] == 'l' ? PLAN_GLOB : 0,
			.target = value};
	else if (!strcmp(key, "uid") && take_number(value, &number))
		record->uid = (uid_t)number;
	else if (!strcmp(key, "gid") && take_number(value, &number))
		record->gid = (gid_t)number;
	else
		return false;
	return true;
}

/* The next text. NULL: there is none, or it has no end. */
static const char *next(struct bytes *left)
{
	ptrdiff_t end = bytes_find(*left, '\0', 0);
	const char *text = (const char *)left->data;

	if (end < 0)
		return NULL;
	*left = bytes_slice(*left, (size_t)end + 1, left->len);
	return text;
}

int overlay_record_read(int fd, struct arena *arena,
			struct overlay_record *record, struct err *err)
{
	auto_type(buf_release) struct buf text;
	struct bytes left;

	*record = (struct overlay_record){0};
	buf_init(&text, RECORD_BYTES_MAX);
	if (read_whole(fd, &text, err) < 0)
		return -1;
	left = arena_copy(arena, buf_view(&text));
	record->steps =
		arena_array(arena, PLAN_STEPS_MAX, sizeof(*record->steps));
	if (!left.data || !record->steps)
		return damaged(err);
	while (left.len) {
		const char *key = next(&left);
		const char *value = key ? next(&left) : NULL;

		if (!value || record->step_count == PLAN_STEPS_MAX ||
		    !take(record, key, value))
			return damaged(err);
	}
	return record->workspace && record->boot && record->start_ns
		       ? 0
		       : damaged(err);
}

bool overlay_record_is_out_of_step(const struct overlay_record *record)
{
	char boot[BOOT_MAX];

	read_boot(boot);
	return !strcmp(boot, record->boot) &&
	       offset_ns() < record->offset_ns - OUT_OF_STEP_NS;
}
