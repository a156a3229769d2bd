#include "sandbox-host/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/cleanup.h"

int terminal_make(struct pty *pty, struct err *err)
{
	auto_fd int master =
		open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	auto_fd int slave = -1;

	if (master < 0 || unlockpt(master) < 0)
		return err_system(err, "terminal: make a pty");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_system(err, "terminal: open its other side");
	*pty = (struct pty){take_fd(&master), take_fd(&slave)};
	return 0;
}

void pty_close(struct pty *pty)
{
	if (pty->master >= 0)
		(void)close(take_fd(&pty->master));
	if (pty->slave >= 0)
		(void)close(take_fd(&pty->slave));
}

int terminal_adopt(int slave, struct err *err)
{
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_system(err, "terminal: make it the command's");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(slave, fd) < 0)
			return err_system(err, "terminal: hand it over");
	return 0;
}

void terminal_open(struct terminal *terminal, int master)
{
	*terminal = (struct terminal){.master = master};
}

int terminal_start(struct terminal *terminal, struct err *err)
{
	struct termios raw;

	if (terminal->master < 0)
		return 0;
	if (fcntl(terminal->master, F_SETFL, O_NONBLOCK) < 0)
		return err_system(err, "terminal: prepare");
	terminal_resize(terminal);
	if (tcgetattr(STDIN_FILENO, &terminal->saved) < 0)
		return err_system(err, "terminal: read its mode");
	raw = terminal->saved;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
		return err_system(err, "terminal: set raw mode");
	terminal->is_raw = true;
	return 0;
}

void terminal_resize(const struct terminal *terminal)
{
	struct winsize size;

	if (terminal->master >= 0 &&
	    ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		(void)ioctl(terminal->master, TIOCSWINSZ, &size);
}

static bool has_typed(const struct terminal *terminal)
{
	return terminal->typed_start < terminal->typed_end;
}

void terminal_poll(const struct terminal *terminal, struct pollfd fds[2])
{
	bool wants_input = terminal->master >= 0 && !terminal->has_ended &&
			   !has_typed(terminal);

	fds[0] = (struct pollfd){.fd = terminal->master, .events = POLLIN};
	if (has_typed(terminal))
		fds[0].events |= POLLOUT;
	fds[1] = (struct pollfd){.fd = wants_input ? STDIN_FILENO : -1,
				 .events = POLLIN};
}

static void show(const char *text, size_t len)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	while (len) {
		ssize_t done = write(STDOUT_FILENO, text, len);

		if (done < 0 && errno == EAGAIN)
			(void)poll(&out, 1, -1);
		else if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			text += done;
			len -= (size_t)done;
		}
	}
}

/* One block from the pty. False when it has no more. */
static bool show_block(struct terminal *terminal)
{
	char block[TERMINAL_BYTES];
	ssize_t len = read(terminal->master, block, sizeof(block));

	if (len <= 0)
		return false;
	show(block, (size_t)len);
	return true;
}

static void read_typed(struct terminal *terminal)
{
	ssize_t len =
		read(STDIN_FILENO, terminal->typed, sizeof(terminal->typed));

	if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN))
		terminal->has_ended = true;
	terminal->typed_start = 0;
	terminal->typed_end = len > 0 ? (size_t)len : 0;
}

static void pass_typed(struct terminal *terminal)
{
	size_t left = terminal->typed_end - terminal->typed_start;
	ssize_t done = write(terminal->master,
			     terminal->typed + terminal->typed_start, left);

	if (done > 0)
		terminal->typed_start += (size_t)done;
	else if (errno != EAGAIN && errno != EINTR)
		terminal->typed_start = terminal->typed_end;
}

void terminal_serve(struct terminal *terminal, const struct pollfd fds[2])
{
	if (terminal->master < 0)
		return;
	if (fds[1].revents)
		read_typed(terminal);
	if (has_typed(terminal))
		pass_typed(terminal);
	if (fds[0].revents & POLLIN) {
		(void)show_block(terminal);
		return;
	}
	/* Nobody has the other side any more; until somebody opens it again
	 * there would be no end of this event. */
	if (fds[0].revents & (POLLHUP | POLLERR)) {
		(void)close(terminal->master);
		terminal->master = -1;
	}
}

void terminal_drain(struct terminal *terminal)
{
	while (terminal->master >= 0 && show_block(terminal))
		;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved);
	terminal->is_raw = false;
	if (terminal->master >= 0)
		(void)close(terminal->master);
	terminal->master = -1;
}
