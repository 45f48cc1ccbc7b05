/* SPDX-License-Identifier: Apache-2.0 */
/** Result codes, messages, versions. All functions here may be called from any thread. */
#ifndef MOTLEY_STATUS_H
#define MOTLEY_STATUS_H

#include <stdint.h>

#if defined(__GNUC__)
#define MOTLEY_API __attribute__((visibility("default")))
#else
#define MOTLEY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of these headers. */
#define MOTLEY_VERSION_MAJOR 0
#define MOTLEY_VERSION_MINOR 2
#define MOTLEY_VERSION_PATCH 0

/** A result: MOTLEY_OK or one of the codes below. The numbers never change. */
typedef int32_t motley_status;

enum {
  MOTLEY_OK = 0,
  MOTLEY_CANCELLED = 1,        /**< Somebody asked for it to stop. */
  MOTLEY_INVALID_ARGUMENT = 2, /**< The caller's mistake; the message says what would do. */
  MOTLEY_NOT_FOUND = 3,        /**< No such file, column or checkpoint. */
  MOTLEY_UNAVAILABLE = 4,      /**< A peer or resource that may come back; also time-outs. */
  MOTLEY_PERMISSION = 5,       /**< Wrong or missing credentials. */
  MOTLEY_CONFLICT = 6,         /**< Versions or states that do not fit together. */
  MOTLEY_DATA_ERROR = 7,       /**< Bytes from a file or peer that do not mean what they should. */
  MOTLEY_NOT_DECODABLE = 8,    /**< Too few answers for the gradient code. */
  MOTLEY_RESOURCE = 9,         /**< Out of memory, disk or descriptors. */
  MOTLEY_INTERNAL = 10,        /**< A bug of Motley. */
  MOTLEY_CALLBACK = 11         /**< A callback of yours failed; the message has its number. */
};

/** The code's name, "invalid argument"; "unknown" for a number that is none. Static. */
MOTLEY_API const char* motley_status_name(motley_status status);

/**
 * What the last call on this thread that failed had to say: what failed, where, why, what to do
 * next. Empty before any did; calls that succeed leave it. The pointer is the same throughout the
 * thread's life, and the text behind it changes when a call fails. So it may stand beside the call,
 * in whatever order C evaluates them:
 *     printf("%d %s\n", motley_job_create(&options, &job), motley_last_error());
 * Copy a text to keep it beyond the next failure. A text above 8,000 bytes is cut.
 */
MOTLEY_API const char* motley_last_error(void);

/** The library's own version, "0.2.0"; it may be newer than the headers of the program. */
MOTLEY_API const char* motley_version(void);

/** Grows by one with every incompatible change; 0 before version 1.0 of Motley. */
MOTLEY_API uint32_t motley_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif
