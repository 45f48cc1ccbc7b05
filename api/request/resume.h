// SPDX-License-Identifier: Apache-2.0
// Support for jobs that write checkpoints or resume from one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "api/request/job_request.h"
#include "api/request/train_data.h"
#include "base/status.h"
#include "checkpoint/store/disk.h"
#include "runtime/saving/saved_job.h"

namespace motley {

// Loads the checkpoint that `request` resumes from. `say` receives notices for users. kNotFound: no
// such folder, or no such checkpoint in it. kNotDecodable names the lost shards.
Result<std::shared_ptr<const SavedJob>> LoadResume(
    const JobRequest& request, const std::function<void(const std::string&)>& say);
// True for an error of LoadResume that comes from the checkpoint itself: it is damaged or missing.
// A disk that cannot be read now, for example, is another matter.
bool IsLost(const Status& status);

// Fills options that `request` leaves open from the saved job. kConflict: an option differs from
// the saved job although the batches, and so the loss curve, depend on it.
Status TakeUp(const SavedJob& saved, JobRequest& request);

// Sets `request` to read data as the saved job did.
Status ReadAs(const DataMeaning& was, DataRequest& request);

// The folder for a job's checkpoints.
class CheckpointFolder {
 public:
  // Creates `folder` if it is missing. `resumed` (may be null) is the checkpoint from which the job
  // resumes. kConflict: the folder has checkpoints of another job, or newer ones of this job.
  static Result<std::unique_ptr<CheckpointFolder>> Open(Loop& loop, const std::string& folder,
                                                        const SavedJob* resumed);
  Disk* disk() const { return disk_.get(); }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Disk> disk_;
};

}  // namespace motley
