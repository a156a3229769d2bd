/*
 * Functions that have no place here: unbounded, locale-bound, shared static
 * state, or a shell. Included before every .c by the build (-include). A
 * call of one does not compile; a parameter of that name in a library's
 * header does.
 */
#ifndef COMMON_BANNED_H
#define COMMON_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef alloca
#undef strncpy
#undef strcpy
#undef strcat
#undef strncat
#undef sprintf
#undef vsprintf

#define strcpy(...)    banned_use_snprintf(strcpy)
#define strcat(...)    banned_use_buf(strcat)
#define strncpy(...)   banned_use_snprintf(strncpy)
#define strncat(...)   banned_use_buf(strncat)
#define sprintf(...)   banned_use_snprintf(sprintf)
#define vsprintf(...)  banned_use_vsnprintf(vsprintf)
#define gets(...)      banned_use_read(gets)
#define strtok(...)    banned_use_bytes_split(strtok)
#define atoi(...)      banned_use_bytes_to_u64(atoi)
#define atol(...)      banned_use_bytes_to_u64(atol)
#define atoll(...)     banned_use_bytes_to_u64(atoll)
#define system(...)    banned_use_execve(system)
#define popen(...)     banned_use_execve(popen)
#define tmpnam(...)    banned_use_memfd_create(tmpnam)
#define mktemp(...)    banned_use_memfd_create(mktemp)
#define gmtime(...)    banned_use_clock_format(gmtime)
#define localtime(...) banned_use_clock_format(localtime)
#define ctime(...)     banned_use_clock_format(ctime)
#define asctime(...)   banned_use_clock_format(asctime)
#define rand(...)      banned_use_random_bytes(rand)
#define srand(...)     banned_use_random_bytes(srand)
#define alloca(...)    banned_use_arena(alloca)

#endif
