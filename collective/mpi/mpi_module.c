/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/mpi/mpi_module.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* MPI counts values with an int. */
static const size_t kMostAtOnce = (size_t)1 << 30;

static char library[MPI_MAX_LIBRARY_VERSION_STRING];

static int Explain(int code, const char* call, char* error, size_t error_size) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  snprintf(error, error_size, "%s: %s (error %d of %s)", call, text, code, library);
  return 1;
}

static int Start(uint32_t* rank, uint32_t* processes, char* error, size_t error_size) {
  int length = 0, own = 0, all = 0;
  int code = MPI_Get_library_version(library, &length);
  library[strcspn(library, ",\n")] = '\0'; /* The rest describes the build. */
  for (char* tab = library; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
  if (code == MPI_SUCCESS) code = MPI_Init(NULL, NULL);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, &own);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, &all);
  *rank = (uint32_t)own;
  *processes = (uint32_t)all;
  return Explain(code, "MPI_Init", error, error_size);
}

static const char* Library(void) { return library; }

static int Sum(char* values, size_t count, size_t size, MPI_Datatype type, char* error,
               size_t error_size) {
  int code = MPI_SUCCESS;
  for (size_t begin = 0; begin < count && code == MPI_SUCCESS; begin += kMostAtOnce) {
    const size_t left = count - begin;
    code = MPI_Allreduce(MPI_IN_PLACE, values + begin * size,
                         (int)(left < kMostAtOnce ? left : kMostAtOnce), type, MPI_SUM,
                         MPI_COMM_WORLD);
  }
  return Explain(code, "MPI_Allreduce", error, error_size);
}

static int SumFloats(float* values, size_t count, char* error, size_t error_size) {
  return Sum((char*)values, count, sizeof(float), MPI_FLOAT, error, error_size);
}

static int SumDoubles(double* values, size_t count, char* error, size_t error_size) {
  return Sum((char*)values, count, sizeof(double), MPI_DOUBLE, error, error_size);
}

static void Finish(void) { MPI_Finalize(); }

static const motley_mpi kModule = {MOTLEY_MPI_VERSION, sizeof(motley_mpi), Start, Library,
                                   SumFloats,          SumDoubles,         Finish};

__attribute__((visibility("default"))) const motley_mpi* motley_mpi_get(uint32_t version) {
  return version == MOTLEY_MPI_VERSION ? &kModule : NULL;
}
