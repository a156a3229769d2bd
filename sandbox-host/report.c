#include "sandbox-host/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"

#define FNV_START 14695981039346656037ull
#define FNV_PRIME 1099511628211ull

void sandbox_event_print(void *owner, const struct sandbox_event *event)
{
	char line[REPORT_TEXT_MAX + 16];
	int len = snprintf(line, sizeof(line), "sandbox: %s\r\n", event->text);

	(void)owner;
	if (len < 0 || (size_t)len >= sizeof(line))
		return;
	/* A terminal in raw mode wants the carriage return. */
	if (!isatty(STDERR_FILENO))
		line[len-- - 2] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)len);
}

void report_open(struct report *report, sandbox_on_event *on_event, void *owner)
{
	*report = (struct report){
		.on_event = on_event ? on_event : sandbox_event_print,
		.owner = owner,
	};
}

static uint64_t digest(const char *text)
{
	uint64_t hash = FNV_START;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
	return hash;
}

static bool was_said(struct report *report, const char *text)
{
	uint64_t hash = digest(text);

	for (unsigned i = 0; i < REPORT_REMEMBERED; i++)
		if (report->said[i] == hash)
			return true;
	report->said[report->next] = hash;
	report->next = (report->next + 1) % REPORT_REMEMBERED;
	return false;
}

static void deliver(struct report *report, enum constraint constraint,
		    const char *text)
{
	const struct sandbox_event event = {constraint, text};

	report->on_event(report->owner, &event);
}

void report_flush(struct report *report)
{
	char text[64];

	if (!report->dropped)
		return;
	snprintf(text, sizeof(text), "%llu more denials were not shown",
		 (unsigned long long)report->dropped);
	report->dropped = 0;
	deliver(report, CONSTRAINT_none, text);
}

void report_say(struct report *report, enum constraint constraint,
		const char *format, ...)
{
	char text[REPORT_TEXT_MAX];
	uint64_t second = clock_monotonic_ms() / 1000;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *at = text; *at; at++)
		if ((uint8_t)*at < ' ' || *at == 0x7f)
			*at = '?';
	if (was_said(report, text))
		return;
	if (second != report->second) {
		report->second = second;
		report->this_second = 0;
		report_flush(report);
	}
	if (report->this_second++ >= REPORT_PER_SECOND) {
		report->dropped++;
		return;
	}
	deliver(report, constraint, text);
}
