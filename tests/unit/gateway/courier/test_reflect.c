/* The courier finds its own credential in what an upstream sends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "gateway/courier/reflect.h"

#define TOKEN	 "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
#define ODD	 "p%41s\"s/w+rd\\?="
#define TEXT_MAX 8192

static void begin(struct reflect *reflect, const char *secret, bool masks)
{
	struct err err;

	*reflect = (struct reflect){.masks = masks};
	assert_int_equal(reflect_watch(reflect, bytes_str(secret), &err), 0);
}

/* Feed text in pieces of `size`, as a leg does, what is kept of what passed
 * before it. What passed, in out; -1 when a secret was found and not masked,
 * else how much. */
static ssize_t feed_bytes(struct reflect *reflect, struct bytes text,
			  size_t size, char out[TEXT_MAX])
{
	uint8_t data[TEXT_MAX];
	size_t passed = 0, given = 0, all = 0, len = 0;

	while (given < text.len) {
		size_t more = text.len - given < size ? text.len - given : size;
		ssize_t now;
		size_t drop;

		memcpy(data + len, text.data + given, more);
		given += more;
		len += more;
		now = reflect_scan(reflect, data, len, passed);
		if (now < 0)
			return -1;
		memcpy(out + all, data + passed, (size_t)now);
		all += (size_t)now;
		passed += (size_t)now;
		drop = passed > REFLECT_KEPT_MAX ? passed - REFLECT_KEPT_MAX
						 : 0;
		memmove(data, data + drop, len - drop);
		len -= drop;
		passed -= drop;
	}
	out[all] = 0;
	return (ssize_t)all;
}

static ssize_t feed(struct reflect *reflect, const char *text, size_t size,
		    char out[TEXT_MAX])
{
	return feed_bytes(reflect, bytes_str(text), size, out);
}

/* A secret, how it comes back (found from its LEAST characters on), and what
 * is left of it. */
static const struct row {
	const char *secret, *text, *masked;
} rows[] = {
	{TOKEN, "a " TOKEN " b",
	 "a **************************************** b"},
	{TOKEN, "{\"auth\": \"Bearer " TOKEN "\"}",
	 "{\"auth\": \"Bearer ****************************************\"}"},
	{TOKEN, "ghp_0123ghp_01234567" TOKEN "|",
	 "ghp_0123ghp_01234567****************************************|"},
	{TOKEN, TOKEN TOKEN "|",
	 "****************************************"
	 "****************************************|"},
	/* base64 of "x-access-token:" TOKEN, of ":" and "::" before it */
	{TOKEN,
	 "Basic eC1hY2Nlc3MtdG9rZW46Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9w"
	 "cXJzdHV2d3h5eg== .",
	 "Basic eC1hY2Nlc3MtdG9rZW46****************************************"
	 "*************g== ."},
	{TOKEN, "OmdocF8wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo= .",
	 "Om****************************************************o= ."},
	{TOKEN, "OjpnaHBfMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6 .",
	 "Ojp***************************************************** ."},
	/* both alphabets, and percent-encoded */
	{"\xfb\xef\xbe\xfb\xef\xbe\xff\xff\xff", "++++++++//// .",
	 "************ ."},
	{"\xfb\xef\xbe\xfb\xef\xbe\xff\xff\xff", "--------____ .",
	 "************ ."},
	{"\xfb\xef\xbe\xfb\xef\xbe\xff\xff\xff", "%2B%2B%2b++-+-%2F/_/ .",
	 "******************** ."},
	/* hex */
	{"12345678", "3132333435363738 .", "**************** ."},
	{"jklmnopq", "6a6B6c6D6e6F7071 .", "**************** ."},
	/* percent, upper and lower, all or what must be */
	{ODD, "p%2541s%22s%2Fw%2Brd%5C%3F%3D .",
	 "***************************** ."},
	{ODD, "p%2541s%22s%2fw%2brd%5c%3f%3d .",
	 "***************************** ."},
	{"12345678", "%31%32%33%34%35%36%37%38 .",
	 "************************ ."},
	{"12345678", "1234%35678 .", "********** ."},
	/* JSON */
	{ODD, "p%41s\\\"s\\/w+rd\\\\?= .", "****************** ."},
	{ODD, "p%41s\\u0022s/w\\u002brd\\u005C?\\u003D .",
	 "*********************************** ."},
	{"12345678", "\\u0031\\u0032345678 .", "****************** ."},
	/* as it is */
	{ODD, ODD " .", "*************** ."},
	/* the borders of chunks stay */
	{TOKEN,
	 "5\r\nghp_0\r\n23\r\n123456789abcdefghijklmnopqrstuvwxyz\r\n"
	 "0\r\n\r\n",
	 "5\r\n*****\r\n23\r\n***********************************\r\n"
	 "0\r\n\r\n"},
	{"12345678",
	 "1\r\n1\r\n1\r\n2\r\n0001 \r\n3\r\n5\r\n45678\r\n0\r\n\r\n",
	 "1\r\n*\r\n1\r\n*\r\n0001 \r\n*\r\n5\r\n*****\r\n0\r\n\r\n"},
	{"12345678", "4\r\n123%\r\n1\r\n3\r\n5\r\n45678\r\n0\r\n\r\n",
	 "4\r\n****\r\n1\r\n*\r\n5\r\n*****\r\n0\r\n\r\n"},
	{"12345678", "4\r\n1234\r\n6\r\n%35678\r\n0\r\n\r\n",
	 "4\r\n****\r\n6\r\n******\r\n0\r\n\r\n"},
};

