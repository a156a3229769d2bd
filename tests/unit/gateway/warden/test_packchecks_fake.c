#include <fcntl.h>
#include <utlist.h>

#include "gateway/flow/limits.h"
#include "gateway/warden/packchecks.h"
#include "tests/unit/gateway/warden/rig.h"

#define OTHER_ID "s-bbbbbbbbbbbbbbbbbbbbbbbbbb"
#define ASKS_MAX 300

/* What became of what was asked. */
struct asked {
	bool is_started, is_refused;
	char why[128];
};
static struct asked asks[ASKS_MAX];
static size_t asked_count;

static void on_answer(struct rpc_outcome *outcome, void *owner)
{
	struct asked *asked = owner;

	asked->is_started = !outcome->err && outcome->fd >= 0;
	asked->is_refused = !asked->is_started;
	if (outcome->refusal)
		(void)snprintf(asked->why, sizeof(asked->why), "%.*s",
			       BYTES_ARGS(outcome->refusal->detail));
}

static struct asked *ask(const struct warden_session *session)
{
	const struct wire_empty empty = {0};
	struct asked *asked = &asks[asked_count++];
	const struct rpc_call call = {
		.type = MSG_PACKCHECK_START,
		.schema = &wire_empty_schema,
		.message = &empty,
		.fd = -1,
		.reply_schema = &wire_empty_schema,
		.timeout_ms = PACKCHECK_WAIT_MS + DEADLINE_ASK_MS,
		.on_outcome = on_answer,
		.owner = asked,
	};
	struct err err;

	assert_true(asked_count <= ASKS_MAX);
	*asked = (struct asked){0};
	assert_int_equal(
		rpc_ask(process_of(session->edge)->rpc, &call, NULL, &err), 0);
	fake_run(rig.warden.loop);
	return asked;
}

static char scratch[] = "/tmp/packchecks.XXXXXX";

static void begin(void)
{
	asked_count = 0;
	rig_init();
	memcpy(scratch + sizeof(scratch) - 7, "XXXXXX", 6);
	assert_non_null(mkdtemp(scratch));
	rig.warden.state_dir = open(scratch, O_DIRECTORY | O_CLOEXEC);
	assert_true(rig.warden.state_dir >= 0);
	assert_int_equal(packchecks_begin(&rig.warden), 0);
}

static void end(void)
{
	packchecks_end(&rig.warden);
	rig_release();
	(void)close(rig.warden.state_dir);
	assert_int_equal(rmdir(scratch), 0);
}

static size_t running(const struct warden_session *session)
{
	return children_count(&rig.warden, ROLE_PACKCHECK, session);
}

/* The first packcheck of a session is done. */
static void finish_one(const struct warden_session *session)
{
	struct child *child;

	DL_FOREACH(rig.warden.children, child)
	if (child->role == ROLE_PACKCHECK && child->session == session)
		break;
	rig_exits(process_of(child));
	children_reap(&rig.warden);
	fake_run(rig.warden.loop);
}

static void who_asks_for_more_than_may_run_waits_for_a_turn(void **state)
{
	struct warden_session *session;

	(void)state;
	begin();
	session = rig_session(false);
	for (size_t i = 0; i < 8; i++)
		(void)ask(session);
	for (size_t done = 0; done < 8; done++) {
		size_t started = 0;

		for (size_t i = 0; i < 8; i++)
			started += asks[i].is_started;
		assert_int_equal(started,
				 done + PACKCHECKS_OF_SESSION_MAX < 8
					 ? done + PACKCHECKS_OF_SESSION_MAX
					 : 8);
		finish_one(session);
	}
	assert_int_equal(running(NULL), 0);
	for (size_t i = 0; i < 8; i++)
		assert_true(asks[i].is_started && !asks[i].is_refused);
	end();
}

static void a_session_that_has_none_comes_before_one_that_has(void **state)
{
	struct warden_session *greedy, *other;
	struct asked *theirs;

	(void)state;
	begin();
	greedy = rig_session(false);
	other = rig_session_named(OTHER_ID, false);
	for (size_t i = 0; i < 8; i++)
		(void)ask(greedy);
	assert_int_equal(running(greedy), PACKCHECKS_OF_SESSION_MAX);
	theirs = ask(other);
	assert_true(theirs->is_started);
	end();
}

