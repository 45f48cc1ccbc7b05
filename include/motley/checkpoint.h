/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Checkpoints hold the state of a job as k data files and m parity files (Reed-Solomon over
 * GF(2^8), Plank's Jerasure). Each file has a folder of its own, and any m of them may be lost or
 * damaged. These functions may be called from any thread. A folder may be read while a job writes
 * to it.
 */
#ifndef MOTLEY_CHECKPOINT_H
#define MOTLEY_CHECKPOINT_H

#include <motley/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The newest checkpoint; it may be given for any `step` below. */
#define MOTLEY_NEWEST UINT64_MAX

/**
 * Lists the checkpoints in a folder as a JSON array, newest first. Each entry has step, code,
 * shards (each with its state and path), bytes, restorable, degraded and survives. `survives` is
 * how many more shards may be lost; a degraded checkpoint survives fewer losses than its code
 * allows. Only headers are read. The caller frees *json with motley_string_destroy.
 */
MOTLEY_API motley_status motley_checkpoint_list(const char* folder, char** json);

/**
 * Reads every block of a checkpoint and describes it in a JSON object that names what is lost or
 * damaged. Returns MOTLEY_OK if all blocks are sound, else MOTLEY_DATA_ERROR. *json is set in both
 * cases. It says whether the checkpoint can be restored and how many more losses it survives.
 */
MOTLEY_API motley_status motley_checkpoint_verify(const char* folder, uint64_t step, char** json);

/**
 * Rebuilds lost and damaged shards from the others. MOTLEY_DATA_ERROR names the shards if too many
 * are gone; then nothing is changed. *json describes the checkpoint afterwards, in the form of
 * motley_checkpoint_verify.
 */
MOTLEY_API motley_status motley_checkpoint_restore(const char* folder, uint64_t step, char** json);

/**
 * Writes the checkpoint's model as safetensors to `path`, whole or not at all, in the format
 * "motley" (also NULL) or "torch" (docs/how-to/pytorch.md). If the job had a trainer of its own,
 * the file has its parameters as one vector. `folder` may also be a model file, which is then
 * converted to that format; `step` must then be MOTLEY_NEWEST.
 */
MOTLEY_API motley_status motley_checkpoint_export(const char* folder, uint64_t step,
                                                  const char* path, const char* format);

/** Frees a string that a function above returned; NULL is fine. */
MOTLEY_API void motley_string_destroy(char* text);

#ifdef __cplusplus
}
#endif

#endif
