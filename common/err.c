#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/cleanup.h"

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

static void append(char text[ERR_TEXT_MAX], const char *more)
{
	size_t used = strlen(text);
	size_t len = strnlen(more, ERR_TEXT_MAX - 1 - used);

	memcpy(text + used, more, len);
	text[used + len] = '\0';
}

/* strerror() looks for a translation first, each time. */
static const char *name_of(int number)
{
	const char *text = strerrordesc_np(number);

	return text ? text : strerror(number);
}

int err_system(struct err *err, const char *format, ...)
{
	int number = errno;
	va_list args;
	char subject[ERR_TEXT_MAX / 2];

	if (!err)
		return -1;
	va_start(args, format);
	(void)vsnprintf(subject, sizeof(subject), format, args);
	va_end(args);
	/* EAGAIN comes this way at each turn of a loop: no second format. */
	err->text[0] = '\0';
	append(err->text, subject);
	append(err->text, ": ");
	append(err->text, name_of(number));
	err->code = ERR_SYSTEM;
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

bool err_is_shortage(const struct err *err)
{
	static const int numbers[] = {EAGAIN,  EMFILE, ENFILE,
				      ENOBUFS, ENOMEM, ETOOMANYREFS};

	for (size_t i = 0; err->code == ERR_SYSTEM && i < ARRAY_SIZE(numbers);
	     i++)
		if (err->number == numbers[i])
			return true;
	return err->code == ERR_TOO_LARGE;
}

bool err_is_hangup(const struct err *err)
{
	return err->code == ERR_CLOSED ||
	       (err->code == ERR_SYSTEM &&
		(err->number == ECONNRESET || err->number == ECONNABORTED ||
		 err->number == EPIPE));
}
