// SPDX-License-Identifier: Apache-2.0
#include "api/reports/run_recording.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "data/files/file_io.h"

namespace motley {

std::string TracePathFor(const std::string& profile) {
  constexpr std::string_view kEnding = ".toml";
  const bool ends = profile.size() > kEnding.size() && profile.ends_with(kEnding);
  return profile.substr(0, profile.size() - (ends ? kEnding.size() : 0)) + ".trace.csv";
}

Result<std::unique_ptr<RunRecording>> RunRecording::Open(const std::string& path,
                                                         ClusterProfile about) {
  MOTLEY_RETURN_IF_ERROR(CheckReplaceable(path).WithContext("`record_profile`"));
  const std::string trace = TracePathFor(path);
  // Follows links, and refuses anything but regular files.
  MOTLEY_ASSIGN_OR_RETURN(const std::string target, ReplaceTarget(trace));
  File file(std::fopen(target.c_str(), "we"));
  if (file == nullptr) {
    return Status::Resource(
        fmt::format("`record_profile`: cannot write '{}': {}", trace, std::strerror(errno)));
  }
  return std::unique_ptr<RunRecording>(
      new RunRecording(path, trace, std::move(file), std::move(about)));
}

RunRecording::RunRecording(std::string path, std::string trace_path, File file,
                           ClusterProfile about)
    : path_(std::move(path)),
      trace_path_(std::move(trace_path)),
      file_(std::move(file)),
      recorder_(std::move(about), [this](std::string_view text) { Write(text); }) {}

void RunRecording::Write(std::string_view text) {
  if (!status_.ok() || std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size()) return;
  status_ = Status::Resource(fmt::format("'{}': {}", trace_path_, std::strerror(errno)));
}

Status RunRecording::Finish() {
  recorder_.Finish();
  if (std::fclose(file_.release()) != 0 && status_.ok()) {
    status_ = Status::Resource(fmt::format("'{}': {}", trace_path_, std::strerror(errno)));
  }
  const ClusterProfile profile = recorder_.Profile();
  if (profile.workers.empty()) {
    return Status::NotFound("no worker had computed anything yet, so there is no profile to write");
  }
  const std::string text = FormatClusterProfile(profile);
  const BytesView piece = std::as_bytes(std::span(text));
  const Status written = WriteFileAtomically(path_, {&piece, 1});
  return status_.ok() ? written : status_;
}

}  // namespace motley
