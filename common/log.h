/*
 * The operator's log: one line a record on stderr, in logfmt:
 * time=... level=info process=edge session=s-... msg="..." key=value
 * Values are escaped, cut at 256 bytes, and at most 200 lines a second are
 * written (the rest counted and said). Never a secret: struct secret has no
 * printer. The record that counts is the ledger's.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* Name the process (and its session, or NULL) in every line from now on.
 * SALLYPORT_LOG=error|warn|info|debug sets the level; default info. */
void log_open(const char *process, const char *session);
void log_line(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