static void a_reflected_credential_is_found_in_any_division(void **state)
{
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (size_t size = 1; size <= strlen(rows[i].text); size++) {
			struct reflect reflect;

			begin(&reflect, rows[i].secret, false);
			if (feed(&reflect, rows[i].text, size, out) != -1)
				fail_msg("%s by %zu passed", rows[i].text,
					 size);
			reflect_release(&reflect);
		}
	}
}

static void a_reflected_credential_is_overwritten_by_as_much(void **state)
{
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct reflect reflect;
		size_t len = strlen(rows[i].text);

		begin(&reflect, rows[i].secret, true);
		assert_int_equal(feed(&reflect, rows[i].text, len, out), len);
		assert_string_equal(out, rows[i].masked);
		assert_true(reflect.found);
		reflect_release(&reflect);
	}
}

/* How many characters of text out still shows where masked has a '*'. */
static size_t shown(const char *text, const char *masked, const char *out)
{
	size_t count = 0;

	for (size_t i = 0; text[i]; i++) {
		if (masked[i] != '*')
			assert_true(out[i] == text[i]);
		else
			count += out[i] != '*';
	}
	return count;
}

static void no_division_shows_more_than_its_least_beginning(void **state)
{
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		for (size_t size = 1; size <= strlen(row->text); size++) {
			struct reflect reflect;
			size_t max = 6 * REFLECT_LEAST;

			begin(&reflect, row->secret, true);
			assert_int_equal(feed(&reflect, row->text, size, out),
					 strlen(row->text));
			assert_true(shown(row->text, row->masked, out) < max);
			assert_null(strstr(out, row->secret));
			reflect_release(&reflect);
		}
	}
}

static void a_long_credential_is_overwritten_to_its_end(void **state)
{
	char secret[601], text[1400], out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < 600; i++)
		secret[i] = (char)('a' + (i * i / 7 + i) % 26);
	secret[600] = 0;
	(void)snprintf(text, sizeof(text),
		       "200\r\n%.512s\r\n58\r\n%s|\r\n0\r\n\r\n%s!", secret,
		       secret + 512, secret);
	for (size_t size = 1; size < 700; size += size < 40 ? 1 : 37) {
		struct reflect reflect;
		size_t left = 0;

		begin(&reflect, secret, true);
		assert_int_equal(feed(&reflect, text, size, out), strlen(text));
		for (size_t i = 0; out[i]; i++)
			left += out[i] >= 'a' && out[i] <= 'z';
		assert_true(left < 2 * REFLECT_LEAST);
		assert_non_null(strstr(out, "|\r\n0\r\n\r\n"));
		reflect_release(&reflect);
	}
}

