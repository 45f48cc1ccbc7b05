// SPDX-License-Identifier: Apache-2.0
// How the CUDA driver finds cuBLAS, with stubs in a folder that only this program's RUNPATH names,
// as a plug-in's does.
#include <gtest/gtest.h>

#include "devices/cuda/cublas.h"

namespace motley::cuda {
namespace {

// The loader does not look for what cuBLAS needs where it looked for cuBLAS.
TEST(CublasFiles, WhatCublasNeedsIsFoundBesideIt) {
  char reason[1024] = "";
  ASSERT_TRUE(FindCublas(reason, sizeof(reason))) << reason;
  const Cublas* const cublas = LoadCublas(reason, sizeof(reason));
  ASSERT_NE(cublas, nullptr) << reason;
  EXPECT_EQ(static_cast<int>(cublas->create(nullptr)), 7);
}

}  // namespace
}  // namespace motley::cuda
