// SPDX-License-Identifier: Apache-2.0
#include "collective/mpi/mpi_group.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "devices/drivers/modules.h"

namespace motley {
namespace {

constexpr char kFile[] = "motley-mpi.so";

// The number of processes that mpirun started, from the environment that it gives them. Nothing:
// this process was started in another way. Zero: mpirun does not say.
std::optional<uint32_t> StartedByMpirun() {
  // OpenMPI, and MPICH with its relatives.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    const std::string_view digits = text;
    uint32_t processes = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), processes);
    return processes;
  }
  // Other launchers.
  for (const char* name : {"PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return 0;
  }
  return std::nullopt;
}

Result<const motley_mpi*> LoadMpi(const std::vector<std::string>& folders) {
  const Module module = LoadModule(kFile, folders);
  if (module.library == nullptr && module.path.empty()) {
    return Status::NotFound(
        fmt::format("this build has no MPI: {}. CMake builds it where MPI is installed (package "
                    "libopenmpi-dev)",
                    module.reason));
  }
  if (module.library == nullptr) {
    return Status::NotFound(
        fmt::format("MPI is not usable: {}. Install the MPI with which the module was built, or "
                    "build Motley again",
                    module.reason));
  }
  const auto entry = reinterpret_cast<motley_mpi_entry>(dlsym(module.library, MOTLEY_MPI_SYMBOL));
  const motley_mpi* mpi = entry == nullptr ? nullptr : entry(MOTLEY_MPI_VERSION);
  if (mpi == nullptr || mpi->version != MOTLEY_MPI_VERSION ||
      mpi->struct_size < sizeof(motley_mpi)) {
    dlclose(module.library);
    return Status::Conflict(
        fmt::format("{} is of another version; build it together with the program", module.path));
  }
  return mpi;
}

}  // namespace

Result<std::unique_ptr<MpiGroup>> MpiGroup::Join(const std::vector<std::string>& folders) {
  const std::optional<uint32_t> started = StartedByMpirun();
  if (!started) {
    return Status::Conflict(
        "MPI sums among processes that mpirun starts, and it did not start this one. Run: mpirun "
        "-n 4 motley-sum --reduce mpi");
  }
  MOTLEY_ASSIGN_OR_RETURN(const motley_mpi* mpi, LoadMpi(folders));
  auto group = std::unique_ptr<MpiGroup>(new MpiGroup(*mpi));
  std::array<char, 512> why{};
  if (mpi->start(&group->rank_, &group->count_, why.data(), why.size()) != 0) {
    group->broken_ = true;
    return Status::Unavailable(why.data());
  }
  if (*started > 0 && *started != group->count_) {
    return Status::Conflict(fmt::format(
        "mpirun started {} processes, and {} knows of {}: they belong to different MPIs. Use the "
        "mpirun of {}",
        *started, kFile, group->count_, mpi->library()));
  }
  return group;
}

MpiGroup::~MpiGroup() {
  if (!broken_) mpi_.finish();
}

Status MpiGroup::Sum(Contribution& values) {
  std::array<char, 512> why{};
  const bool failed =
      mpi_.sum_floats(values.vector.data(), values.vector.size(), why.data(), why.size()) != 0 ||
      mpi_.sum_doubles(values.beside.data(), values.beside.size(), why.data(), why.size()) != 0;
  if (!failed) return Status::Ok();
  broken_ = true;
  return Status::Unavailable(why.data());
}

}  // namespace motley
