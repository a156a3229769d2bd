/* What listens on the gateway's host, at a public address of its own, is not
 * for sandboxes (security D6). In a network of the test's own, which has
 * such an address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "gateway/dialer/dial.h"
#include "gateway/dialer/own.h"

#define OWN	  "45.33.32.156"
#define ELSEWHERE "45.33.32.157"
#define PORT	  8080

/* Exits of the child that makes the network. */
enum { SAME, OTHER, NO_NETWORK };

static enum constraint answered;
static bool is_answered, has_fd;

static void note_answer(struct rpc_ticket ticket,
			const struct dial_outcome *outcome)
{
	(void)ticket;
	is_answered = true;
	answered = outcome->constraint;
	has_fd = outcome->fd >= 0;
}

static int set_flag(int fd, struct ifreq *request)
{
	request->ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
	return ioctl(fd, SIOCSIFFLAGS, request);
}

/* Loopback, up, with OWN beside its own, which listens. */
static bool has_made_network(void)
{
	struct ifreq request = {.ifr_name = "lo"};
	union address own;
	int fd;

	if (unshare(geteuid() == 0 ? CLONE_NEWNET
				   : CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
	    !address_parse(bytes_str(OWN), &own))
		return false;
	address_set_port(&own, PORT);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || set_flag(fd, &request) < 0)
		return false;
	(void)snprintf(request.ifr_name, sizeof(request.ifr_name), "lo:1");
	memcpy(&request.ifr_addr, &own.v4, sizeof(own.v4));
	return ioctl(fd, SIOCSIFADDR, &request) == 0 &&
	       bind(fd, &own.any, address_len(&own)) == 0 && listen(fd, 8) == 0;
}

/* A session whose rules name OWN; with an exception of that prefix (of 128;
 * 0: none). */
static void add_session(struct session_table *sessions, uint8_t prefix)
{
	static const uint8_t own[16] = {[10] = 0xff, 0xff, 45, 33, 32, 156};
	const struct scope_host host = {BYTES_LITERAL(OWN), PORT};
	const struct scope_range exception = {bytes_from(own, sizeof(own)),
					      prefix};
	uint8_t lease[DIGEST_LEN] = {0};
	const struct session_package package = {
		.id = bytes_str("s-1"),
		.expires_ms = UINT64_MAX,
		.lease_hash = bytes_from(lease, sizeof(lease)),
		.scope = {.hosts = &host,
			  .hosts_count = 1,
			  .deny_classes = ADDRESS_LOOPBACK,
			  .allow = &exception,
			  .allow_count = prefix > 0},
	};
	struct err err;
	auto_fd int fd = package_seal(&package, &err);

	assert_non_null(session_add(sessions, package_open(fd, &err), &err));
}

static enum constraint dial(uint8_t prefix)
{
	struct session_table sessions = {0};
	struct dial_client client = {0};
	const struct msg_dial wanted = {bytes_str(OWN), PORT};
	uint64_t end = clock_monotonic_ms() + 20000;
	struct err err;
	struct dialer dialer = {
		.loop = io_loop_new(&err),
		.sessions = &sessions,
		.answer = note_answer,
	};

	add_session(&sessions, prefix);
	is_answered = false;
	dialer_dial(&dialer, &client, bytes_str("s-1"), &wanted,
		    (struct rpc_ticket){.id = 1});
	while (!is_answered && clock_monotonic_ms() < end)
		assert_int_equal(io_loop_turn(dialer.loop, 20, &err), 0);
	assert_true(is_answered);
	assert_int_equal(has_fd, answered == CONSTRAINT_none);
	io_loop_free(dialer.loop);
	session_table_release(&sessions);
	return answered;
}

/* In a child, which alone gets another network. */
static void check_dial(uint8_t prefix, enum constraint wanted)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(!has_made_network()      ? NO_NETWORK
		      : dial(prefix) == wanted ? SAME
					       : OTHER);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SAME);
}

static void dialer_reaches_no_address_of_its_own_host(void **state)
{
	(void)state;
	check_dial(0, CONSTRAINT_address_forbidden);
	check_dial(120, CONSTRAINT_address_forbidden);
	/* The twin: a policy that names it alone. */
	check_dial(128, CONSTRAINT_none);
}

static void an_address_is_own_where_the_kernel_delivers_it(void **state)
{
	static const struct {
		const char *text;
		bool is_own;
	} rows[] = {
		{OWN, true},	     {"::ffff:" OWN, true}, {"127.0.0.1", true},
		{"127.1.2.3", true}, {ELSEWHERE, false},
	};
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		if (!has_made_network())
			_exit(NO_NETWORK);
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			union address address;

			if (!address_parse(bytes_str(rows[i].text), &address) ||
			    address_is_own(&address) != rows[i].is_own)
				_exit(10 + (int)i);
		}
		_exit(SAME);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), SAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dialer_reaches_no_address_of_its_own_host),
		cmocka_unit_test(
			an_address_is_own_where_the_kernel_delivers_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
