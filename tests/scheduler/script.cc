// SPDX-License-Identifier: Apache-2.0
#include "tests/scheduler/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/policies.h"

namespace motley {
namespace {

template <typename... Parts>
struct Overloaded : Parts... {
  using Parts::operator()...;
};

void Append(Script::Lines more, Script::Lines& lines) {
  lines.insert(lines.end(), more.begin(), more.end());
}

// The worker that must have had its data to cause this event.
std::optional<WorkerId> WhoWorked(const Event& event) {
  if (const auto* row = std::get_if<RowArrived>(&event)) return row->worker;
  if (const auto* late = std::get_if<RowLate>(&event)) return late->worker;
  if (const auto* list = std::get_if<LeaseProgress>(&event)) return list->worker;
  if (const auto* sum = std::get_if<LeaseVector>(&event)) return sum->worker;
  const auto* free = std::get_if<WorkerFree>(&event);
  return free != nullptr && free->samples > 0 ? std::optional(free->worker) : std::nullopt;
}

}  // namespace

Script::Script(const SchedulerOptions& options, DecodeLimits limits)
    : options_(options), decoder_(limits) {
  auto made = MakeScheduler(options);
  scheduler_ = std::move(made).value();
}

Script::Lines Script::Send(const Event& event) {
  Lines lines;
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) coming_.erase(joined->worker);
  if (const auto worker = WhoWorked(event)) lines = DataCome(*worker);
  std::vector<Command> commands;
  scheduler_->OnEvent(event, now_, commands);
  Append(Show(commands), lines);
  return lines;
}

Script::Lines Script::DataCome(WorkerId worker) {
  const auto coming = coming_.extract(worker);
  if (coming.empty()) return {};
  return Send(DataCame{worker, coming.mapped()});
}

Script::Lines Script::Show(const std::vector<Command>& commands) {
  Lines lines;
  const Overloaded show{
      [&](const OpenStep& c) {
        step_ = c.step;
        assigned_.clear();
        decoder_.Open(c.code);
        lines.push_back(fmt::format("open {}", c.step));
      },
      [&](const PlacePartitions& c) {
        auto& coming = coming_[c.worker];
        coming.insert(coming.end(), c.partitions.begin(), c.partitions.end());
        lines.push_back(fmt::format("place {} x{}", c.worker, c.partitions.size()));
      },
      [&](const AssignRow& c) {
        assigned_.push_back(c);
        lines.push_back(fmt::format("assign {} step {} row {}{}{}", c.worker, c.step, c.row,
                                    c.waits ? " waits" : "", c.ahead ? " ahead" : ""));
      },
      [&](const SendRow& c) {
        lines.push_back(fmt::format("send {} step {} row {}", c.worker, c.step, c.row));
      },
      [&](const CancelWork& c) {
        lines.push_back(
            fmt::format("cancel {} step {}{}", c.worker, c.step, c.held ? " held" : ""));
      },
      [&](const CancelRow& c) {
        lines.push_back(fmt::format("cancel {} step {} row {}", c.worker, c.step, c.row));
      },
      [&](const CommitStep& c) {
        lines.push_back(fmt::format("commit {}{}", c.step, c.approximately ? " as it is" : ""));
      },
      [&](const DropWorker& c) { lines.push_back(fmt::format("drop {}", c.worker)); },
      [&](const EndJob& c) {
        end_status_ = c.status;
        end_last_ = c.last;
        lines.push_back(fmt::format("end {}", StatusCodeName(c.status.code())));
      },
      [&](const Notify& c) { notices_.push_back(c.notice); },
      [&](const OpenLeases& c) {
        step_ = c.step;
        lines.push_back(fmt::format("lease {}", c.step));
      },
      [&](const ExtendLease& c) {
        lines.push_back(fmt::format("extend {} x{}", c.worker, c.partitions.size()));
      },
      [&](const RevokeLease& c) {
        lines.push_back(fmt::format("revoke {} x{}", c.worker, c.partitions.size()));
      },
      [&](const SendLease& c) { lines.push_back(fmt::format("send {}", c.worker)); },
  };
  for (const Command& command : commands) std::visit(show, command);
  return lines;
}

Script::Lines Script::Arrive(WorkerId worker, RowId row) {
  decoder_.Answer(row);
  const StepId step = step_;
  Lines lines = Send(RowArrived{worker, step, row});
  if (decoder_.Decodable()) Append(Send(StepDecodable{step}), lines);
  return lines;
}

Script::Lines Script::Reject(WorkerId worker, RowId row, bool touched) {
  return Send(RowRejected{worker, step_, row, touched, Status::DataError("not finite")});
}

Script::Lines Script::TickAtDeadline() {
  if (!HasDeadline()) return {};
  now_ = std::max(now_, scheduler_->Deadline());
  return TickNow();
}

Script::Lines Script::PassTime(double seconds) {
  const Time end = now_ + FromSeconds(seconds);
  Lines lines;
  while (HasDeadline() && scheduler_->Deadline() <= end) Append(TickAtDeadline(), lines);
  now_ = end;
  return lines;
}

Script::Lines Script::Start(const std::vector<double>& speeds) {
  Lines lines;
  for (WorkerId id = 0; id < speeds.size(); ++id) Append(Join(id), lines);
  for (WorkerId id = 0; id < speeds.size(); ++id) Append(Ready(id, speeds[id]), lines);
  return lines;
}

Script::Lines Script::WholeStep(const std::vector<double>& speeds) {
  struct Answer {
    double seconds;
    AssignRow what;
    double samples;
  };
  std::vector<Answer> answers;
  for (const AssignRow& what : assigned_) {
    const double samples = static_cast<double>(decoder_.code().rows[what.row].size()) *
                           options_.batch / options_.partitions;
    answers.push_back({samples / speeds[what.worker], what, samples});
  }
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.seconds < b.seconds; });
  const StepId step = step_;
  double at = 0;
  bool open = true;
  for (const Answer& answer : answers) {
    Advance(std::max(0.0, answer.seconds - at));
    at = std::max(at, answer.seconds);
    if (open) Arrive(answer.what.worker, answer.what.row);
    open = open && !decoder_.Decodable();
    Free(answer.what.worker, static_cast<uint64_t>(answer.samples), answer.seconds);
  }
  return Send(StepApplied{step});
}

}  // namespace motley
