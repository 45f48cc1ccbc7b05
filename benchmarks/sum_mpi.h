// SPDX-License-Identifier: Apache-2.0
// motley-sum --reduce mpi: the processes that mpirun starts sum by MPI_Allreduce.
#pragma once

#include "benchmarks/sum_task.h"

namespace motley {

inline constexpr char kMpiSum[] = "mpi";

// Runs this process until the last sum. `task.workers` 0 stands for the number of processes. The
// process of rank 0 prints the times. Ends the process at an error.
void RunMpiMember(SumTask task);

}  // namespace motley
