// SPDX-License-Identifier: Apache-2.0
#include "scheduler/coded_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coding/gradient_code.h"
#include "scheduler/placement/relabel.h"
#include "scheduler/placement/row_speeds.h"

namespace motley {
namespace {

constexpr size_t kAnswersRemembered = 64;
constexpr double kMuchFaster = 1.5;  // Than one that takes part: it is worth sending it the data.

}  // namespace

CodedScheduler::CodedScheduler(SchedulerOptions options, RowsToReplace rows_to_replace)
    : BulkSynchronous(std::move(options)),
      rows_to_replace_(std::move(rows_to_replace)),
      early_(options_),
      answer_seconds_(kAnswersRemembered) {}

void CodedScheduler::OnOther(const Event& event) {
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) On(e);  // It leases nothing.
      },
      event);
}

SchedulerStats CodedScheduler::Stats() const {
  SchedulerStats stats = totals_;
  if (plan_.code != nullptr) stats.tolerates = plan_.code->stragglers;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    stats.workers.push_back(members_[id].stats);
    WorkerStats& worker = stats.workers.back();
    worker.speed = members_[id].speed();
  }
  for (size_t i = 0; i < plan_.members.size(); ++i) {
    stats.workers[plan_.members[i]].share =
        static_cast<double>(plan_.LoadOf(i)) / options_.partitions;
  }
  return stats;
}

bool CodedScheduler::PlanAnew() {
  const std::vector<WorkerId> present = members_.Candidates();
  steady_.Add(present, members_.SpeedsOf(present), members_.NoiseOf(present));
  const std::vector<WorkerId> candidates = TakingPart(present);
  const std::vector<double> speeds = Speeds(candidates);
  if (!plan_void_ && !WorthALook(candidates, speeds)) return true;
  pace_.Looked(step_, candidates, speeds);
  Result<Plan> plan = MakePlan(options_, candidates, speeds);
  if (!plan.ok()) {
    End(plan.status());
    return false;
  }
  if (went_on_ || plan_.code != nullptr) KeepPlaces(*plan);
  if (plan_void_ || pace_.Gained(SpeedsCallForAnother(*plan))) Adopt(std::move(plan).value());
  return true;
}

std::vector<WorkerId> CodedScheduler::TakingPart(const std::vector<WorkerId>& ids) const {
  const size_t most = options_.most_workers;
  if (most == 0 || ids.size() <= most) return ids;
  std::vector<double> speeds = steady_.Of(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!plan_.RowsOf(ids[i]).empty()) speeds[i] *= kMuchFaster;
  }
  std::vector<WorkerId> taking;
  for (const size_t i : FastestOf(speeds, most)) taking.push_back(ids[i]);
  return taking;
}

// Whose answers take long to come has less time to compute.
std::vector<double> CodedScheduler::Speeds(const std::vector<WorkerId>& ids, double errors) const {
  std::vector<double> speeds = steady_.Of(ids, errors);
  std::vector<double> waits(ids.size(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < habits_.size()) waits[i] = habits_[ids[i]].SureWait();
  }
  const uint32_t copies = CopiesOf(options_.code, options_.tolerate, options_.parts);
  return SpeedsWithWaits(speeds, waits, static_cast<double>(options_.batch) * copies,
                         options_.batch);
}

// Which partition is which does not matter to a code; what is kept are runs of neighbours.
void CodedScheduler::KeepPlaces(Plan& plan) const {
  if (plan.code->kept_parts > 0) return;
  std::vector<const std::vector<bool>*> held;
  for (const WorkerId id : plan.members) held.push_back(&members_[id].holds);
  plan.code = std::make_shared<const CodeForm>(RelabelToHeld(*plan.code, held));
}

bool CodedScheduler::WorthALook(const std::vector<WorkerId>& candidates,
                                const std::vector<double>& speeds) const {
  if (options_.shares == Shares::kEqual) return false;
  // With equal loads for everybody, the speeds change nothing.
  if (!plan_.FollowsSpeeds() && plan_.members == candidates) return false;
  return pace_.WorthALook(step_, candidates, speeds);
}

Gain CodedScheduler::SpeedsCallForAnother(const Plan& fresh) const {
  const double per_partition = static_cast<double>(options_.batch) / options_.partitions;
  const std::vector<double> speeds = Speeds(plan_.members);
  double total_speed = 0;
  for (const double speed : speeds) total_speed += speed;
  uint64_t moved = 0, most = 0;
  for (const WorkerId member : fresh.members) {
    uint64_t missing = 0;
    for (const RowId row : fresh.RowsOf(member)) missing += MissingPartitions(member, row, fresh);
    moved += missing;
    most = std::max(most, missing);
  }
  ReplanCase numbers;
  numbers.current_seconds = PredictStepSeconds(*plan_.code, speeds, per_partition);
  numbers.fresh_seconds = fresh.step_seconds;
  numbers.moved_seconds = static_cast<double>(moved) * per_partition / total_speed;
  numbers.transfer_seconds = deadlines_.TransferSeconds(most);
  numbers.remaining_steps = options_.steps - step_;
  if (!WorthReplanning(numbers)) return Gain::kNone;
  return SureToGain(fresh) ? Gain::kSure : Gain::kUnsure;
}

bool CodedScheduler::SureToGain(const Plan& fresh) const {
  const double per_partition = static_cast<double>(options_.batch) / options_.partitions;
  const double current =
      PredictStepSeconds(*plan_.code, Speeds(plan_.members, kSureOfGain), per_partition);
  return PredictStepSeconds(*fresh.code, Speeds(fresh.members, -kSureOfGain), per_partition) <
         current;
}

void CodedScheduler::Adopt(Plan plan) {
  if (plan_.code != nullptr) ++totals_.replans;
  if (plan.compromise && plan.compromise != plan_.compromise) SayOf(*plan.compromise);
  plan_ = std::move(plan);
  ++plan_number_;
  plan_void_ = false;
  pace_.Adopted(step_);
}

Status CheckCodedOptions(const SchedulerOptions& options, const RowsToReplace& rows_to_replace) {
  MOTLEY_RETURN_IF_ERROR(CheckBulkOptions(options));
  if (rows_to_replace == nullptr) {
    return Status::InvalidArgument("the scheduler must be told how to judge absent rows");
  }
  CodeRequest request;
  request.speeds.assign(options.workers, 1.0);
  request.stragglers = options.code == "none" ? 0 : options.tolerate;
  request.partitions = options.partitions;
  request.seed = options.seed;
  request.parts = options.parts;
  // Whether the code can serve at all shows now, not when the workers are there.
  return BuildCode(options.code, request).status();
}

Result<std::unique_ptr<Scheduler>> MakeCodedScheduler(const SchedulerOptions& options,
                                                      RowsToReplace rows_to_replace) {
  MOTLEY_RETURN_IF_ERROR(CheckCodedOptions(options, rows_to_replace));
  return std::unique_ptr<Scheduler>(
      std::make_unique<CodedScheduler>(options, std::move(rows_to_replace)));
}

}  // namespace motley
