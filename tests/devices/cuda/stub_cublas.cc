// SPDX-License-Identifier: Apache-2.0
// A stub library with the functions of cuBLAS that the driver looks up. Like cuBLAS it needs
// another library (cublas_files_test.cc).
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
