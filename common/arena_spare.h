/*
 * The blocks that wait for the next arena, of all arenas of the process: for
 * the loop alone (io_rest.c), which knows when the process rests.
 */
#ifndef COMMON_ARENA_SPARE_H
#define COMMON_ARENA_SPARE_H

/* Free those that no arena has. */
void arena_spare_free(void);

#endif
