/*
 * What a process at rest gives back (io_rest.c).
 */
#ifndef COMMON_IO_REST_H
#define COMMON_IO_REST_H

struct io_loop;

/* Memory was freed that came in large pieces: when the loop rests, give back
 * to the kernel what nobody uses. */
void io_rest_soon(struct io_loop *loop);

#endif
