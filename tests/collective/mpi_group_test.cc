// SPDX-License-Identifier: Apache-2.0
// What a user reads where MPI cannot be used. mpi_suite.cc sums with a real MPI.
#include "collective/mpi/mpi_group.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "test_paths.h"

namespace motley {
namespace {

constexpr char kFakeFolder[] = MOTLEY_BINARY_DIR "/tests/fake_mpi";

class MpiGroups : public testing::Test {
 protected:
  void SetUp() override { StartedBy("OMPI_COMM_WORLD_SIZE", "1"); }
  void TearDown() override {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "FAKE_MPI_FAILS"}) {
      unsetenv(name);
    }
  }
  static void StartedBy(const char* variable, const char* value) {
    TearDownLaunchers();
    if (variable != nullptr) setenv(variable, value, 1);
  }
  static Status Joined(const std::string& folder) {
    const auto group = MpiGroup::Join({folder});
    return group.ok() ? Status::Ok() : group.status();
  }
  static void ExpectError(const Status& status, StatusCode code, const std::string& text) {
    EXPECT_EQ(status.code(), code) << status.ToString();
    EXPECT_NE(status.ToString().find(text), std::string::npos) << status.ToString();
  }

 private:
  static void TearDownLaunchers() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) unsetenv(name);
  }
};

TEST_F(MpiGroups, OneProcessSumsAlone) {
  const auto group = MpiGroup::Join({kFakeFolder});
  ASSERT_TRUE(group.ok()) << group.status().ToString();
  EXPECT_EQ((*group)->rank(), 0u);
  EXPECT_EQ((*group)->count(), 1u);
  Contribution values{{1, 2}, {3}};
  EXPECT_TRUE((*group)->Sum(values).ok());
  EXPECT_EQ(values.vector, (std::vector<float>{1, 2}));
}

TEST_F(MpiGroups, NeedMpirun) {
  StartedBy(nullptr, "");
  ExpectError(Joined(kFakeFolder), StatusCode::kConflict, "mpirun -n 4 motley-sum --reduce mpi");
}

TEST_F(MpiGroups, NeedTheMpirunOfTheSameMpi) {
  StartedBy("PMI_SIZE", "3");
  ExpectError(Joined(kFakeFolder), StatusCode::kConflict, "Use the mpirun of a test's MPI");
  StartedBy("PMIX_RANK", "2");  // It does not say how many there are.
  EXPECT_TRUE(Joined(kFakeFolder).ok());
}

TEST_F(MpiGroups, NeedTheModule) {
  ExpectError(Joined("/nowhere"), StatusCode::kNotFound, "no motley-mpi.so in /nowhere");
  setenv("FAKE_MPI_FAILS", "version", 1);
  ExpectError(Joined(kFakeFolder), StatusCode::kConflict, "build it together with the program");
}

TEST_F(MpiGroups, PassOnWhatMpiSays) {
  setenv("FAKE_MPI_FAILS", "MPI_Init", 1);
  ExpectError(Joined(kFakeFolder), StatusCode::kUnavailable, "MPI_Init: MPI_ERR_OTHER: known");
  setenv("FAKE_MPI_FAILS", "MPI_Allreduce", 1);
  const auto group = MpiGroup::Join({kFakeFolder});
  ASSERT_TRUE(group.ok()) << group.status().ToString();
  Contribution values{{1}, {}};
  ExpectError((*group)->Sum(values), StatusCode::kUnavailable, "MPI_Allreduce: MPI_ERR_OTHER");
}

}  // namespace
}  // namespace motley
