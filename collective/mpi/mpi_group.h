// SPDX-License-Identifier: Apache-2.0
// Sums by MPI_Allreduce among the processes that one mpirun started. MPI is optional: the module
// motley-mpi.so (mpi_module.h) calls it, and is loaded when a group is joined.
//
// A sum waits for all members. Calls block their thread, and MPI keeps the processor busy while it
// waits. mpirun ends all processes when one of them is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "collective/aggregator.h"
#include "collective/mpi/mpi_module.h"

namespace motley {

// One per process, because MPI can be started once. One thread uses it.
class MpiGroup {
 public:
  // Joins the group. Looks for the module in `folders`, which are those of ModuleFolders() unless
  // a test names others. kConflict: mpirun did not start this process, or belongs to another MPI
  // than the module. kNotFound: there is no module, or its MPI is not installed.
  static Result<std::unique_ptr<MpiGroup>> Join(const std::vector<std::string>& folders);
  // Waits until all members have left.
  ~MpiGroup();

  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  uint32_t rank() const { return rank_; }
  uint32_t count() const { return count_; }

  // Replaces the values by the sum over all members, which call it as often and with the same
  // lengths. kUnavailable has MPI's reason; the group is of no use afterwards.
  Status Sum(Contribution& values);

 private:
  explicit MpiGroup(const motley_mpi& mpi) : mpi_(mpi) {}

  const motley_mpi& mpi_;
  uint32_t rank_ = 0;
  uint32_t count_ = 0;
  bool broken_ = false;  // Do not wait for others, which may have ended.
};

}  // namespace motley
