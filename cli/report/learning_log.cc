// SPDX-License-Identifier: Apache-2.0
#include "cli/report/learning_log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "fmt/core.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using Json = nlohmann::ordered_json;

bool Falls(uint64_t step, uint64_t steps) {
  const uint64_t every = std::max<uint64_t>(1, steps / LearningLog::kMostLines);
  return step % every == 0 || step == steps;
}

}  // namespace

Result<std::unique_ptr<LearningLog>> LearningLog::Open(const std::string& path) {
  auto log = std::make_unique<LearningLog>();
  log->path_ = path;
  if (path.empty()) return log;
  log->file_.reset(fopen(path.c_str(), "we"));
  if (log->file_ != nullptr) return log;
  return Status::Resource(fmt::format("--log {}: cannot write it: {}", path, std::strerror(errno)));
}

void LearningLog::OnEvent(const motley_event& event, const motley_metrics& job) {
  const bool judged = event.kind == MOTLEY_EVENT_JUDGED;
  if (!judged && event.kind != MOTLEY_EVENT_STEP_APPLIED) return;
  const uint64_t step = judged ? event.step : event.step + 1;
  if (!judged && !Falls(step, job.steps_wanted)) return;
  const auto per_epoch = static_cast<double>(std::max<uint64_t>(job.steps_per_epoch, 1));
  Point point{.step = step,
              .epoch = static_cast<double>(step) / per_epoch,
              .loss = event.loss,
              .validation = NAN,
              .judged = judged};
  Json line = {{"kind", judged ? "judged" : "step"},
               {"step", step},
               {"epoch", point.epoch},
               {"loss", event.loss},
               {"rate", job.learning_rate},
               {"workers", job.workers},
               {"seconds", static_cast<double>(event.time_ns) / 1e9}};
  if (judged) {
    const Json about = Json::parse(event.text);
    line.update(about);
    point.best = about.at("best").get<bool>();
    if (const auto found = about.find("validation"); found != about.end()) {
      const Json& loss = found->at("loss");
      if (loss.is_number()) point.validation = loss.get<double>();
    }
  }
  points_.push_back(point);
  if (file_ == nullptr || failed_) return;
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  failed_ = fwrite(text.data(), 1, text.size(), file_.get()) != text.size();
  if (judged) failed_ = fflush(file_.get()) != 0 || failed_;
}

Status LearningLog::Close() {
  if (file_ == nullptr) return Status::Ok();
  const bool closed = fclose(file_.release()) == 0;
  if (closed && !failed_) return Status::Ok();
  return Status::Resource(fmt::format("cannot write {}: is the disk full?", path_));
}

}  // namespace motley
