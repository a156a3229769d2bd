#include "tests/unit/gateway/warden/rig.h"

#define YEAR_MS (365 * INT64_C(86400000))

/* ---- the clocks: one that anybody may set, and one that only goes on ---- */

static int64_t moved_ms;
static uint64_t passed_ms, slept_ms;

uint64_t __real_clock_wall_ms(void);
uint64_t __wrap_clock_wall_ms(void);
uint64_t __real_clock_monotonic_ms(void);
uint64_t __wrap_clock_monotonic_ms(void);
uint64_t __real_clock_boot_ms(void);
uint64_t __wrap_clock_boot_ms(void);

uint64_t __wrap_clock_wall_ms(void)
{
	return __real_clock_wall_ms() + passed_ms + (uint64_t)moved_ms;
}

uint64_t __wrap_clock_monotonic_ms(void)
{
	return __real_clock_monotonic_ms() + passed_ms;
}

uint64_t __wrap_clock_boot_ms(void)
{
	return __real_clock_boot_ms() + passed_ms + slept_ms;
}

/* ---- an edge's exit and the end of its session in one turn ---- */

/* What happens in that turn, in every order. */
static void keeper_answers(struct process *edge, struct process *keeper)
{
	(void)edge;
	rig_answers(keeper);
}

static void edge_goes(struct process *edge, struct process *keeper)
{
	(void)keeper;
	rig_exits(edge);
}

static void channels_are_read(struct process *edge, struct process *keeper)
{
	(void)edge;
	(void)keeper;
	fake_run(rig.warden.loop);
}

static void child_is_reaped(struct process *edge, struct process *keeper)
{
	(void)edge;
	(void)keeper;
	children_reap(&rig.warden);
}

static void (*const happenings[])(struct process *edge,
				  struct process *keeper) = {
	keeper_answers,
	edge_goes,
	channels_are_read,
	child_is_reaped,
};
#define ORDERS 24 /* of four */

/* The nth order of the four. */
static void put_in_order(unsigned nth, size_t order[4])
{
	size_t left[] = {0, 1, 2, 3};
	size_t count = ARRAY_SIZE(left);

	for (size_t i = 0; i < 4; i++) {
		size_t at = nth % count;

		nth /= (unsigned)count;
		order[i] = left[at];
		left[at] = left[--count];
	}
}

static void end_in_order(const char *reason, unsigned nth)
{
	struct process *keeper, *edge;
	struct warden_session *session;
	size_t order[4];

	rig_init();
	keeper = rig_start(ROLE_DIALER);
	session = rig_session(false);
	edge = process_of(session->edge);
	warden_session_end(session, bytes_str(reason), NULL);
	fake_run(rig.warden.loop);
	assert_non_null(edge->asked.rpc);
	put_in_order(nth, order);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		happenings[order[i]](edge, keeper);
	fake_run(rig.warden.loop);
	children_reap(&rig.warden);
	fake_run(rig.warden.loop);
	session = warden_session_find(&rig.warden, bytes_str(RIG_ID));
	if (!strcmp(reason, "ended"))
		assert_null(session);
	else
		assert_null(session->edge);
	assert_ptr_equal(child_of(&rig.warden, ROLE_DIALER),
			 rig.warden.children);
	assert_null(rig.warden.children->next);
	rig_release();
}

static void an_edge_exits_in_the_turn_in_which_its_session_ends(void **state)
{
	(void)state;
	for (unsigned nth = 0; nth < ORDERS; nth++) {
		end_in_order("ended", nth);
		end_in_order("revoked", nth);
	}
}

/* ---- who does not hear of an end ---- */

static void a_silent_edge_is_ended_before_its_keepers(void **state)
{
	struct process *courier, *edge;

	(void)state;
	rig_init();
	courier = rig_start(ROLE_COURIER);
	edge = process_of(rig_session(true)->edge);
	warden_session_end(rig.warden.sessions, bytes_str("revoked"), NULL);
	fake_run(rig.warden.loop);
	fake_advance(rig.warden.loop, SESSION_EDGE_CLOSE_MS);
	assert_int_equal(edge->killed_by, SIGKILL);
	assert_int_equal(courier->killed_by, 0);
	rig_answers(courier);
	fake_advance(rig.warden.loop, 10000);
	assert_int_equal(courier->killed_by, 0);
	rig_release();
}

static void a_late_courier_is_not_ended(void **state)
{
	struct process *courier, *edge;

	(void)state;
	rig_init();
	courier = rig_start(ROLE_COURIER);
	edge = process_of(rig_session(true)->edge);
	warden_session_end(rig.warden.sessions, bytes_str("revoked"), NULL);
	fake_run(rig.warden.loop);
	rig_answers(edge);
	fake_advance(rig.warden.loop, SESSION_CLOSE_MS - 1);
	rig_answers(courier);
	fake_advance(rig.warden.loop, 10000);
	assert_int_equal(courier->killed_by, 0);
	rig_release();
}

/* It may hold a token of the session: before the second is over. */
static void
a_silent_courier_is_ended_for_a_session_with_a_credential(void **state)
{
	struct process *courier, *edge;

	(void)state;
	rig_init();
	courier = rig_start(ROLE_COURIER);
	edge = process_of(rig_session(true)->edge);
	warden_session_end(rig.warden.sessions, bytes_str("revoked"), NULL);
	fake_run(rig.warden.loop);
	rig_answers(edge);
	fake_advance(rig.warden.loop, SESSION_CLOSE_MS - 1);
	assert_int_equal(courier->killed_by, 0);
	fake_advance(rig.warden.loop, 1);
	assert_int_equal(courier->killed_by, SIGKILL);
	assert_true(SESSION_CLOSE_MS < 1000);
	rig_release();
}

