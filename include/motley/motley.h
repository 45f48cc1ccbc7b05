/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The C API of Motley: train one model on machines that are not alike.
 *
 * - job.h: create a job from options, run it as all-in-one, server or worker, read its report
 * - options.h: the options of a job
 * - event.h: the events of a running job
 * - metrics.h: its numbers, and those of each worker
 * - trainer.h: your own gradient
 * - work.h: the work that it gets
 * - step.h: your own training loop
 * - model.h: test a saved model, predict with it
 * - checkpoint.h: list, verify, restore and export checkpoints
 * - status.h: result codes, messages, versions
 *
 * Conventions. Every function that can fail returns a motley_status, which is 0 on success;
 * motley_last_error() is the message for the user, one per thread. Objects are opaque: X_create
 * makes one, X_destroy frees it (NULL is fine). Strings are UTF-8 and end with 0. A function copies
 * the strings that it takes; each function says how long the strings that it returns are valid.
 * Structs that callers fill begin with struct_size and are initialised by their _INIT macro, so
 * that they can grow (docs/reference/c-api.md, Compatibility). Nothing here throws, prints or ends
 * the process. C99, C11 and C++.
 */
#ifndef MOTLEY_MOTLEY_H
#define MOTLEY_MOTLEY_H

#include <motley/checkpoint.h>
#include <motley/event.h>
#include <motley/job.h>
#include <motley/metrics.h>
#include <motley/model.h>
#include <motley/options.h>
#include <motley/status.h>
#include <motley/step.h>
#include <motley/trainer.h>
#include <motley/work.h>

#endif
