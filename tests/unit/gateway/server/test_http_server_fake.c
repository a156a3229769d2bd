#include "tests/unit/gateway/server/rig.h"

#define GET_NOW "GET /now HTTP/1.1\r\n" H "\r\n"
#define BEGUN	"POST /pass HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\n"
#define MAX	4

static int listener;
static unsigned accepted;

static void on_client(int fd, const struct sockaddr_storage *peer,
		      const struct sockaddr_storage *original,
		      bool was_redirected, void *owner)
{
	(void)peer;
	(void)original;
	(void)was_redirected;
	(void)owner;
	accepted++;
	rig_accept(fd);
}

/* MAX connections, the rig's own among them, may be. */
static void listen_with(const struct http_service *service)
{
	struct err err;

	rig->server.service = service;
	rig->server.conns_max = MAX;
	accepted = 1;
	listener = fake_listener();
	assert_int_equal(http_server_listen(&rig->server, listener, on_client,
					    NULL, &err),
			 0);
}

static int connect_one(void)
{
	int client = fake_connect(listener, NULL, false);

	fake_run(rig->loop);
	return client;
}

static void send_to(int client, const char *text)
{
	fake_send(client, bytes_str(text));
	fake_run(rig->loop);
}

static void who_waits_longest_makes_room(void **state)
{
	int others[MAX];

	(void)state;
	listen_with(&rig_service);
	for (size_t i = 0; i < MAX - 2; i++)
		others[i] = connect_one();
	/* Who was served last waits a shorter time. */
	rig_send(GET_NOW);
	assert_int_equal(rig->released, 0);
	(void)connect_one();
	assert_int_equal(accepted, MAX);
	assert_int_equal(rig->released, 1);
	assert_true(fake_is_closed(others[0]));
	assert_false(fake_is_closed(others[1]));
	assert_false(fake_is_closed(rig->client));
}

static void who_comes_when_all_are_busy_waits(void **state)
{
	int late;

	(void)state;
	listen_with(&rig_service);
	send_to(rig->client, BEGUN);
	for (size_t i = 1; i < MAX; i++)
		send_to(connect_one(), BEGUN);
	late = connect_one();
	send_to(late, GET_NOW);
	assert_int_equal(accepted, MAX);
	assert_int_equal(rig->released, 0);
	assert_int_equal(buf_len(fake_received(late)), 0);
	send_to(rig->client, "x");
	fake_end(rig->client);
	fake_run(rig->loop);
	assert_int_equal(rig->released, 1);
	assert_int_equal(accepted, MAX + 1);
	assert_begins(buf_str(fake_received(late)), "HTTP/1.1 200");
}

/* The twin: they wait for a head, but none makes room. */
static void nobody_goes_where_none_makes_room(void **state)
{
	static struct http_service keeps;
	int late;

	(void)state;
	keeps = rig_service;
	keeps.makes_room = false;
	listen_with(&keeps);
	for (size_t i = 1; i < MAX; i++)
		(void)connect_one();
	late = connect_one();
	assert_int_equal(accepted, MAX);
	assert_int_equal(rig->released, 0);
	fake_end(rig->client);
	fake_run(rig->loop);
	assert_int_equal(accepted, MAX + 1);
	send_to(late, GET_NOW);
	assert_begins(buf_str(fake_received(late)), "HTTP/1.1 200");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		rig_test(who_waits_longest_makes_room),
		rig_test(who_comes_when_all_are_busy_waits),
		rig_test(nobody_goes_where_none_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
