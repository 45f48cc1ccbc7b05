/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The C API of Motley: train one model on machines that are not alike.
 *
 * - job.h: create a job from options, run it as all-in-one, server or worker, read its report
 * - options.h: the options of a job
 * - event.h: what a running job tells
 * - metrics.h: its numbers, and those of each worker
 * - trainer.h: your own gradient
 * - model.h: test a saved model, predict with it
 * - checkpoint.h: list, verify, restore and export checkpoints
 * - status.h: result codes, messages, versions
 *
 * Conventions. Every function that can fail returns a motley_status, 0 when all is well; the
 * message for people is motley_last_error(), per thread. Objects are opaque: X_create makes one,
 * X_destroy takes it back (NULL is fine). Strings are UTF-8 and end with 0; those that a function
 * takes are copied, those that it returns say how long they live. Structs that callers fill begin
 * with struct_size and are made by their _INIT macro, so that they can grow. Nothing here throws,
 * prints or ends the process. C99, C11 and C++.
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
#include <motley/trainer.h>

#endif
