// SPDX-License-Identifier: Apache-2.0
// The functions of cuBLAS that the driver looks for, in a library that needs another one as cuBLAS
// does (cublas_files_test.cc).
extern "C" {
int motley_stub_cublas_lt();

int cublasCreate_v2() { return motley_stub_cublas_lt(); }
int cublasDestroy_v2() { return 0; }
int cublasSetStream_v2() { return 0; }
int cublasSetWorkspace_v2() { return 0; }
int cublasSetMathMode() { return 0; }
int cublasSgemm_v2_64() { return 0; }
int cublasSgemmStridedBatched_64() { return 0; }
int cublasGetStatusName() { return 0; }
int cublasGetStatusString() { return 0; }
}
