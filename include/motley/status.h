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

/** The version of these headers. */
#define MOTLEY_VERSION_MAJOR 0
#define MOTLEY_VERSION_MINOR 2
#define MOTLEY_VERSION_PATCH 0

/** A result: MOTLEY_OK or one of the codes below. The numbers never change. */
typedef int32_t motley_status;

enum {
  MOTLEY_OK = 0,
  MOTLEY_CANCELLED = 1,        /**< The caller or user stopped it. */
  MOTLEY_INVALID_ARGUMENT = 2, /**< The caller's mistake; the message says what is possible. */
  MOTLEY_NOT_FOUND = 3,        /**< No such file, column or checkpoint. */
  MOTLEY_UNAVAILABLE = 4,      /**< A peer or resource is not there now; also timeouts. */
  MOTLEY_PERMISSION = 5,       /**< Wrong or missing credentials. */
  MOTLEY_CONFLICT = 6,         /**< Versions or states do not fit together. */
  MOTLEY_DATA_ERROR = 7,       /**< Invalid bytes from a file or peer. */
  MOTLEY_NOT_DECODABLE = 8,    /**< Too few answers for the gradient code. */
  MOTLEY_RESOURCE = 9,         /**< Out of memory, disk or descriptors. */
  MOTLEY_INTERNAL = 10,        /**< A bug of Motley. */
  MOTLEY_CALLBACK = 11         /**< Your callback failed; the message has its number. */
};

/** The code's name, like "invalid argument"; "unknown" for other numbers. A static string. */
MOTLEY_API const char* motley_status_name(motley_status status);

/**
 * The message of this thread's last failed call: what failed, where, why, and what to do next. It
 * is empty before the first failure, and a successful call leaves it as it is. The pointer stays
 * the same for the thread's life, and each failure changes the text. So it may stand in the same
 * expression as the call, in any order of evaluation:
 *     printf("%d %s\n", motley_job_create(&options, &job), motley_last_error());
 * Copy the text to keep it beyond the next failure. Texts above 8,000 bytes are cut.
 */
MOTLEY_API const char* motley_last_error(void);

/** The library's version, like "0.2.0"; it may be newer than the program's headers. */
MOTLEY_API const char* motley_version(void);

/**
 * Grows by one with every incompatible change of these headers. Each generation has a library of
 * its own (libmotley.so.1), and docs/reference/c-api.md says what stays within one.
 */
MOTLEY_API uint32_t motley_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif
