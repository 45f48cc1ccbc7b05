// SPDX-License-Identifier: Apache-2.0
// Jobs that begin with the parameters of a model.
#pragma once

#include "api/request/job_request.h"
#include "api/request/train_data.h"
#include "base/status.h"
#include "training/model_files/initial_model.h"

namespace motley {

// Takes from the model what `request` leaves open. kInvalidArgument: an option that contradicts how
// its data were read, because its parameters mean nothing without that.
Status TakeUp(const InitialModel& initial, JobRequest& request);

// Data are read as those of the model were, if it says how.
Status ReadAs(const InitialModel& initial, DataRequest& request);

// The name of the model for samples of so many classes, where `request` still leaves it open.
std::string NameFor(const InitialModel& initial, uint32_t classes);

// What people should know: "begins with the parameters of m.safetensors (mlp:64)".
std::string Describe(const InitialModel& initial, const SavedModel& model,
                     const TableSchema* table);

}  // namespace motley
