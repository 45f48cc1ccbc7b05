/* SPDX-License-Identifier: Apache-2.0 */
/** Constants for members of motley_job_options (options.h). */
#ifndef MOTLEY_OPTION_VALUES_H
#define MOTLEY_OPTION_VALUES_H

#include <motley/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A shard server joins a job like a worker, to own a part of the vector. It computes nothing. */
enum { MOTLEY_ALL_IN_ONE = 0, MOTLEY_SERVER = 1, MOTLEY_WORKER = 2, MOTLEY_SHARD_SERVER = 3 };

/**
 * Values of motley_job_options.given. Without its flag, the default value of one of these options
 * means "as before" in a resumed job. Without MOTLEY_GIVEN_TOLERATE, code auto chooses `tolerate`
 * by itself. Without MOTLEY_GIVEN_L2, a new job may replace an l2 of 0. Without
 * MOTLEY_GIVEN_FOLLOWERS, each part of the vector has a follower.
 */
enum {
  MOTLEY_GIVEN_SEED = 1,
  MOTLEY_GIVEN_L2 = 2,
  MOTLEY_GIVEN_TOLERATE = 4,
  MOTLEY_GIVEN_DROPOUT = 8,
  MOTLEY_GIVEN_FOLLOWERS = 16
};

#ifdef __cplusplus
}
#endif

#endif
