/* SPDX-License-Identifier: Apache-2.0 */
/* The versioned C table of a device driver that is loaded at run time (motley-opencl.so,
 * motley-cuda.so). It is plain C, so that drivers built with other compilers fit. One package
 * serves machines with and without the driver's hardware.
 *
 * Device memory is named by pointers that only kernels and copies of the same queue may use.
 * Arithmetic on them stays inside one allocation, as with the host's pointers. A driver with an
 * interface without pointers reserves addresses that nobody can read, and keeps a map.
 *
 * Kernels and copies of one queue run in the order called. They may return before they ran, and so
 * cannot report failures themselves: motley_driver.finish reports the first failure since the last
 * finish. Calls after a failure may not have run. Texts are UTF-8, cut to fit, and end with 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "devices/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Includes the version of the kernel table: a program with another one cannot use the driver. */
#define MOTLEY_DRIVER_VERSION (4 * 1000 + MOTLEY_KERNELS_VERSION)

typedef struct motley_driver_device {
  char name[128];     /* "NVIDIA H100 80GB HBM3" */
  char platform[128]; /* "CUDA 13.0", "Portable Computing Language, OpenCL 3.0" */
  int kind;           /* DeviceKind in base/device_kind.h */
  int is_processor;   /* The host's processor, listed once more. */
  uint32_t units;     /* Multiprocessors, compute units. */
  uint64_t memory_bytes;
  char reason[256]; /* Why it cannot be used; empty when it can. */
  uint64_t id;      /* For open: names this device alone until the program ends. */
} motley_driver_device;

/* How a call ended. */
enum {
  MOTLEY_DRIVER_OK = 0,
  MOTLEY_DRIVER_NO_MEMORY = 1, /* Device or host is out of memory; the queue goes on. */
  MOTLEY_DRIVER_LOST = 2       /* The device or its queue cannot be used any more. */
};

typedef struct motley_driver_queue motley_driver_queue; /* Defined by the driver. */

/* A point in the order of a queue's calls is a value returned by motley_driver.mark, or this one:
 * after everything called so far. */
#define MOTLEY_DRIVER_NOW UINT64_MAX

/* Receives bytes [offset, offset + size_bytes) of a copy. They are valid during the call; address
 * and offset are multiples of 8. */
typedef void (*motley_take_piece)(void* context, size_t offset, const void* bytes,
                                  size_t size_bytes);

typedef struct motley_driver {
  uint32_t version;     /* MOTLEY_DRIVER_VERSION */
  uint32_t struct_size; /* sizeof(motley_driver) of the driver */
  const char* name;     /* "opencl" */

  /* One thread at a time: find, describe. Looks for devices again and returns their number. If it
   * is 0, `reason` says why ("no OpenCL platform is installed: ..."). */
  size_t (*find)(char* reason, size_t reason_size);
  /* Describes a device of the last find; index < its result. */
  void (*describe)(size_t index, motley_driver_device* device);

  /* Any thread, and several at once for different devices, also while another one calls find.
   * Opens a queue, with its compiled kernels, on the device described with this `id`. Compiled
   * programs may be kept between runs in `cache_folder`, unless it is NULL. Returns NULL on
   * failure, and `error` says why (with the log of a program that does not compile). */
  motley_driver_queue* (*open)(uint64_t id, const char* cache_folder, char* error,
                               size_t error_size);
  /* Waits for running calls. All memory must have been freed before. */
  void (*close)(motley_driver_queue* queue);
  /* The kernels of the queue's device; their first argument is the queue. Valid until close. */
  const motley_kernels* (*kernels)(motley_driver_queue* queue);

  /* Any thread. At least 64-byte aligned, not zeroed; NULL when there is not enough. Size 0 gives
   * a pointer that is not NULL. Memory is released when all calls before free have run. */
  void* (*allocate)(motley_driver_queue* queue, size_t size_bytes);
  void (*free)(motley_driver_queue* queue, void* memory);

  /* One thread at a time: marks, copies, kernels, finish. */
  /* The present point in the order of calls. At least the last 64 marks are kept; a copy after an
   * older one may wait longer than necessary. */
  uint64_t (*mark)(motley_driver_queue* queue);
  /* Copies wait for calls before `after`, not for kernels called since: these may run at the same
   * time, and must not touch the same memory. `after` must not be before the memory was allocated,
   * because the allocation may reuse freed memory that a kernel is still using. So only
   * MOTLEY_DRIVER_NOW is safe for new memory. Later calls see what was copied in. `from` may change
   * once copy_in returned. copy_out returns when `take` had all pieces, in order. */
  int (*copy_in)(motley_driver_queue* queue, uint64_t after, void* to, const void* from,
                 size_t size_bytes);
  int (*copy_out)(motley_driver_queue* queue, uint64_t after, const void* from, size_t size_bytes,
                  motley_take_piece take, void* context);
  /* Waits until all calls have run. If the result is not MOTLEY_DRIVER_OK, `error` describes the
   * first failure, copies included, and the failure is cleared. */
  int (*finish)(motley_driver_queue* queue, char* error, size_t error_size);
} motley_driver;

/* The one symbol of a driver: returns its table, or NULL when it does not support `version`. The
 * table is valid as long as the driver is loaded, which is until the program ends. */
typedef const motley_driver* (*motley_driver_entry)(uint32_t version);
#define MOTLEY_DRIVER_SYMBOL "motley_driver_get"

#ifdef __cplusplus
}
#endif
