// SPDX-License-Identifier: Apache-2.0
// Jobs that begin with the parameters of a model.
#pragma once

#include "api/request/job_request.h"
#include "api/request/train_data.h"
#include "base/status.h"
#include "training/model_files/initial_model.h"

namespace motley {

// Fills options that `request` leaves open from the model. kInvalidArgument: an option contradicts
// the way in which the model's data were read. The model's parameters mean nothing without that.
Status TakeUp(const InitialModel& initial, JobRequest& request);

// Sets `request` to read data like the model's training data, if the model file describes that.
Status ReadAs(const InitialModel& initial, DataRequest& request);

// The model's name for samples of `classes` classes, if `request` still leaves it open.
std::string NameFor(const InitialModel& initial, uint32_t classes);

// A notice for users: "begins with the parameters of m.safetensors (mlp:64)".
std::string Describe(const InitialModel& initial, const SavedModel& model,
                     const TableSchema* table);

}  // namespace motley
