#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "sandbox-host/daemon/daemon.h"

static bool is_among(uint16_t type, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (answers_permits[i].type == type)
			return true;
	return false;
}

static void the_api_may_ask_what_its_clients_do_and_no_more(void **state)
{
	static const uint16_t own[] = {
		MSG_HOST_PORT,	       MSG_HOST_STATUS, MSG_HOST_IMAGES,
		MSG_HOST_CONFIG,       MSG_HOST_RELOAD, MSG_HOST_IMAGE_PULL,
		MSG_HOST_IMAGE_REMOVE,
	};
	static const uint16_t both[] = {
		MSG_HOST_CREATE,	MSG_HOST_LIST,
		MSG_HOST_SHOW,		MSG_HOST_KILL,
		MSG_HOST_PAUSE,		MSG_HOST_RESUME,
		MSG_HOST_RENEW,		MSG_HOST_METADATA,
		MSG_HOST_CHANNEL,	MSG_HOST_CONNECT,
		MSG_HOST_EVENTS,	MSG_HOST_LOGS,
		MSG_HOST_ISOLATE,	MSG_HOST_METRICS,
		MSG_HOST_SNAPSHOT,	MSG_HOST_SNAPSHOTS,
		MSG_HOST_SNAPSHOT_SHOW, MSG_HOST_SNAPSHOT_REMOVE,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		assert_true(is_among(own[i], answers_permit_count));
		assert_false(is_among(own[i], answers_api_permit_count));
	}
	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		assert_true(is_among(both[i], answers_api_permit_count));
	assert_int_equal(answers_permit_count,
			 ARRAY_SIZE(own) + ARRAY_SIZE(both));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_api_may_ask_what_its_clients_do_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
