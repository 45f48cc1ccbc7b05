// SPDX-License-Identifier: Apache-2.0
#include "cli/run/started_task.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "data/files/file_io.h"
#include "fmt/core.h"

namespace motley {
namespace {

// Srun comes last: mpirun and torchrun may be started by it, and its variables then reach their
// tasks.
struct Source {
  const char* name;
  const char* starter;
  const char* rank;
  const char* size;
  // The run's name, without which rank and size show nothing: other programs set them as well.
  const char* run = nullptr;
};
constexpr Source kSources[] = {
    {"Open MPI", "mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MPICH and others", "mpirun", "PMI_RANK", "PMI_SIZE"},
    {"PyTorch", "torchrun", "RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"Slurm", "srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<uint32_t> Number(const char* name) {
  const std::string text = Variable(name);
  uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && stop == text.data() + text.size()) return value;
  return Status::InvalidArgument(
      fmt::format("the environment variable {} is '{}', which is not a whole number", name, text));
}

// A name for the job that all its tasks have in common. A job that Slurm queues again keeps its
// number, so the count of restarts is part of the name.
std::string JobName(const Source& source) {
  if (const std::string given = Variable("MOTLEY_RUN_ID"); !given.empty()) return given;
  std::string name;
  const auto add = [&name](const char* variable) {
    if (const std::string text = Variable(variable); !text.empty()) name += "-" + text;
  };
  add("SLURM_JOB_ID");
  add("SLURM_RESTART_COUNT");
  const size_t allocation = name.size();
  add("PMIX_NAMESPACE");
  add("OMPI_MCA_ess_base_jobid");
  // The first task of mpirun may have no step, while srun starts the others in one.
  if (name.size() == allocation) add("SLURM_STEP_ID");
  if (source.run != nullptr) {
    if (Variable(source.run) != "none") add(source.run);  // As torchrun calls runs without a name.
    if (!name.empty()) add("TORCHELASTIC_RESTART_COUNT");
  }
  return name.empty() ? name : "job" + name;
}

std::string HomeFolder() {
  if (const std::string home = Variable("HOME"); !home.empty()) return home;
  const passwd* user = getpwuid(getuid());
  return user != nullptr ? user->pw_dir : "";
}

}  // namespace

Result<std::optional<StartedTask>> FindTask() {
  const auto* found = std::find_if(std::begin(kSources), std::end(kSources), [](const Source& one) {
    const bool named =
        one.run == nullptr || !Variable(one.run).empty() || !Variable("MOTLEY_RUN_ID").empty();
    return named && !Variable(one.rank).empty() && !Variable(one.size).empty();
  });
  if (found == std::end(kSources)) return std::optional<StartedTask>();
  StartedTask task;
  task.starter = found->starter;
  MOTLEY_ASSIGN_OR_RETURN(task.rank, Number(found->rank));
  MOTLEY_ASSIGN_OR_RETURN(task.size, Number(found->size));
  task.job = JobName(*found);
  if (task.job.empty() && task.size > 1) {
    return Status::InvalidArgument(
        fmt::format("this {} gives its tasks no name of the job, by which they could find each "
                    "other. Set MOTLEY_RUN_ID to a new name before each start, for all tasks: "
                    "MOTLEY_RUN_ID=$(date +%s) {} ...",
                    task.starter, task.starter));
  }
  return std::optional(task);
}

std::string TaskSources() {
  std::string text;
  for (const Source& source : kSources) {
    text += fmt::format("{}{} ({}, {}{}{})", text.empty() ? "" : ", ", source.name, source.rank,
                        source.size, source.run != nullptr ? ", " : "",
                        source.run != nullptr ? source.run : "");
  }
  return text;
}

Result<std::string> MeetingPath(const StartedTask& task, std::string folder) {
  if (folder.empty()) folder = Variable("MOTLEY_RUN_DIR");
  if (folder.empty()) folder = HomeFolder() + "/.motley/run";
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    std::filesystem::create_directories(folder, error);
    chmod(folder.c_str(), S_IRWXU);
  }
  if (error) {
    return Status::Resource(
        fmt::format("cannot create the folder {}, where the job's tasks find each other: {}. Name "
                    "another one that all machines share, with --shared or MOTLEY_RUN_DIR",
                    folder, error.message()));
  }
  std::string name = task.job;
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.'; }, '_');
  return folder + "/" + name;
}

Status WriteMeeting(const std::string& path, const Meeting& meeting) {
  return WritePrivateFile(path, fmt::format("{}\n{}\n", meeting.address, meeting.token));
}

Result<Meeting> ReadMeeting(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return Status::NotFound(path + " does not exist");
  if (!S_ISREG(info.st_mode) || info.st_uid != getuid() ||
      (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Status::Permission(
        fmt::format("{} must be a file that this user alone can read, because it has the job's "
                    "token. Remove it",
                    path));
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::string content, ReadRawFile(path));
  const size_t first = content.find('\n');
  const size_t second = content.find('\n', first + 1);
  if (first == content.npos || second == content.npos) {
    return Status::DataError(path + " is not complete");
  }
  return Meeting{content.substr(0, first), content.substr(first + 1, second - first - 1)};
}

}  // namespace motley
