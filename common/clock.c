#include "common/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <time.h>

/*
 * gmtime_r() and timegm() are not used here: their first call opens the
 * zone file, and a confined process dies of that.
 */

#define DAY_SECONDS   86400u
#define ERA_DAYS      146097u /* 400 years */
#define ERA_YEARS     400u
#define YEAR_FIRST    1970u
#define YEAR_LAST     9999u
#define WALL_MS_LAST  253402300799999u /* 9999-12-31T23:59:59.999Z */
#define MARCH_TO_1970 719468u	       /* days from 0000-03-01 to 1970-01-01 */

static uint64_t clock_ms(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) != 0)
		assert(!"the kernel has this clock");
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t clock_wall_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

uint64_t clock_monotonic_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

struct date {
	unsigned year, month, day;
};

/* Days since 1970 of a date; years start in March here, so that the leap
 * day is the last of its year. */
static uint64_t days_from_date(struct date date)
{
	unsigned year = date.month > 2 ? date.year : date.year - 1;
	unsigned month = (date.month + 9) % 12; /* 0 is March */
	uint64_t days =
		(uint64_t)year * 365 + year / 4 - year / 100 + year / ERA_YEARS;

	return days + (month * 153 + 2) / 5 + date.day - 1 - MARCH_TO_1970;
}

static struct date date_from_days(uint64_t days)
{
	uint64_t march = days + MARCH_TO_1970;
	unsigned era = (unsigned)(march / ERA_DAYS);
	unsigned of_era = (unsigned)(march % ERA_DAYS);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 -
			 of_era / (ERA_DAYS - 1)) /
			365;
	unsigned of_year = of_era - (year * 365 + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153; /* 0 is March */
	struct date date = {
		.year = year + era * ERA_YEARS + (month >= 10),
		.month = month < 10 ? month + 3 : month - 9,
		.day = of_year - (month * 153 + 2) / 5 + 1,
	};

	return date;
}

bool clock_is_before_build(uint64_t wall_ms)
{
	return date_from_days(wall_ms / 1000 / DAY_SECONDS).year < BUILD_YEAR;
}

/* The last digits of a number, and what follows them: where to go on. */
static char *put_number(char *at, unsigned digits, unsigned number, char next)
{
	for (unsigned i = digits; i > 0; i--) {
		at[i - 1] = (char)('0' + number % 10);
		number /= 10;
	}
	at[digits] = next;
	return at + digits + 1;
}

void clock_format(uint64_t wall_ms, char out[CLOCK_TEXT_SIZE])
{
	char *at = out;
	uint64_t seconds;
	unsigned of_day;
	struct date date;

	if (wall_ms > WALL_MS_LAST)
		wall_ms = WALL_MS_LAST;
	seconds = wall_ms / 1000;
	of_day = (unsigned)(seconds % DAY_SECONDS);
	date = date_from_days(seconds / DAY_SECONDS);
	at = put_number(at, 4, date.year, '-');
	at = put_number(at, 2, date.month, '-');
	at = put_number(at, 2, date.day, 'T');
	at = put_number(at, 2, of_day / 3600, ':');
	at = put_number(at, 2, of_day / 60 % 60, ':');
	at = put_number(at, 2, of_day % 60, '.');
	at = put_number(at, 3, (unsigned)(wall_ms % 1000), 'Z');
	*at = '\0';
}

static unsigned month_days(unsigned year, unsigned month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31};
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && is_leap);
}

/* Take the digits and then the separator from the front. */
static int take_number(struct bytes *text, unsigned digits, char sep,
		       unsigned *number)
{
	uint64_t value;

	if (text->len < digits ||
	    bytes_to_u64(bytes_slice(*text, 0, digits), digits, &value) < 0)
		return -1;
	*text = bytes_slice(*text, digits, text->len);
	*number = (unsigned)value;
	if (sep == '\0')
		return 0;
	if (text->len == 0 || text->data[0] != (uint8_t)sep)
		return -1;
	*text = bytes_slice(*text, 1, text->len);
	return 0;
}

/* ".digits" (any number, the first three count) or nothing, then "Z". */
static int take_fraction(struct bytes text, unsigned *ms)
{
	unsigned weight = 100;
	size_t at = 1;

	*ms = 0;
	if (bytes_is(text, "Z"))
		return 0;
	if (text.len < 3 || text.data[0] != '.')
		return -1;
	for (; at + 1 < text.len; at++) {
		if (text.data[at] < '0' || text.data[at] > '9')
			return -1;
		*ms += weight * (unsigned)(text.data[at] - '0');
		weight /= 10;
	}
	return text.data[at] == 'Z' ? 0 : -1;
}

int clock_parse(struct bytes text, uint64_t *wall_ms)
{
	struct date date;
	unsigned hour, minute, second, ms;

	if (take_number(&text, 4, '-', &date.year) < 0 ||
	    take_number(&text, 2, '-', &date.month) < 0 ||
	    take_number(&text, 2, 'T', &date.day) < 0 ||
	    take_number(&text, 2, ':', &hour) < 0 ||
	    take_number(&text, 2, ':', &minute) < 0 ||
	    take_number(&text, 2, '\0', &second) < 0 ||
	    take_fraction(text, &ms) < 0)
		return -1;
	if (date.year < YEAR_FIRST || date.year > YEAR_LAST || date.month < 1 ||
	    date.month > 12 || date.day < 1 ||
	    date.day > month_days(date.year, date.month) || hour > 23 ||
	    minute > 59 || second > 59)
		return -1;
	*wall_ms = (days_from_date(date) * DAY_SECONDS + hour * 3600u +
		    minute * 60u + second) *
			   1000 +
		   ms;
	return 0;
}
