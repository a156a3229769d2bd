#include "gateway/courier/reflect.h"

#include <ctype.h>
#include <string.h>

#include "common/cleanup.h"
#include "gateway/courier/reflect_matches.h"

void reflect_release(struct reflect *reflect)
{
	for (size_t i = 0; i < reflect->count; i++)
		secret_release(&reflect->secrets[i]);
	secret_wipe(reflect, sizeof(*reflect));
}

/* ---- the table ---- */

static size_t pair_of(uint8_t first, uint8_t second)
{
	return ((size_t)first << 4 ^ second) % REFLECT_PAIRS;
}

static void add_pair(struct reflect *reflect, const uint8_t first[2],
		     const uint8_t second[2], size_t skip)
{
	bool begins = skip == reflect->window - 2;

	for (unsigned i = 0; i < 4; i++) {
		uint8_t *entry =
			&reflect->skip[pair_of(first[i % 2], second[i / 2])];
		uint8_t flag = *entry & REFLECT_BEGINS;

		if ((*entry & ~REFLECT_BEGINS) > skip)
			*entry = (uint8_t)skip | flag;
		if (begins)
			*entry |= REFLECT_BEGINS;
	}
}

static void add_form(struct reflect *reflect,
		     const struct reflect_needle *needle)
{
	uint8_t before[2], now[2];

	reflect_form_char(needle, 0, before);
	reflect->first[before[0]] |= (uint8_t)(1u << needle->form);
	reflect->first[before[1]] |= (uint8_t)(1u << needle->form);
	for (size_t i = 1; i < reflect->window; i++) {
		reflect_form_char(needle, i, now);
		add_pair(reflect, before, now, reflect->window - 1 - i);
		memcpy(before, now, sizeof(before));
	}
}

static struct reflect_needle needle_of(const struct reflect *reflect,
				       size_t secret, size_t form)
{
	return (struct reflect_needle){
		.secret = secret_view(&reflect->secrets[secret]),
		.form = (enum reflect_form)form,
		.frames = reflect->frames,
	};
}

