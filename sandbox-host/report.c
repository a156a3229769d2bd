#include "sandbox-host/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/plain.h"
#include "policies/quiet.h"
#include "policies/remedy.h"

#define FNV_START  14695981039346656037ull
#define FNV_PRIME  1099511628211ull
#define RULES_TOLD 16

/* What to do, once for each rule. */
static void print_remedy(const struct sandbox_event *event)
{
	static const char *told[RULES_TOLD];
	const char *text = remedy_of(event->constraint, bytes_str(event->rule));
	char line[REPORT_TEXT_MAX];
	size_t at = 0;
	int len;

	while (at < RULES_TOLD && told[at] && strcmp(told[at], event->rule))
		at++;
	if (!event->rule[0] || !text[0] || at == RULES_TOLD || told[at])
		return;
	told[at] = event->rule;
	len = snprintf(line, sizeof(line), "sandbox: %s: %s%s\n", event->rule,
		       text, isatty(STDERR_FILENO) ? "\r" : "");
	if (len > 0 && (size_t)len < sizeof(line))
		(void)!write(STDERR_FILENO, line, (size_t)len);
}

void sandbox_event_print(void *owner, const struct sandbox_event *event)
{
	char line[REPORT_TEXT_MAX + 16];
	int len = snprintf(line, sizeof(line), "sandbox: %s\r\n", event->text);

	(void)owner;
	if (event->is_ignored || len < 0 || (size_t)len >= sizeof(line))
		return;
	/* A terminal in raw mode wants the carriage return. */
	if (!isatty(STDERR_FILENO))
		line[len-- - 2] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)len);
	print_remedy(event);
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

static void deliver(struct report *report, struct sandbox_event event)
{
	event.is_ignored = event.constraint != CONSTRAINT_none &&
			   quiet_covers(&report->ignore, bytes_str(event.text));
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
	deliver(report,
		(struct sandbox_event){CONSTRAINT_none, text, "", false});
}

void report_pass(struct report *report, const struct sandbox_event *event)
{
	deliver(report, *event);
}

static void say(struct report *report, enum constraint constraint,
		const char *rule, char *text)
{
	uint64_t second = clock_monotonic_ms() / 1000;

	plain_text(text);
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
	deliver(report, (struct sandbox_event){constraint, text, rule, false});
}

void report_say(struct report *report, const char *format, ...)
{
	char text[REPORT_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(report, CONSTRAINT_none, "", text);
}

void report_deny(struct report *report, enum constraint constraint,
		 const char *rule, const char *format, ...)
{
	char text[REPORT_TEXT_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(report, constraint, rule, text);
}
