/* SPDX-License-Identifier: Apache-2.0 */
/* The C table of motley-mpi.so, which calls the MPI of this machine. The module is compiled with
 * that MPI's <mpi.h>, because the handles of two MPIs differ: MPI_COMM_WORLD is a pointer in
 * OpenMPI and a number in MPICH. The program does not need MPI, and loads the module for
 * `motley-sum --reduce mpi` only.
 *
 * One thread calls all functions. Those that return an int return 0, or another number after they
 * wrote to `error` why they failed. Texts end with 0 and are cut to fit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTLEY_MPI_VERSION 1

typedef struct motley_mpi {
  uint32_t version;     /* MOTLEY_MPI_VERSION */
  uint32_t struct_size; /* sizeof(motley_mpi) of the module */

  /* Joins the processes that mpirun started. Called once. MPI itself ends the process if it cannot
   * start, and prints the reason. */
  int (*start)(uint32_t* rank, uint32_t* processes, char* error, size_t error_size);
  /* "Open MPI v4.1.4". After start. */
  const char* (*library)(void);
  /* Replace the values by the sums over all processes, which all call with the same count. */
  int (*sum_floats)(float* values, size_t count, char* error, size_t error_size);
  int (*sum_doubles)(double* values, size_t count, char* error, size_t error_size);
  /* Waits until all processes have called it. */
  void (*finish)(void);
} motley_mpi;

/* The one symbol of the module: returns its table, or NULL when it does not support `version`. */
typedef const motley_mpi* (*motley_mpi_entry)(uint32_t version);
#define MOTLEY_MPI_SYMBOL "motley_mpi_get"

#ifdef __cplusplus
}
#endif