static void add_word(struct reflect *reflect, struct bytes secret)
{
	static const char spelling[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz"
				       "0123456789+/-_=%\\";

	for (size_t i = 0; i < sizeof(spelling) - 1; i++)
		reflect->in_word[(uint8_t)spelling[i]] = true;
	for (size_t i = 0; i < secret.len; i++)
		reflect->in_word[secret.data[i]] = true;
}

/* Of all forms the plain one is the shortest. */
static void make_table(struct reflect *reflect)
{
	reflect->window = REFLECT_WINDOW_MAX;
	for (size_t i = 0; i < reflect->count; i++)
		if (reflect->secrets[i].len < reflect->window)
			reflect->window = reflect->secrets[i].len;
	memset(reflect->skip, (int)(reflect->window - 1),
	       sizeof(reflect->skip));
	for (size_t i = 0; i < reflect->count; i++)
		for (size_t form = 0; form < REFLECT_FORM_MAX; form++) {
			struct reflect_needle needle =
				needle_of(reflect, i, form);

			add_form(reflect, &needle);
		}
}

int reflect_watch(struct reflect *reflect, struct bytes secret, struct err *err)
{
	struct secret *added = &reflect->secrets[reflect->count];

	if (secret.len < REFLECT_LEAST)
		return 0;
	if (reflect->count == REFLECT_SECRETS_MAX)
		return err_set(err, ERR_TOO_LARGE, "watch: one too many");
	secret_init(added);
	if (secret_set(added, secret, err) < 0)
		return -1;
	reflect->count++;
	add_word(reflect, secret);
	make_table(reflect);
	return 0;
}

/* ---- one scan ---- */

struct scan {
	struct reflect *reflect;
	uint8_t *data;
	size_t len;
	size_t may;	/* what stands from here on is held back */
	size_t goes_on; /* where the tail ends */
	bool is_cut;
};

static struct bytes text_of(const struct scan *scan)
{
	return bytes_from(scan->data, scan->len);
}

static void hold_from(struct scan *scan, size_t at)
{
	if (at < scan->may)
		scan->may = at;
}

static bool is_enough(const struct reflect_needle *needle, size_t at,
		      const struct reflect_place *place)
{
	size_t len = reflect_form_len(needle);
	size_t enough = len / 2 > REFLECT_ENOUGH ? len / 2 : REFLECT_ENOUGH;

	if (enough > len)
		enough = len;
	return place->chars >= enough || place->end - at > REFLECT_HELD_MAX;
}

/* How much is overwritten must not tell how far a guess was right that goes
 * on behind what is enough: as much as the secret is long, whatever stands
 * there. */
static void take_found(struct scan *scan, size_t secret,
		       const struct reflect_needle *needle, size_t at,
		       const struct reflect_place *equal)
{
	struct reflect *reflect = scan->reflect;
	struct reflect_place place;

	reflect->found = true;
	if (!reflect->masks) {
		scan->is_cut = true;
		return;
	}
	place = reflect_cover(needle, text_of(scan), equal->end, equal->chars);
	reflect_mask(scan->data, at, place.end, reflect->frames);
	if (!place.is_open)
		return;
	scan->goes_on = place.end;
	reflect->tail.is_on = true;
	reflect->tail.secret = secret;
	reflect->tail.form = (uint8_t)needle->form;
	reflect->tail.escapes = (uint8_t)needle->escapes;
	reflect->tail.chars = place.chars;
	hold_from(scan, place.end);
}

static bool may_be_escaped(struct bytes text)
{
	return bytes_find(text, '%', 0) >= 0 || bytes_find(text, '\\', 0) >= 0;
}

/* False: it is not there, and nothing that is escaped can be. */
static bool try_spelling(struct scan *scan, size_t secret,
			 const struct reflect_needle *needle, size_t at)
{
	struct reflect_place place =
		reflect_compare(needle, text_of(scan), at, 0);

	if (place.chars > 0 && is_enough(needle, at, &place)) {
		take_found(scan, secret, needle, at, &place);
		return false;
	}
	if (place.is_open && place.chars >= REFLECT_LEAST) {
		hold_from(scan, at);
		if (2 * place.chars >= reflect_form_len(needle))
			scan->reflect->is_half = true;
	}
	return may_be_escaped(bytes_slice(text_of(scan), at, place.stop + 1));
}

static void try_at(struct scan *scan, size_t at)
{
	const struct reflect *reflect = scan->reflect;
	unsigned forms;
	uint8_t c;

	(void)reflect_character(text_of(scan), at, REFLECT_ESCAPES,
				reflect->frames, &c);
	forms = reflect->first[scan->data[at]] | reflect->first[c];
	for (size_t i = 0; forms && i < reflect->count; i++)
		for (size_t form = 0; form < REFLECT_FORM_MAX; form++) {
			struct reflect_needle needle =
				needle_of(reflect, i, form);

			if (!(forms & 1u << form))
				continue;
			while (try_spelling(scan, i, &needle, at) &&
			       needle.escapes < REFLECT_ESCAPES)
				needle.escapes++;
		}
}

/* What was found goes on. */
static void scan_tail(struct scan *scan, size_t at)
{
	struct reflect *reflect = scan->reflect;
	struct reflect_needle needle =
		needle_of(reflect, reflect->tail.secret, reflect->tail.form);
	struct reflect_place place;

	needle.escapes = reflect->tail.escapes;
	place = reflect_cover(&needle, text_of(scan), at, reflect->tail.chars);
	reflect_mask(scan->data, at, place.end, reflect->frames);
	reflect->tail.is_on = place.is_open;
	reflect->tail.chars = place.chars;
	scan->goes_on = place.end;
	if (place.is_open)
		hold_from(scan, place.end);
}

/* Where a whole window stands as it is. */
static void scan_windows(struct scan *scan)
{
	const struct reflect *reflect = scan->reflect;
	const uint8_t *data = scan->data;
	const size_t whole = reflect->window - 1;
	size_t at = whole;

	while (at < scan->len) {
		size_t skip = reflect->skip[pair_of(data[at - 1], data[at])] &
			      ~REFLECT_BEGINS;

		/* Nearly always: a branch that the processor foresees does not
		 * wait for the table, as the next place would. */
		if (skip == whole) {
			at += whole;
			continue;
		}
		if (skip == 0) {
			try_at(scan, at + 1 - reflect->window);
			skip = 1;
		}
		at += skip;
	}
}

/* What most marks in ordinary bytes are not: followed by the next byte of
 * what they would begin. */
static bool may_interrupt(uint8_t mark, uint8_t next)
{
	if (mark == '\r')
		return next == '\n';
	if (reflect_begins_frame(mark))
		return next <= 127;
	if (next == '\r' || reflect_begins_frame(next))
		return true;
	if (mark == '%')
		return isxdigit(next);
	return memchr("u\"\\/", next, 4);
}

/* *c: what it stands for, if it is an escape. */
static bool interrupts(const struct scan *scan, size_t at, uint8_t *c)
{
	bool frames = scan->reflect->frames;
	bool is_open;

	if (at + 1 < scan->len &&
	    !may_interrupt(scan->data[at], scan->data[at + 1]))
		return false;
	*c = '\r';
	if (scan->data[at] != '%' && scan->data[at] != '\\')
		return reflect_border(text_of(scan), at, frames, &is_open) > 0;
	return reflect_character(text_of(scan), at, REFLECT_ESCAPES, frames,
				 c) > 1;
}

/* May a form begin at `at`, before the interruption at `end`? */
static bool begins(const struct scan *scan, size_t at, size_t end)
{
	const struct reflect *reflect = scan->reflect;
	const uint8_t *pair = scan->data + at;

	return at + 1 == end ? reflect->first[pair[0]] != 0
			     : reflect->skip[pair_of(pair[0], pair[1])] &
				       REFLECT_BEGINS;
}

/* Where something stands within the first window of a form. */
static void scan_around(struct scan *scan, uint8_t mark)
{
	const struct reflect *reflect = scan->reflect;
	size_t before = reflect->window - 1;
	size_t tried = 0;
	const uint8_t *found = scan->data;
	uint8_t c;

	while ((found = memchr(found, mark,
			       (size_t)(scan->data + scan->len - found)))) {
		size_t at = (size_t)(found - scan->data);

		found++;
		if (!interrupts(scan, at, &c))
			continue;
		if (at > before && tried < at - before)
			tried = at - before;
		for (; tried < at; tried++)
			if (begins(scan, tried, at))
				try_at(scan, tried);
		if (reflect->first[c] | reflect->first[mark])
			try_at(scan, at);
	}
}

/* Where the bytes end within the first window. */
static void scan_end(struct scan *scan)
{
	size_t end = scan->reflect->window + REFLECT_BORDER_MAX;

	for (size_t at = scan->len > end ? scan->len - end : 0; at < scan->len;
	     at++)
		try_at(scan, at);
}

/* An empty line ends a body behind a chunk's size, and else a head. */
static bool is_behind_size(const uint8_t *data, size_t at)
{
	size_t from = at - 4;

	if (data[from] != '\r')
		return false;
	while (from > 0 && isxdigit(data[from - 1]))
		from--;
	return from < at - 4 && from > 0 && data[from - 1] == '\n';
}

/* May what ends at `at` be of a border of chunks? */
static bool may_be_border(const uint8_t *data, size_t at, bool is_last)
{
	if (data[at - 1] == '\r')
		return true;
	if (data[at - 1] != '\n' || at < 2 || data[at - 2] != '\r')
		return false;
	if (at < 4 || data[at - 3] != '\n')
		return true;
	return is_last && is_behind_size(data, at);
}

/* May it be of a frame's header? */
static bool may_be_header(const struct scan *scan, size_t at)
{
	for (size_t i = 1; i <= REFLECT_HEADER_MAX && i <= at; i++) {
		bool is_open;
		size_t len =
			reflect_border(text_of(scan), at - i, true, &is_open);

		if (scan->data[at - i] != '\r' && (is_open || len >= i))
			return true;
	}
	return false;
}

/* An end that is a word is held back, whatever it says. */
static void hold_word(struct scan *scan)
{
	const uint8_t *data = scan->data;
	size_t from = scan->len, chars = 0;

	for (size_t at = scan->len; at > 0 && scan->len - at < REFLECT_WORD_MAX;
	     at--) {
		if (scan->reflect->in_word[data[at - 1]]) {
			chars++;
			from = at - 1;
		} else if (!may_be_border(data, at, chars == 0) &&
			   !(scan->reflect->frames &&
			     may_be_header(scan, at))) {
			break;
		}
	}
	if (chars >= REFLECT_LEAST)
		hold_from(scan, from);
}

bool reflect_let_go(struct reflect *reflect)
{
	reflect->tail.is_on = false;
	return !reflect->is_half;
}

ssize_t reflect_scan(struct reflect *reflect, uint8_t *data, size_t len,
		     size_t passed)
{
	/* From the fourth on they begin frames. */
	static const uint8_t marks[] = {'%',  '\\',	    '\r',	 0x00,
					0x80, REFLECT_PING, REFLECT_PONG};
	size_t count = reflect->frames ? ARRAY_SIZE(marks) : 3;
	struct scan scan = {reflect, data, len, len, 0, false};

	if (reflect->count == 0 || len == passed)
		return (ssize_t)(len - passed);
	reflect->is_half = false;
	if (reflect->tail.is_on)
		scan_tail(&scan, passed + reflect->tail.ahead);
	scan_windows(&scan);
	for (size_t i = 0; i < count; i++)
		scan_around(&scan, marks[i]);
	scan_end(&scan);
	if (scan.is_cut)
		return -1;
	hold_word(&scan);
	if (scan.may < passed)
		scan.may = passed;
	if (reflect->tail.is_on)
		reflect->tail.ahead = scan.goes_on - scan.may;
	return (ssize_t)(scan.may - passed);
}
