/*
 * Functions that have no place here: unbounded, locale-bound, or a shell.
 * Included by every .c through the build (-include), after libc's headers.
 */
#ifndef COMMON_BANNED_H
#define COMMON_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets
#pragma GCC poison strtok atoi atol atoll system popen tmpnam mktemp
#pragma GCC poison gmtime localtime ctime asctime rand srand alloca

#endif
