#include "cli/unseen.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
#define ENDING_COUNT (sizeof(ending) / sizeof(ending[0]))

/* For handlers, which get nothing else. */
static struct {
	int fd; /* -1: no terminal */
	struct termios shown;
	struct termios unseen;
} terminal = {.fd = -1};

/* Of a job that is not in front the terminal is somebody else's. */
static bool is_ours(void)
{
	pid_t front = tcgetpgrp(terminal.fd);

	return front < 0 || front == getpgrp();
}

static void set(const struct termios *mode)
{
	int number = errno;

	if (is_ours())
		(void)tcsetattr(terminal.fd, TCSANOW, mode);
	errno = number;
}

/* The signal's own meaning follows once this has returned. */
static void on_ending(int number)
{
	set(&terminal.shown);
	(void)raise(number);
}

static void on_stop(int number)
{
	(void)number;
	set(&terminal.shown);
	(void)raise(SIGSTOP);
}

/* A shell may have set the terminal meanwhile. */
static void on_going_on(int number)
{
	(void)number;
	set(&terminal.unseen);
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction before;
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	/* What whoever started us wants ignored stays ignored. */
	if (sigaction(number, NULL, &before) == 0 &&
	    before.sa_handler != SIG_IGN)
		(void)sigaction(number, &action, NULL);
}

void unseen_begin(int fd)
{
	assert(terminal.fd < 0);
	if (tcgetattr(fd, &terminal.shown) < 0)
		return;
	terminal.fd = fd;
	terminal.unseen = terminal.shown;
	terminal.unseen.c_lflag &= ~(tcflag_t)ECHO;
	terminal.unseen.c_lflag |= ECHONL;
	for (size_t i = 0; i < ENDING_COUNT; i++)
		handle(ending[i], on_ending, (int)SA_RESETHAND);
	handle(SIGTSTP, on_stop, SA_RESTART);
	handle(SIGCONT, on_going_on, SA_RESTART);
	set(&terminal.unseen);
}

void unseen_end(void)
{
	if (terminal.fd < 0)
		return;
	set(&terminal.shown);
	for (size_t i = 0; i < ENDING_COUNT; i++)
		handle(ending[i], SIG_DFL, 0);
	handle(SIGTSTP, SIG_DFL, 0);
	handle(SIGCONT, SIG_DFL, 0);
	terminal.fd = -1;
}
