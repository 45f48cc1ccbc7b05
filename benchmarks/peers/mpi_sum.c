// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce: the sum of all processes' vectors at all of them. Rank 0 prints one JSON object.
// Usage: mpirun -n WORKERS mpi_sum MEGABYTES REPETITIONS WARMUPS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int Ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  int rank = 0;
  int workers = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &workers);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int length = (int)(atof(argv[1]) * 1e6 / sizeof(float));
  const int repetitions = atoi(argv[2]);
  const int warmups = atoi(argv[3]);
  float* own = malloc(length * sizeof(float));
  float* sum = malloc(length * sizeof(float));
  double* seconds = malloc((repetitions + warmups) * sizeof(double));
  for (int i = 0; i < length; ++i) own[i] = (float)(i % 1021 + rank);
  for (int repetition = 0; repetition < repetitions + warmups; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    double span[2] = {-MPI_Wtime(), 0};
    MPI_Allreduce(own, sum, length, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    span[1] = MPI_Wtime();
    for (int i = 0; i < length; ++i) {
      if (sum[i] != (float)(i % 1021 * workers + workers * (workers - 1) / 2)) {
        fprintf(stderr, "mpi: the sum is wrong\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    // The time from the first start to the last end.
    MPI_Allreduce(MPI_IN_PLACE, span, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    seconds[repetition] = span[0] + span[1];
  }
  qsort(seconds + warmups, repetitions, sizeof(double), Ascending);
  if (rank == 0) {
    printf("{\"median_ms\": %.3f, \"best_ms\": %.3f}\n", seconds[warmups + repetitions / 2] * 1e3,
           seconds[warmups] * 1e3);
  }
  MPI_Finalize();
  return 0;
}
