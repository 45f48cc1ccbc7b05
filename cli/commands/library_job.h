// SPDX-License-Identifier: Apache-2.0
// Owns a motley_job.
#pragma once

#include "motley/motley.h"

namespace motley {

class LibraryJob {
 public:
  LibraryJob() = default;
  ~LibraryJob() { motley_job_destroy(job_); }
  LibraryJob(const LibraryJob&) = delete;
  LibraryJob& operator=(const LibraryJob&) = delete;

  // Call once.
  motley_status Create(const motley_job_options& options) {
    return motley_job_create(&options, &job_);
  }
  motley_job* get() const { return job_; }

 private:
  motley_job* job_ = nullptr;
};

}  // namespace motley