/* Half of a long one is enough; less is no more than a beginning. */
static void half_of_a_long_credential_is_enough(void **state)
{
	char secret[401], text[402], out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < 400; i++)
		secret[i] = (char)('a' + (i * i / 7 + i) % 26);
	secret[400] = 0;
	for (int len = 190; len < 210; len++) {
		struct reflect reflect;

		begin(&reflect, secret, false);
		(void)snprintf(text, sizeof(text), "%.*s!", len, secret);
		assert_int_equal(feed(&reflect, text, 1000, out),
				 len < 200 ? len + 1 : -1);
		reflect_release(&reflect);
	}
}

/* Who knows half of a long one learns nothing of the rest from what is
 * overwritten: it is the same for every guess. */
static void what_is_overwritten_tells_no_right_guess(void **state)
{
	char secret[401], text[2000], first[TEXT_MAX], out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < 400; i++)
		secret[i] = (char)('a' + (i * i / 7 + i) % 26);
	secret[400] = 0;
	for (size_t size = 1; size < 900; size += size < 40 ? 7 : 61) {
		for (int right = 200; right <= 400; right += 20) {
			struct reflect reflect;
			size_t len;

			/* The same length, whatever of it is right. */
			(void)snprintf(text, sizeof(text), "X: %.*s", right,
				       secret);
			len = strlen(text);
			memset(text + len, '7', (size_t)(500 - right));
			(void)snprintf(text + len + 500 - right, 100,
				       "\r\n\r\nthe body\r\n0\r\n\r\n");
			begin(&reflect, secret, true);
			(void)feed(&reflect, text, size, out);
			assert_true(reflect.found);
			reflect_release(&reflect);
			if (right == 200)
				memcpy(first, out, sizeof(out));
			assert_string_equal(out, first);
			assert_non_null(strstr(
				out, "777\r\n\r\nthe body\r\n0\r\n\r\n"));
		}
	}
}

/* In chunks, and where the text ends before the secret would. */
static void what_is_overwritten_leaves_line_ends_and_borders(void **state)
{
	char secret[401], text[2000], wanted[2000], stars[200], out[TEXT_MAX];

	(void)state;
	memset(stars, '*', sizeof(stars));
	for (size_t i = 0; i < 400; i++)
		secret[i] = (char)('a' + (i * i / 7 + i) % 26);
	secret[400] = 0;
	(void)snprintf(text, sizeof(text),
		       "c8\r\n%.200s\r\n6\r\nxy\r\nzw\r\n0\r\n\r\n", secret);
	(void)snprintf(wanted, sizeof(wanted),
		       "c8\r\n%.200s\r\n6\r\n**\r\n**\r\n0\r\n\r\n", stars);
	for (size_t size = 1; size < 230; size += 19) {
		struct reflect reflect;
		ssize_t got;

		begin(&reflect, secret, true);
		got = feed(&reflect, text, size, out);
		/* The last line end may be a border's beginning. */
		assert_true(got >= (ssize_t)strlen(text) - 2);
		assert_memory_equal(out + 104, wanted + 104, (size_t)got - 104);
		reflect_release(&reflect);
	}
}

/* A WebSocket's message may go on in frames of any length, empty ones, too;
 * what is no header of one stays what it is. */
static const struct {
	struct bytes text, masked;
} messages[] = {
#define TEXT(text) BYTES_LITERAL(text)
	{TEXT("\x01\x05<1234\x80\x7e\0\x05"
	      "5678>"),
	 TEXT("\x01\x05<****\x80\x7e\0\x05"
	      "****>")},
	{TEXT("\x01\x01"
	      "1\0\x01"
	      "2\0\0\x80\x07"
	      "345678>"),
	 TEXT("\x01\x01"
	      "*\0\x01"
	      "*\0\0\x80\x07"
	      "******>")},
	{TEXT("\x01\x04"
	      "1234\x80\x7f\0\0\0\0\0\0\0\x05"
	      "5678>"),
	 TEXT("\x01\x04"
	      "****\x80\x7f\0\0\0\0\0\0\0\x05"
	      "****>")},
	{TEXT("\x01\x05"
	      "1234%\x80\x06"
	      "35678>"),
	 TEXT("\x01\x05"
	      "*****\x80\x06"
	      "*****>")},
	{TEXT("\x01\x04"
	      "1234\x8a\0\x89\x02<>\x80\x04"
	      "5678"),
	 TEXT("\x01\x04"
	      "****\x8a\0\x89\x02<>\x80\x04"
	      "****")},
	{TEXT("\x81\x04"
	      "1234\x81\x05"
	      "5678>"),
	 TEXT("\x81\x04"
	      "1234\x81\x05"
	      "5678>")},
#undef TEXT
};

