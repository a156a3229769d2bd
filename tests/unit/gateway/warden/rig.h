/*
 * What a test of the warden does with it and its processes.
 */
#ifndef TESTS_WARDEN_RIG_H
#define TESTS_WARDEN_RIG_H

#include "tests/unit/gateway/warden/processes.h"

static void do_nothing(void *owner)
{
	(void)owner;
}

static void rig_init(void)
{
	struct err err;

	rig = (struct rig){.warden.config.sessions_max = 100};
	rig.warden.loop = io_loop_new(&err);
	assert_non_null(rig.warden.loop);
	/* There is no spare edge. */
	rig.warden.spare_timer =
		io_timer_new(rig.warden.loop, do_nothing, NULL);
	assert_non_null(rig.warden.spare_timer);
}

static struct process *process_of(const struct child *child)
{
	size_t i = 0;

	assert_non_null(child);
	while (i < rig.count && rig.processes[i].pid != child->pid)
		i++;
	assert_true(i < rig.count);
	return &rig.processes[i];
}

static inline struct process *rig_start(enum role role)
{
	struct err err;
	struct child *child = child_add(&rig.warden, role, NULL, &err);

	assert_non_null(child);
	child->is_ready = true;
	return process_of(child);
}

/* What warden_session_create() says of a session of that id and lease. */
static int rig_create(const char *id, const char *lease_text,
		      bool has_credential, struct err *err)
{
	static const struct scope_binding binding = {
		.name = BYTES_LITERAL("b"), .secret = BYTES_LITERAL("s")};
	uint8_t lease[DIGEST_LEN];
	const struct session_package package = {
		.id = bytes_str(id),
		.created_ms = clock_wall_ms(),
		.expires_ms = clock_wall_ms() + 600000,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.bindings = &binding,
			  .bindings_count = has_credential},
	};
	int fd, result;

	digest_sha256(bytes_str(lease_text), bytes_from(NULL, 0), lease);
	fd = package_seal(&package, err);
	assert_true(fd >= 0);
	result = warden_session_create(&rig.warden, fd, err);
	(void)close(fd);
	return result;
}

/* A session of that id, and its edge, which is ready. */
static struct warden_session *rig_session_named(const char *id,
						bool has_credential)
{
	struct warden_session *session;
	struct err err;

	assert_int_equal(rig_create(id, id, has_credential, &err), 0);
	session = warden_session_find(&rig.warden, bytes_str(id));
	assert_non_null(session);
	session->edge->is_ready = true;
	fake_run(rig.warden.loop);
	return session;
}

static inline struct warden_session *rig_session(bool has_credential)
{
	return rig_session_named(RIG_ID, has_credential);
}

/* It says that it closed the session. */
static void rig_answers(struct process *process)
{
	const struct wire_empty empty = {0};

	assert_non_null(process->asked.rpc);
	rpc_reply(process->asked, &wire_empty_schema, &empty, -1);
	process->asked.rpc = NULL;
}

/* It is gone: its channel is closed; SIGCHLD comes when it is let. */
static void rig_exits(struct process *process)
{
	if (process->rpc)
		rpc_close(process->rpc);
	process->rpc = NULL;
	process->has_exited = true;
}

static void rig_release(void)
{
	struct child *child, *next;

	rig.warden.is_draining = true;
	while (rig.warden.sessions)
		warden_session_forget(rig.warden.sessions);
	for (child = rig.warden.children; child; child = next) {
		next = child->next;
		child_end(child);
	}
	for (size_t i = 0; i < rig.count; i++) {
		rig_exits(&rig.processes[i]);
		/* A channel is freed when all it was asked is answered. */
		if (rig.processes[i].asked.rpc)
			rig_answers(&rig.processes[i]);
	}
	children_reap(&rig.warden);
	assert_null(rig.warden.children);
	io_timer_free(rig.warden.spare_timer);
	fake_run(rig.warden.loop);
	io_loop_free(rig.warden.loop);
	fake_reset_all();
}

#endif