static void who_has_had_its_turn_ends_when_others_wait(void **state)
{
	struct warden_session *session;
	struct process *first;
	struct asked *last;

	(void)state;
	begin();
	session = rig_session(false);
	for (size_t i = 0; i < PACKCHECKS_OF_SESSION_MAX; i++)
		(void)ask(session);
	first = process_of(child_of(&rig.warden, ROLE_PACKCHECK));
	fake_advance(rig.warden.loop, 2ull * PACKCHECK_TURN_MS);
	assert_int_equal(first->killed_by, 0);
	last = ask(session);
	fake_advance(rig.warden.loop, 2000);
	assert_int_equal(first->killed_by, SIGKILL);
	assert_true(last->is_started);
	end();
}

static void who_waits_too_long_is_told_so(void **state)
{
	struct warden_session *session;
	struct asked *last = NULL;

	(void)state;
	begin();
	session = rig_session(false);
	for (size_t i = 0; i < 3 * PACKCHECKS_MAX; i++)
		last = ask(session);
	fake_advance(rig.warden.loop, PACKCHECK_WAIT_MS - 1);
	assert_false(last->is_started || last->is_refused);
	fake_advance(rig.warden.loop, 2000);
	assert_true(last->is_refused);
	assert_non_null(strstr(last->why, "waited 150 seconds"));
	/* What is ended, and not gone, has its memory still; the last is
	 * for whoever comes. */
	assert_int_equal(running(NULL), PACKCHECKS_MAX - 1);
	end();
}

static void tell_soon(const struct warden_session *session)
{
	const struct wire_empty empty = {0};
	struct err err;

	assert_int_equal(rpc_tell(process_of(session->edge)->rpc,
				  MSG_PACKCHECK_SOON, &wire_empty_schema,
				  &empty, -1, &err),
			 0);
	fake_run(rig.warden.loop);
}

static void one_that_is_wanted_soon_is_there_when_it_is_asked_for(void **state)
{
	struct warden_session *session;
	struct child *spare;

	(void)state;
	begin();
	session = rig_session(false);
	tell_soon(session);
	tell_soon(session);
	assert_int_equal(running(NULL), 1);
	spare = child_of(&rig.warden, ROLE_PACKCHECK);
	assert_null(spare->session);
	assert_true(ask(session)->is_started);
	assert_ptr_equal(spare->session, session);
	assert_int_equal(running(NULL), 1);
	/* It takes no place of those that work. */
	tell_soon(session);
	assert_true(ask(session)->is_started);
	assert_int_equal(running(session), PACKCHECKS_OF_SESSION_MAX);
	end();
}

static void one_that_nobody_asked_for_ends(void **state)
{
	struct warden_session *session;
	struct process *spare;

	(void)state;
	begin();
	session = rig_session(false);
	tell_soon(session);
	spare = process_of(child_of(&rig.warden, ROLE_PACKCHECK));
	fake_advance(rig.warden.loop, PACKCHECK_SPARE_MS - 1);
	assert_int_equal(spare->killed_by, 0);
	fake_advance(rig.warden.loop, 1);
	assert_int_equal(spare->killed_by, SIGKILL);
	/* The one that ends is given to nobody. */
	assert_true(ask(session)->is_started);
	assert_int_equal(running(NULL), 2);
	end();
}

static void of_too_many_that_wait_the_rest_is_refused(void **state)
{
	struct warden_session *session;
	size_t refused = 0;

	(void)state;
	begin();
	session = rig_session(false);
	for (size_t i = 0;
	     i < PACKCHECKS_OF_SESSION_MAX + PACKCHECK_WAITS_OF_SESSION_MAX;
	     i++)
		refused += ask(session)->is_refused;
	assert_int_equal(refused, 0);
	assert_true(ask(session)->is_refused);
	assert_non_null(strstr(asks[asked_count - 1].why, "too many wait"));
	end();
}

static void what_an_edge_that_ended_asked_for_is_forgotten(void **state)
{
	struct warden_session *session;

	(void)state;
	begin();
	session = rig_session(false);
	for (size_t i = 0; i < 8; i++)
		(void)ask(session);
	rig_exits(process_of(session->edge));
	children_reap(&rig.warden);
	fake_run(rig.warden.loop);
	finish_one(session);
	assert_int_equal(running(NULL), PACKCHECKS_OF_SESSION_MAX - 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			who_asks_for_more_than_may_run_waits_for_a_turn),
		cmocka_unit_test(
			a_session_that_has_none_comes_before_one_that_has),
		cmocka_unit_test(who_has_had_its_turn_ends_when_others_wait),
		cmocka_unit_test(who_waits_too_long_is_told_so),
		cmocka_unit_test(
			one_that_is_wanted_soon_is_there_when_it_is_asked_for),
		cmocka_unit_test(one_that_nobody_asked_for_ends),
		cmocka_unit_test(of_too_many_that_wait_the_rest_is_refused),
		cmocka_unit_test(
			what_an_edge_that_ended_asked_for_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
