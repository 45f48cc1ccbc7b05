// SPDX-License-Identifier: Apache-2.0
// Tests how the CUDA driver finds cuBLAS. The stubs are in a folder that only this program's
// RUNPATH names, like a plug-in's.
#include <gtest/gtest.h>

#include "devices/cuda/cublas.h"

namespace motley::cuda {
namespace {

// The loader does not search for cuBLAS's dependencies in the folder where it found cuBLAS.
TEST(CublasFiles, DependenciesOfCublasAreFoundBesideIt) {
  char reason[1024] = "";
  ASSERT_TRUE(FindCublas(reason, sizeof(reason))) << reason;
  const Cublas* const cublas = LoadCublas(reason, sizeof(reason));
  ASSERT_NE(cublas, nullptr) << reason;
  EXPECT_EQ(static_cast<int>(cublas->create(nullptr)), 7);
}

}  // namespace
}  // namespace motley::cuda
