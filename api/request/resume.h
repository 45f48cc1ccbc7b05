// SPDX-License-Identifier: Apache-2.0
// Jobs that write checkpoints, and jobs that go on from one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/request/job_request.h"
#include "api/request/train_data.h"
#include "base/status.h"
#include "checkpoint/store/disk.h"
#include "runtime/coordinator/saved_job.h"

namespace motley {

// The checkpoint that `request` goes on from. `say` gets lines for people. kNotFound: there is no
// folder, or no such checkpoint in it; kNotDecodable names what is lost.
Result<std::shared_ptr<const SavedJob>> LoadResume(
    const JobRequest& request, const std::function<void(const std::string&)>& say);

// Takes what `request` leaves open from the saved job. kConflict: an option names something else
// where the batches, and so the loss curve, depend on it.
Status TakeUp(const SavedJob& saved, JobRequest& request);

// The data of a job that goes on are read as they were.
Status ReadAs(const DataMeaning& was, DataRequest& request);

// Where a job's checkpoints go.
class CheckpointFolder {
 public:
  // Makes `folder` where it is missing. `resumed` (may be null): what the job goes on from.
  // kConflict: another job has checkpoints in it, or this one newer ones.
  static Result<std::unique_ptr<CheckpointFolder>> Open(Loop& loop, const std::string& folder,
                                                        const SavedJob* resumed);
  Disk* disk() const { return disk_.get(); }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Disk> disk_;
};

}  // namespace motley
