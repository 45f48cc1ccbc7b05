/* SPDX-License-Identifier: Apache-2.0 */
/* A module in which each process is alone, and whose calls fail when a test wants it: MPI itself
 * ends the process at most errors. FAKE_MPI_FAILS names the call that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/mpi/mpi_module.h"

static int Fails(const char* call, char* error, size_t error_size) {
  const char* failing = getenv("FAKE_MPI_FAILS");
  if (failing == NULL || strcmp(failing, call) != 0) return 0;
  snprintf(error, error_size, "%s: MPI_ERR_OTHER: known error not in list", call);
  return 1;
}

static int Start(uint32_t* rank, uint32_t* processes, char* error, size_t error_size) {
  *rank = 0;
  *processes = 1;
  return Fails("MPI_Init", error, error_size);
}

static const char* Library(void) { return "a test's MPI"; }

static int SumFloats(float* values, size_t count, char* error, size_t error_size) {
  (void)values, (void)count;
  return Fails("MPI_Allreduce", error, error_size);
}

static int SumDoubles(double* values, size_t count, char* error, size_t error_size) {
  (void)values, (void)count;
  return Fails("MPI_Allreduce", error, error_size);
}

/* A group that an error ended must not wait for others. */
static void Finish(void) {
  if (getenv("FAKE_MPI_FAILS") != NULL) abort();
}

static const motley_mpi kModule = {MOTLEY_MPI_VERSION, sizeof(motley_mpi), Start, Library,
                                   SumFloats,          SumDoubles,         Finish};

__attribute__((visibility("default"))) const motley_mpi* motley_mpi_get(uint32_t version) {
  const char* failing = getenv("FAKE_MPI_FAILS");
  if (failing != NULL && strcmp(failing, "version") == 0) return NULL;
  return version == MOTLEY_MPI_VERSION ? &kModule : NULL;
}