static void a_silent_courier_stays_for_a_session_without_one(void **state)
{
	struct process *courier, *edge;

	(void)state;
	rig_init();
	courier = rig_start(ROLE_COURIER);
	edge = process_of(rig_session(false)->edge);
	warden_session_end(rig.warden.sessions, bytes_str("revoked"), NULL);
	fake_run(rig.warden.loop);
	rig_answers(edge);
	fake_advance(rig.warden.loop, 10000);
	assert_int_equal(courier->killed_by, 0);
	rig_release();
}

/* ---- made anew ---- */

static void
a_session_whose_lease_is_there_is_not_made_a_second_time(void **state)
{
	struct process *edge;
	struct err err;

	(void)state;
	rig_init();
	edge = process_of(rig_session(false)->edge);
	assert_int_equal(rig_create("s-2", RIG_ID, false, &err), -1);
	assert_non_null(strstr(err.text, "lease is still there"));
	assert_int_equal(rig_create("s-2", "another", false, &err), 0);
	/* It is, once the other has ended. */
	warden_session_end(warden_session_find(&rig.warden, bytes_str(RIG_ID)),
			   bytes_str("ended"), NULL);
	fake_run(rig.warden.loop);
	rig_answers(edge);
	fake_run(rig.warden.loop);
	assert_int_equal(rig_create("s-3", RIG_ID, false, &err), 0);
	rig_release();
}

/* ---- renewal ---- */

static void a_session_is_renewed_for_thirty_days_in_all(void **state)
{
	const uint64_t life_ms = SESSION_LIFETIME_MAX_S * 1000ull;
	struct warden_session *session;
	uint64_t created_ms;
	struct err err;

	(void)state;
	rig_init();
	session = rig_session(false);
	created_ms = session->package->session.created_ms;
	assert_int_equal(
		warden_session_renew(session, created_ms + life_ms, &err), 0);
	assert_int_equal(
		warden_session_renew(session, created_ms + life_ms + 1, &err),
		-1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
	assert_int_equal(session->package->session.expires_ms,
			 created_ms + life_ms);
	rig_release();
}

/* ---- the date is set ---- */

static void pass(uint64_t ms)
{
	passed_ms += ms;
	fake_advance(rig.warden.loop, ms);
}

static void a_session_ends_in_time_whatever_the_date_is_set_to(void **state)
{
	static const int64_t moves[] = {0, YEAR_MS, -YEAR_MS};
	struct warden_session *session;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		rig_init();
		session = rig_session(false); /* of ten minutes */
		moved_ms = moves[i];
		pass(540 * 1000);
		assert_false(warden_session_is_over(session));
		assert_false(session->is_revoked);
		pass(60 * 1000 + 1000);
		assert_true(session->is_revoked);
		moved_ms = 0;
		rig_release();
	}
}

/* Timers and the monotonic clock stand still then. */
static void a_session_ends_in_time_though_the_host_slept(void **state)
{
	struct warden_session *session;

	(void)state;
	rig_init();
	session = rig_session(false); /* of ten minutes */
	pass(60 * 1000);
	slept_ms = 530 * 1000;
	pass(1000);
	assert_false(warden_session_is_over(session));
	slept_ms += 20 * 1000;
	assert_true(warden_session_is_over(session));
	pass(60 * 1000);
	assert_true(session->is_revoked);
	slept_ms = 0;
	rig_release();
}

static void a_renewal_counts_by_the_date_of_then(void **state)
{
	struct warden_session *session;
	struct err err;

	(void)state;
	rig_init();
	session = rig_session(false);
	moved_ms = -YEAR_MS;
	assert_int_equal(
		warden_session_renew(session, clock_wall_ms() + 1200000, &err),
		0);
	moved_ms = 0;
	pass(1140 * 1000);
	assert_false(session->is_revoked);
	pass(60 * 1000 + 1000);
	assert_true(session->is_revoked);
	rig_release();
}

/* ---- the end of the gateway ---- */

static void count_one(void *owner)
{
	++*(unsigned *)owner;
}

static void a_stop_goes_on_while_sessions_end(void **state)
{
	struct warden_session *first;
	unsigned fired = 0;

	(void)state;
	rig_init();
	rig.warden.config.exit_when_idle = true;
	rig.warden.config.idle_ms = 2000;
	rig.warden.idle_timer =
		io_timer_new(rig.warden.loop, count_one, &fired);
	assert_non_null(rig.warden.idle_timer);
	first = rig_session_named("first", false);
	(void)rig_session_named("second", false);
	rig.warden.is_draining = true;
	io_timer_set(rig.warden.idle_timer, 200);
	warden_session_forget(first);
	fake_advance(rig.warden.loop, 200);
	assert_int_equal(fired, 1);
	io_timer_free(rig.warden.idle_timer);
	rig.warden.idle_timer = NULL;
	rig_release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_session_ends_in_time_whatever_the_date_is_set_to),
		cmocka_unit_test(a_session_ends_in_time_though_the_host_slept),
		cmocka_unit_test(a_renewal_counts_by_the_date_of_then),
		cmocka_unit_test(
			an_edge_exits_in_the_turn_in_which_its_session_ends),
		cmocka_unit_test(a_silent_edge_is_ended_before_its_keepers),
		cmocka_unit_test(a_late_courier_is_not_ended),
		cmocka_unit_test(
			a_silent_courier_is_ended_for_a_session_with_a_credential),
		cmocka_unit_test(
			a_silent_courier_stays_for_a_session_without_one),
		cmocka_unit_test(
			a_session_whose_lease_is_there_is_not_made_a_second_time),
		cmocka_unit_test(a_session_is_renewed_for_thirty_days_in_all),
		cmocka_unit_test(a_stop_goes_on_while_sessions_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
