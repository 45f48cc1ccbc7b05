// SPDX-License-Identifier: Apache-2.0
// The dependency of the cuBLAS stub (stub_cublas.cc).
extern "C" int motley_stub_cublas_lt() { return 7; }
