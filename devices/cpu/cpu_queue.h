/* SPDX-License-Identifier: Apache-2.0 */
/* The `queue` of CPU kernels: threads to borrow. Plain C like the table itself. A NULL queue means
 * that the kernel uses the caller's thread alone. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_cpu_queue {
  void* context;
  size_t threads; /* The number of threads, with the caller's own; >= 1. */
  /* Calls body(body_context, begin, end) on disjoint ranges that cover [0, count), possibly from
   * several threads, and returns when all calls have returned. Every range but the last has at
   * least `grain` (>= 1) items. The kernels decide where sums are cut, so any ranges give the same
   * result. */
  void (*parallel_for)(void* context, size_t count, size_t grain,
                       void (*body)(void* body_context, size_t begin, size_t end),
                       void* body_context);
} motley_cpu_queue;

#ifdef __cplusplus
}
#endif