/* How many characters of it are shown that should not be. */
static size_t shown_of_message(size_t message, size_t by)
{
	struct bytes text = messages[message].text;
	struct bytes masked = messages[message].masked;
	struct reflect reflect;
	char out[TEXT_MAX];
	size_t count = 0;

	begin(&reflect, "12345678", true);
	reflect.frames = true;
	assert_int_equal(feed_bytes(&reflect, text, by, out), text.len);
	assert_true(reflect.found == !bytes_equal(text, masked));
	reflect_release(&reflect);
	for (size_t at = 0; at < text.len; at++) {
		if ((uint8_t)out[at] == masked.data[at])
			continue;
		assert_true((uint8_t)out[at] == text.data[at]);
		count++;
	}
	return count;
}

static void the_borders_of_frames_hide_nothing(void **state)
{
	struct reflect reflect;
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		size_t len = messages[i].text.len;

		for (size_t by = 1; by < len; by++)
			assert_true(shown_of_message(i, by) < REFLECT_LEAST);
		assert_int_equal(shown_of_message(i, len), 0);
	}
	/* Of what is no WebSocket they are bytes as any other. */
	begin(&reflect, "12345678", true);
	assert_int_equal(feed_bytes(&reflect, messages[0].text, 100, out),
			 messages[0].text.len);
	assert_memory_equal(out, messages[0].text.data, messages[0].text.len);
	reflect_release(&reflect);
}

static void a_word_across_frames_is_held_back(void **state)
{
	const struct bytes word = BYTES_LITERAL("\x01\x06"
						"abcdef\x80\x05"
						"ghijk");
	struct reflect reflect;
	char out[TEXT_MAX];

	(void)state;
	begin(&reflect, "12345678", true);
	assert_int_equal(feed_bytes(&reflect, word, word.len, out), word.len);
	reflect_release(&reflect);
	begin(&reflect, "12345678", true);
	reflect.frames = true;
	assert_int_equal(feed_bytes(&reflect, word, word.len, out), 2);
	reflect_release(&reflect);
}

static void what_only_begins_like_a_credential_passes(void **state)
{
	static const char *const texts[] = {
		"nothing of the kind",
		"ghp_0123456789abcdefghijklmnopqrstuvwxy- almost",
		"ghp_01234567ghp_0123456789ghp_0123456789abc end",
		"ghp_0123456\r\n789 ghp_01234567\r\n\r\n89 ghp_0123%45 .",
		"5\r\nghp_0\r\n5;x=y\r\n1.345\r\n",
		"%67%68%70_ \\u0067\\u0068p_0123 %6 %zz \\u12 \\x \\\\ \\\" .",
	};
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t size = 1; size <= strlen(texts[i]); size++) {
			struct reflect reflect;

			begin(&reflect, TOKEN, size % 2);
			assert_int_equal(feed(&reflect, texts[i], size, out),
					 strlen(texts[i]));
			assert_string_equal(out, texts[i]);
			assert_false(reflect.found);
			reflect_release(&reflect);
		}
	}
}

static void the_end_that_may_be_a_beginning_is_held_back(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} ends[] = {
		{"x ghp_012", 0},
		{"x ghp_0123", 8},
		{"x ghp_01234567", 12},
		{"x ghp_0123\r\n", 10},
		{"x ghp_0123\r\n1", 11},
		{"x %67%68p_0123", 12},
		{"x ghp_0123%3", 10},
		{"x ghp_0123.", 0},
		{"x Z2hwXzAx", 8},
		{"x 6768705f", 8},
		{"x ghp_0123\r\n0\r\n\r\n", 15},
		{"x any-word\r\n0\r\n\r\n", 15},
		{"X: any-word\r\n\r\n", 0},
		{"X: ghp_0123\r\n\r\n", 0},
		{"x another", 0},
		{"x any-other", 9},
		{"x \"any-other\"", 0},
	};
	char out[TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct reflect reflect;

		begin(&reflect, TOKEN, i % 2);
		assert_int_equal(feed(&reflect, ends[i].text, 100, out),
				 strlen(ends[i].text) - ends[i].held);
		reflect_release(&reflect);
	}
}

