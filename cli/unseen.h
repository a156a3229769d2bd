/*
 * What is typed at a terminal and must not be read from it: while this holds
 * nothing of it is shown but the ends of lines. One at a time in a process,
 * since what a signal has to undo belongs to the process.
 */
#ifndef CLI_UNSEEN_H
#define CLI_UNSEEN_H

/* Show nothing of what comes from fd. Where fd is no terminal nothing is done.
 * A signal that ends or stops the process shows it again before that. */
void unseen_begin(int fd);
void unseen_end(void);

#endif
