#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "common/cleanup.h"
#include "sandbox-host/signer/signer.h"

#define ARMOR                                                                  \
	"-----BEGIN SSH SIGNATURE-----\nU1NI\n-----END SSH SIGNATURE-----\n"
#define WORDS_MAX 10

static void what_git_asks_is_told_from_everything_else(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		const char *key, *file; /* NULL: it is for ssh-keygen */
	} rows[] = {
		{{"-Y", "sign", "-n", "git", "-f", "k", "o"}, "k", "o"},
		{{"-Y", "sign", "-n", "git", "-f", "k", "-U", "o"}, "k", "o"},
		{{"-Ysign", "-ngit", "-fk", "--", "-o"}, "k", "-o"},
		{{"-Y", "sign", "-n", "file", "-f", "k", "o"}, NULL, NULL},
		{{"-Y", "sign", "-n", "git", "o"}, NULL, NULL},
		{{"-Y", "sign", "-n", "git", "-f", "k"}, NULL, NULL},
		{{"-Y", "sign", "-n", "git", "-f", "k", "o", "p"}, NULL, NULL},
		{{"-Y", "sign", "-n", "git", "-f", "k", "-O", "x", "o"},
		 NULL,
		 NULL},
		{{"-Y", "verify", "-n", "git", "-f", "a", "-I", "b", "-s", "s"},
		 NULL,
		 NULL},
		{{"-Y", "find-principals", "-f", "a", "-s", "s"}, NULL, NULL},
		{{"-l", "-f", "k"}, NULL, NULL},
		{{"-f"}, NULL, NULL},
		{{NULL}, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char room[WORDS_MAX + 1][32] = {"sallyport-sign"};
		char *argv[WORDS_MAX + 2] = {room[0]};
		struct signer_call call;
		int argc = 1;

		for (; argc <= WORDS_MAX && rows[i].words[argc - 1]; argc++) {
			(void)snprintf(room[argc], sizeof(room[0]), "%s",
				       rows[i].words[argc - 1]);
			argv[argc] = room[argc];
		}
		assert_int_equal(signer_call_read(argc, argv, &call),
				 rows[i].key != NULL);
		if (!rows[i].key)
			continue;
		assert_string_equal(call.key, rows[i].key);
		assert_string_equal(call.file, rows[i].file);
	}
}

static void a_key_is_the_same_whatever_its_comment(void **state)
{
	static const struct {
		const char *one, *two;
		bool is_same;
	} rows[] = {
		{"ssh-ed25519 AAAA a\n", "ssh-ed25519 AAAA", true},
		{"ssh-ed25519 AAAA a b\n", "ssh-ed25519 AAAA c\nmore", true},
		{"ssh-ed25519 AAAA", "ssh-ed25519 AAAB", false},
		{"ssh-ed25519 AAAA", "ssh-ed25519 AAA", false},
		{"ssh-ed25519 AAAA", "ssh-rsa AAAA", false},
		{"ssh-ed25519", "ssh-ed25519", false},
		{"", "", false},
		{" \n", " \n", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(signer_is_key(bytes_str(rows[i].one),
					       bytes_str(rows[i].two)),
				 rows[i].is_same);
}

static void the_gateway_is_where_the_proxy_is(void **state)
{
	static const struct {
		const char *url, *address;
		uint16_t port;
	} rows[] = {
		{"http://198.18.0.1:3128", "198.18.0.1", 3128},
		{"http://127.0.0.1:1/", "127.0.0.1", 1},
		{NULL, "9.9.9.9", 9},
		{"", "9.9.9.9", 9},
		{"127.0.0.1:1", "9.9.9.9", 9},
		{"https://127.0.0.1:1", "9.9.9.9", 9},
		{"http://127.0.0.1", "9.9.9.9", 9},
		{"http://127.0.0.1:0", "9.9.9.9", 9},
		{"http://127.0.0.1:65536", "9.9.9.9", 9},
		{"http://localhost:3128", "9.9.9.9", 9},
		{"http://a:b@127.0.0.1:3128", "9.9.9.9", 9},
		{"http://127.0.0.1.127.0.0.1:3128", "9.9.9.9", 9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sockaddr_in address = {.sin_port = htons(9)};
		char text[INET_ADDRSTRLEN];

		assert_int_equal(
			inet_pton(AF_INET, "9.9.9.9", &address.sin_addr), 1);
		signer_proxy_read(rows[i].url, &address);
		(void)inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
		assert_string_equal(text, rows[i].address);
		assert_int_equal(ntohs(address.sin_port), rows[i].port);
	}
}

static void an_answer_is_a_signature_or_says_why_not(void **state)
{
	static const struct {
		const char *answer, *told; /* NULL: it is one */
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nA: b\r\n\r\n" ARMOR, NULL},
		{"HTTP/1.1 200 OK\r\n\r\n" ARMOR "x", "cut off"},
		{"HTTP/1.1 200 OK\r\n\r\n-----BEGIN SSH SIGNATURE-----\nU1",
		 "cut off"},
		{"HTTP/1.1 200 OK\r\n\r\n", "cut off"},
		{"HTTP/1.1 200 OK\r\nA: b\r\n", "did not answer"},
		{"", "did not answer"},
		{"HTTP/1.1 403 egress denied: x\r\nA: b\r\n\r\n"
		 "{\"detail\":\"a \\\"b\\\" \\u00e4\\n\",\"try\":\"c\"}",
		 "a \"b\" ?00e4?; c"},
		{"HTTP/1.1 403 egress denied: x\r\nA: b\r\n\r\n{\"detail\":\"a",
		 "a"},
		{"HTTP/1.1 403 egress denied: x\r\nA: b\r\n\r\n{\"detail\":"
		 "\"a\\",
		 "a\\"},
		{"HTTP/1.1 502 Bad\r\nA: b\r\n\r\nhello", "HTTP/1.1 502 Bad"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bytes signature;
		struct buf why;
		int result;

		buf_init(&why, SIGNER_WHY_MAX);
		result = signer_answer_read(bytes_str(rows[i].answer),
					    &signature, &why);
		assert_int_equal(result, rows[i].told ? -1 : 0);
		if (!rows[i].told)
			assert_true(bytes_is(signature, ARMOR));
		else if (!strstr(buf_str(&why), rows[i].told))
			fail_msg("%s", buf_str(&why));
		buf_release(&why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_git_asks_is_told_from_everything_else),
		cmocka_unit_test(a_key_is_the_same_whatever_its_comment),
		cmocka_unit_test(the_gateway_is_where_the_proxy_is),
		cmocka_unit_test(an_answer_is_a_signature_or_says_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
