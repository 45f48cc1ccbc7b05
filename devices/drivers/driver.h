/* SPDX-License-Identifier: Apache-2.0 */
/* The versioned C table of a device driver that is loaded at run time (motley-opencl.so,
 * motley-cuda.so). Plain C, so that drivers built with other compilers fit; one package serves
 * machines with and without the driver's hardware.
 *
 * Memory of a device is named by pointers that only kernels and copies of the same queue may use;
 * arithmetic on them stays inside one allocation, as with the host's. A driver whose interface
 * knows no pointers reserves addresses that nobody can read and keeps a map.
 *
 * Kernels and copies of one queue run in the order called. They may return before they ran, and
 * cannot fail in place: the first failure since the last motley_driver.finish is told there, and
 * what was called after it may not have run. Texts are UTF-8, cut to their room, ended by 0. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "devices/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says the table of kernels' version, too: whoever speaks another cannot use the driver. */
#define MOTLEY_DRIVER_VERSION (4 * 1000 + MOTLEY_KERNELS_VERSION)

typedef struct motley_driver_device {
  char name[128];     /* "NVIDIA H100 80GB HBM3" */
  char platform[128]; /* "CUDA 13.0", "Portable Computing Language, OpenCL 3.0" */
  int kind;           /* DeviceKind: 2 CUDA, 4 OpenCL */
  int is_processor;   /* The host's, once more. */
  uint32_t units;     /* Multiprocessors, compute units. */
  uint64_t memory_bytes;
  char reason[256]; /* Why it cannot be used; empty when it can. */
  uint64_t id;      /* For open: this device and no other, until the program ends. */
} motley_driver_device;

/* How a call ended. */
enum {
  MOTLEY_DRIVER_OK = 0,
  MOTLEY_DRIVER_NO_MEMORY = 1, /* The device or the host has not enough; the queue goes on. */
  MOTLEY_DRIVER_LOST = 2       /* The device or its queue cannot be used any more. */
};

typedef struct motley_driver_queue motley_driver_queue; /* The driver's own. */

/* A moment in the order of a queue's calls: what motley_driver.mark returned, or after everything
 * that was called. */
#define MOTLEY_DRIVER_NOW UINT64_MAX

/* Takes bytes [offset, offset + size_bytes) of what is copied out, which are there for the time of
 * the call, at an address and with an offset that are multiples of 8. */
typedef void (*motley_take_piece)(void* context, size_t offset, const void* bytes,
                                  size_t size_bytes);

typedef struct motley_driver {
  uint32_t version;     /* MOTLEY_DRIVER_VERSION */
  uint32_t struct_size; /* sizeof(motley_driver) of the driver */
  const char* name;     /* "opencl" */

  /* One thread at a time: find, describe. Looks for devices anew and returns how many there are;
   * none: `reason` says why ("no OpenCL platform is installed: ..."). */
  size_t (*find)(char* reason, size_t reason_size);
  /* Of the last find; index < its result. */
  void (*describe)(size_t index, motley_driver_device* device);

  /* Any thread, several at a time for devices of their own, also while another looks for devices.
   * A queue on the device that was described with this `id`, with its compiled kernels.
   * `cache_folder` is where compiled programs may be kept between runs, NULL for nowhere. NULL on
   * failure, and `error` says why (with the log of a program that does not compile). */
  motley_driver_queue* (*open)(uint64_t id, const char* cache_folder, char* error,
                               size_t error_size);
  /* Waits for what runs. All memory must have been freed before. */
  void (*close)(motley_driver_queue* queue);
  /* Of that device; the queue is the kernels' first argument. Valid until close. */
  const motley_kernels* (*kernels)(motley_driver_queue* queue);

  /* Any thread. At least 64-byte aligned, not zeroed; NULL when there is not enough. size 0: some
   * pointer that is not NULL. Memory is freed when what was called before has run. */
  void* (*allocate)(motley_driver_queue* queue, size_t size_bytes);
  void (*free)(motley_driver_queue* queue, void* memory);

  /* One thread at a time: marks, copies, kernels, finish. */
  /* This moment in the order of calls. At least the last 64 are told apart; a copy that names an
   * older one may wait for more. */
  uint64_t (*mark)(motley_driver_queue* queue);
  /* Copies wait for what was called before `after`, not for kernels called since: these may run
   * beside them, and must not touch the same memory. `after` must not be before the memory was
   * allocated: what a kernel still uses may have been freed and be part of it (so of memory that is
   * new nothing but MOTLEY_DRIVER_NOW is safe). What is called later sees what was copied in.
   * `from` may change once copy_in returned; copy_out returns when `take` had all pieces, in order.
   */
  int (*copy_in)(motley_driver_queue* queue, uint64_t after, void* to, const void* from,
                 size_t size_bytes);
  int (*copy_out)(motley_driver_queue* queue, uint64_t after, const void* from, size_t size_bytes,
                  motley_take_piece take, void* context);
  /* Waits until everything called has run; not MOTLEY_DRIVER_OK: `error` says what failed first
   * (copies included), and it is forgotten. */
  int (*finish)(motley_driver_queue* queue, char* error, size_t error_size);
} motley_driver;

/* The one symbol of a driver: its table, or NULL when it cannot speak `version`. The table is valid
 * as long as the driver is loaded, which is until the program ends. */
typedef const motley_driver* (*motley_driver_entry)(uint32_t version);
#define MOTLEY_DRIVER_SYMBOL "motley_driver_get"

#ifdef __cplusplus
}
#endif
