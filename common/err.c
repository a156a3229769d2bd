#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, enum err_code code, const char *format, ...)
{
	va_list args;
	char text[ERR_TEXT_MAX];

	if (!err)
		return -1;
	/* Apart first: the arguments may point into err->text. */
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	memcpy(err->text, text, sizeof(text));
	err->code = code;
	err->number = 0;
	return -1;
}

int err_system(struct err *err, const char *format, ...)
{
	int number = errno;
	va_list args;
	char subject[ERR_TEXT_MAX / 2];

	va_start(args, format);
	(void)vsnprintf(subject, sizeof(subject), format, args);
	va_end(args);
	if (!err)
		return -1;
	(void)err_set(err, ERR_SYSTEM, "%s: %s", subject, strerror(number));
	err->number = number;
	return -1;
}

int err_prefix(struct err *err, const char *format, ...)
{
	va_list args;
	char prefix[ERR_TEXT_MAX / 2];
	char rest[ERR_TEXT_MAX];

	if (!err)
		return -1;
	va_start(args, format);
	(void)vsnprintf(prefix, sizeof(prefix), format, args);
	va_end(args);
	memcpy(rest, err->text, sizeof(rest));
	(void)snprintf(err->text, sizeof(err->text), "%.200s: %.300s", prefix,
		       rest);
	return -1;
}
