/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checkpoints: the state of a job as k data and m parity files (Reed-Solomon over GF(2^8), Plank's
 * Jerasure), one folder each, of which any m may be lost or damaged. Any thread; a folder may be
 * read while a job writes to it.
 */
#ifndef MOTLEY_CHECKPOINT_H
#define MOTLEY_CHECKPOINT_H

#include <motley/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The newest checkpoint, where a step is asked for. */
#define MOTLEY_NEWEST UINT64_MAX

/**
 * What is in a folder: a JSON array, newest first, of step, code, shards (each with state and
 * path), bytes, restorable, degraded, survives (how many more shards may be lost; fewer than its
 * code can spare when it is degraded), as far as headers tell. The caller frees *json with
 * motley_string_destroy.
 */
MOTLEY_API motley_status motley_checkpoint_list(const char* folder, char** json);

/**
 * Reads every block of a checkpoint: a JSON object that names what is lost or damaged. MOTLEY_OK
 * when nothing is; MOTLEY_DATA_ERROR when something is (*json is set all the same, and says whether
 * it can be restored, and how many more losses it survives).
 */
MOTLEY_API motley_status motley_checkpoint_verify(const char* folder, uint64_t step, char** json);

/**
 * Writes lost and damaged shards again from the others. MOTLEY_DATA_ERROR names the shards when too
 * many are gone; nothing is changed then. *json as of motley_checkpoint_verify, afterwards.
 */
MOTLEY_API motley_status motley_checkpoint_restore(const char* folder, uint64_t step, char** json);

/**
 * Writes the checkpoint's model as safetensors to `path`, whole or not at all; of a job with a
 * trainer of its own, its parameters as one vector.
 */
MOTLEY_API motley_status motley_checkpoint_export(const char* folder, uint64_t step,
                                                  const char* path);

/**
 * The same in the format "motley" (also NULL) or "torch" (docs/how-to/pytorch.md). `folder` may be
 * a model file as well, which is written again in that format; `step` is MOTLEY_NEWEST then.
 */
MOTLEY_API motley_status motley_checkpoint_export_as(const char* folder, uint64_t step,
                                                     const char* path, const char* format);

/** Frees what the functions above gave; NULL is fine. */
MOTLEY_API void motley_string_destroy(char* text);

#ifdef __cplusplus
}
#endif

#endif
