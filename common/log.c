#include "common/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define LINES_PER_SECOND 200
#define VALUE_MAX	 256
#define NAME_MAX_LEN	 64
/* A value's bytes can each become "\xNN". */
#define ESCAPED_SIZE (4 * VALUE_MAX + 8)
#define LINE_SIZE    (2 * NAME_MAX_LEN + ESCAPED_SIZE + 128)

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static struct {
	enum log_level level;
	char process[NAME_MAX_LEN];
	char session[NAME_MAX_LEN];
	uint64_t second; /* the second that lines are counted in */
	unsigned lines;	 /* written in it */
	unsigned long dropped;
} state = {.level = LOG_LEVEL_INFO, .process = "sallyport"};

/* A name is written without quotes: keep only what needs none. */
static void copy_name(char to[NAME_MAX_LEN], const char *from)
{
	size_t len = 0;

	for (; from && *from && len < NAME_MAX_LEN - 1; from++)
		to[len++] = *from > ' ' && *from < 0x7f && *from != '"' &&
					    *from != '=' && *from != '\\'
				    ? *from
				    : '_';
	to[len] = '\0';
}

void log_open(const char *process, const char *session)
{
	const char *wanted = getenv("SALLYPORT_LOG");

	copy_name(state.process, process);
	copy_name(state.session, session);
	for (size_t i = 0; wanted && i < ARRAY_SIZE(level_names); i++)
		if (!strcmp(wanted, level_names[i]))
			state.level = (enum log_level)i;
}

/* Escape one byte into to[5]; returns its length. */
static size_t escape_byte(uint8_t c, char *to)
{
	if (c == '"' || c == '\\')
		return (size_t)snprintf(to, 5, "\\%c", c);
	if (c == '\n')
		return (size_t)snprintf(to, 5, "\\n");
	if (c == '\t')
		return (size_t)snprintf(to, 5, "\\t");
	if (c < ' ' || c >= 0x7f)
		return (size_t)snprintf(to, 5, "\\x%02x", c);
	*to = (char)c;
	return 1;
}

static void escape(struct bytes value, char to[ESCAPED_SIZE])
{
	struct bytes kept = bytes_slice(value, 0, VALUE_MAX);
	size_t len = 0;

	for (size_t i = 0; i < kept.len; i++)
		len += escape_byte(kept.data[i], to + len);
	(void)snprintf(to + len, ESCAPED_SIZE - len, "%s",
		       kept.len < value.len ? "..." : "");
}

static void write_line(enum log_level level, struct bytes text)
{
	char line[LINE_SIZE], escaped[ESCAPED_SIZE], now[CLOCK_TEXT_SIZE];
	int len;

	clock_format(clock_wall_ms(), now);
	escape(text, escaped);
	len = snprintf(line, sizeof(line),
		       "time=%s level=%s process=%s%s%s msg=\"%s\"\n", now,
		       level_names[level], state.process,
		       state.session[0] ? " session=" : "", state.session,
		       escaped);
	/* One write, so that lines of several processes do not mix. Where
	 * the log cannot be written there is nowhere left to say so. */
	if (write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}

/* May one more line be written now? Says how many could not before. */
static bool take_turn(void)
{
	uint64_t second = clock_monotonic_ms() / 1000;
	char text[64];

	if (second == state.second)
		return state.lines++ < LINES_PER_SECOND || !++state.dropped;
	state.second = second;
	state.lines = 1;
	if (state.dropped > 0) {
		(void)snprintf(text, sizeof(text), "%lu lines were dropped",
			       state.dropped);
		state.dropped = 0;
		write_line(LOG_LEVEL_WARN, bytes_str(text));
	}
	return true;
}

void log_line(enum log_level level, const char *format, ...)
{
	char text[VALUE_MAX + 2];
	va_list args;

	if (level > state.level || !take_turn())
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	write_line(level, bytes_str(text));
}
