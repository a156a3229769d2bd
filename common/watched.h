/*
 * Is this a build with ASan? Then memory that goes round inside the process
 * is the heap's each time, so that what points into released memory is found.
 */
#ifndef COMMON_WATCHED_H
#define COMMON_WATCHED_H

#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define IS_WATCHED 1 /* by clang's */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define IS_WATCHED 1
#elif !defined(IS_WATCHED)
#define IS_WATCHED 0
#endif

#endif
