/*
 * Text from elsewhere, for a person's terminal.
 */
#ifndef COMMON_PLAIN_H
#define COMMON_PLAIN_H

/* Replace what a terminal would obey (C0, DEL, and C1 in UTF-8) by '?'. */
void plain_text(char *text);

#endif