/* How much of a guess is held back; half: whether it is half a secret. */
static size_t held_of(const char *form, size_t right, bool goes_wrong,
		      bool *half)
{
	struct reflect reflect;
	char text[TEXT_MAX], out[TEXT_MAX];
	size_t held;

	(void)snprintf(text, sizeof(text), "x %.*s%s", (int)right, form,
		       goes_wrong ? "Z" : "");
	begin(&reflect, TOKEN, true);
	held = strlen(text) - (size_t)feed(&reflect, text, 100, out);
	*half = !reflect_let_go(&reflect);
	reflect_release(&reflect);
	return held;
}

#define TOKEN_HEX                                                              \
	"6768705f303132333435363738396162636465666768696a6b6c6d6e6f707"        \
	"172737475767778797a"

static void what_is_held_back_does_not_tell_a_right_guess(void **state)
{
	static const char *const forms[] = {
		TOKEN,
		"Z2hwXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg",
		TOKEN_HEX,
	};
	bool half;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		for (size_t right = 2; 2 * (right + 1) < strlen(forms[i]) - 2;
		     right++) {
			size_t wrong = held_of(forms[i], right, true, &half);

			assert_false(half);
			assert_int_equal(
				held_of(forms[i], right + 1, false, &half),
				wrong);
			assert_false(half);
		}
}

static void half_a_credential_is_not_let_go(void **state)
{
	size_t len = strlen(TOKEN);
	bool half;

	(void)state;
	assert_int_equal(held_of(TOKEN, len / 2, false, &half), len / 2);
	assert_true(half);
	assert_int_equal(held_of(TOKEN, len - 1, false, &half), len - 1);
	assert_true(half);
}

static void all_credentials_of_a_leg_are_looked_for(void **state)
{
	static const char *const secrets[] = {
		"first secret of all",	     "the second",
		"and the third one of them", "finally",
		"a fourth that counts",
	};
	struct reflect reflect = {.masks = true};
	char out[TEXT_MAX];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		assert_int_equal(
			reflect_watch(&reflect, bytes_str(secrets[i]), &err),
			0);
	assert_int_equal(reflect.count, REFLECT_SECRETS_MAX);
	assert_int_equal(
		reflect_watch(&reflect, bytes_str("one too many"), &err), -1);
	assert_int_equal(feed(&reflect,
			      "a fourth that counts, finally, the second, and "
			      "the third one of them",
			      100, out),
			 68);
	assert_string_equal(out, "********************, finally, **********, "
				 "*************************");
	reflect_release(&reflect);
}

static void a_short_credential_is_not_watched_for(void **state)
{
	struct reflect reflect;
	char out[TEXT_MAX];

	(void)state;
	begin(&reflect, "secret", false);
	assert_int_equal(feed(&reflect, "a secret word", 3, out), 13);
	reflect_release(&reflect);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_reflected_credential_is_found_in_any_division),
		cmocka_unit_test(
			a_reflected_credential_is_overwritten_by_as_much),
		cmocka_unit_test(
			no_division_shows_more_than_its_least_beginning),
		cmocka_unit_test(a_long_credential_is_overwritten_to_its_end),
		cmocka_unit_test(half_of_a_long_credential_is_enough),
		cmocka_unit_test(what_is_overwritten_tells_no_right_guess),
		cmocka_unit_test(
			what_is_overwritten_leaves_line_ends_and_borders),
		cmocka_unit_test(the_borders_of_frames_hide_nothing),
		cmocka_unit_test(a_word_across_frames_is_held_back),
		cmocka_unit_test(what_only_begins_like_a_credential_passes),
		cmocka_unit_test(the_end_that_may_be_a_beginning_is_held_back),
		cmocka_unit_test(what_is_held_back_does_not_tell_a_right_guess),
		cmocka_unit_test(half_a_credential_is_not_let_go),
		cmocka_unit_test(all_credentials_of_a_leg_are_looked_for),
		cmocka_unit_test(a_short_credential_is_not_watched_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
