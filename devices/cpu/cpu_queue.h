/* SPDX-License-Identifier: Apache-2.0 */
/* What a CPU kernel's `queue` points to: threads to borrow. Plain C like the table itself; NULL in
 * place of the pointer means that the kernel works on the caller's thread alone. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct motley_cpu_queue {
  void* context;
  size_t threads; /* To borrow, with the caller's own; >= 1. */
  /* Calls body(body_context, begin, end) on disjoint ranges that cover [0, count), each of at least
   * `grain` (>= 1) items save the last, perhaps at once on several threads; returns when all have
   * run. The kernels decide where sums are cut, so any way of cutting gives the same result. */
  void (*parallel_for)(void* context, size_t count, size_t grain,
                       void (*body)(void* body_context, size_t begin, size_t end),
                       void* body_context);
} motley_cpu_queue;

#ifdef __cplusplus
}
#endif
