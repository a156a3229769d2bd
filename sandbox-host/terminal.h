/*
 * The caller's terminal and the pty inside: raw mode while the command
 * runs, bytes both ways, window size. The command never holds the caller's
 * own terminal.
 */
#ifndef SANDBOX_HOST_TERMINAL_H
#define SANDBOX_HOST_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "common/err.h"

#define TERMINAL_BYTES 4096

struct terminal {
	int master; /* of the pty inside; -1: there is none */
	bool is_raw;
	struct termios saved;
	char typed[TERMINAL_BYTES]; /* on its way in */
	size_t typed_start, typed_end;
	bool has_ended; /* the caller's input has */
};

/* A pty of the devpts inside. Init keeps the slave until the command has
 * ended: a command may close its own (touch(1) does), which would be the end
 * of the terminal for whoever has the master. */
struct pty {
	int master, slave; /* -1: there is none */
};

/* In init. 0, or -1. */
int terminal_make(struct pty *pty, struct err *err);
/* What is left of it. */
void pty_close(struct pty *pty);
/* In the command's process, a session leader: make slave its terminal and
 * its standard descriptors. 0, or -1. */
int terminal_adopt(int slave, struct err *err);

/* In the caller: own master (-1: a terminal that does nothing). */
void terminal_open(struct terminal *terminal, int master);
/* Raw mode and the window's size. 0, or -1. */
int terminal_start(struct terminal *terminal, struct err *err);
/* Give the pty the caller's window size. */
void terminal_resize(const struct terminal *terminal);
/* What to poll for: fds[0] the pty, fds[1] the caller's input. */
void terminal_poll(const struct terminal *terminal, struct pollfd fds[2]);
/* Move what can be moved. */
void terminal_serve(struct terminal *terminal, const struct pollfd fds[2]);
/* Show what the pty still holds. */
void terminal_drain(struct terminal *terminal);
/* Restore the caller's terminal and close. */
void terminal_close(struct terminal *terminal);

#endif
