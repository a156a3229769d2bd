/*
 * A renewal that the warden answers late. The clock that counts time is the
 * test's, for libevent as well.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/unit/gateway/control/rig.h"

static time_t passed_s;

int clock_gettime(clockid_t id, struct timespec *now)
{
	int rc = (int)syscall(SYS_clock_gettime, id, now);

	if (id != CLOCK_REALTIME)
		now->tv_sec += passed_s;
	return rc;
}

static void a_renewal_that_is_answered_late_is_on_record_as_made(void **state)
{
	static const char request[] =
		"POST /v1/sessions/" RIG_ID "/renew HTTP/1.1\r\n"
		"Host: localhost\r\nContent-Length: 12\r\n\r\n{\"ttl_s\":60}";
	struct rig rig;

	(void)state;
	rig_init(&rig, 1000, false);
	rig.created_ms = clock_wall_ms();
	rig.holds_renewal = true;
	assert_string_equal(rig_ask(&rig, request), "");
	assert_int_equal(rig.renewals, 1);
	/* Other questions are given up by now. */
	passed_s = ASK_TIMEOUT_MS / 1000 + 1;
	assert_string_equal(rig_receive(&rig, rig.client), "");
	assert_string_equal(rig.records, "");
	rig_reply_empty(rig.held);
	assert_status(rig_receive(&rig, rig.client), 200);
	assert_string_equal(rig.records, "allowed session.renew, ");
	rig_release(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_renewal_that_is_answered_late_is_on_record_as_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
