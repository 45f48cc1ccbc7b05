// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/row_plans.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "coding/schemes.h"
#include "scheduler/placement/relabel.h"
#include "scheduler/placement/row_speeds.h"

namespace motley {
namespace {

// A worker this many times faster than one that takes part is worth sending it the data.
constexpr double kMuchFaster = 1.5;

// The speeds with the slowest raised, so that shares that follow them have a partition at least.
// Raising them lowers the shares of all a little.
std::vector<double> WithAPartitionEach(std::vector<double> speeds, uint32_t partitions) {
  constexpr double kMargin = 1.5;
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  for (double& speed : speeds) speed = std::max(speed, kMargin * all / partitions);
  return speeds;
}

}  // namespace

uint32_t MissingPartitions(const Worker& worker, const std::vector<CodeEntry>& row) {
  return static_cast<uint32_t>(std::count_if(
      row.begin(), row.end(), [&](const CodeEntry& e) { return !worker.holds[e.partition]; }));
}

RowPlans::RowPlans(JobState& job, Plan plan)
    : job_(job), follows_another_(job.members.ReadyCount() > 0), plan_(std::move(plan)) {}

Status RowPlans::Update() {
  if (job_.options.sync.one_each) return Status::Ok();  // The first plan serves all updates.
  const std::vector<WorkerId> present = job_.members.Candidates();
  steady_.Add(present, job_.members.SpeedsOf(present), job_.members.NoiseOf(present));
  const std::vector<WorkerId> candidates = TakingPart(present);
  const std::vector<double> speeds = Speeds(candidates);
  if (!job_.plan_void && !WorthALook(candidates, speeds)) return Status::Ok();
  pace_.Looked(job_.version, candidates, speeds);
  MOTLEY_ASSIGN_OR_RETURN(Plan plan, MakePlan(job_.options, candidates, speeds));
  if (follows_another_ || plan_.code != nullptr) KeepPlaces(plan);
  if (job_.plan_void || pace_.Gained(SpeedsCallForAnother(plan))) Adopt(std::move(plan));
  return Status::Ok();
}

void RowPlans::Take(const BatchPart& part) {
  CodeForm code = *plan_.code;
  code.rows.front().clear();
  for (PartitionId p = part.first; p < part.last; ++p) code.rows.front().push_back({p, 1.0});
  plan_.code = std::make_shared<const CodeForm>(std::move(code));
  ++number_;
}

// The workers to use next: keep the current ones unless others are much faster.
std::vector<WorkerId> RowPlans::TakingPart(const std::vector<WorkerId>& ids) const {
  const size_t most = job_.options.most_workers;
  if (most == 0 || ids.size() <= most) return ids;
  const double share = static_cast<double>(job_.options.batch) / static_cast<double>(most);
  std::vector<double> speeds = steady_.Of(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    // A worker behind a narrow link is slow, however fast it computes.
    speeds[i] = share / (share / speeds[i] + job_.transfers.link().SendSeconds(ids[i]));
    if (!plan_.RowsOf(ids[i]).empty()) speeds[i] *= kMuchFaster;
  }
  std::vector<WorkerId> taking;
  for (const size_t i : FastestOf(speeds, most)) taking.push_back(ids[i]);
  return taking;
}

// The speeds that shares follow, each moved by `errors` standard errors. A worker whose answers
// take long to come has less time to compute. Local steps follow speed alone: vectors take longer
// than steps, so rounds would be no shorter, and steps ahead need rows that stay.
std::vector<double> RowPlans::Speeds(const std::vector<WorkerId>& ids, double errors) const {
  const SchedulerOptions& options = job_.options;
  const std::vector<double> speeds = steady_.Of(ids, errors);
  if (options.sync.local_steps > 0) return WithAPartitionEach(speeds, options.partitions);
  std::vector<double> waits(ids.size(), 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto* learned = ids[i] < job_.habits.size() ? &job_.habits[ids[i]] : nullptr;
    if (learned != nullptr) waits[i] = learned->SureWait();
    // The wait of a worker whose answers come too late each time is never measured.
    if (learned != nullptr && learned->waits > 0) continue;
    waits[i] = std::max(waits[i], job_.transfers.link().SendSeconds(ids[i]));
  }
  const uint32_t copies = SchemeNamed(options.code).Computed(options.tolerate, options.parts);
  return SpeedsWithWaits(speeds, waits, static_cast<double>(options.batch) * copies, options.batch);
}

// A code works with any numbering of partitions, so plans keep what workers hold. Kept rows depend
// on runs of neighbours and stay as they are.
void RowPlans::KeepPlaces(Plan& plan) const {
  if (plan.code->kept_parts > 0) return;
  std::vector<const std::vector<bool>*> held;
  for (const WorkerId id : plan.members) held.push_back(&job_.members[id].holds);
  plan.code = std::make_shared<const CodeForm>(RelabelToHeld(*plan.code, held));
}

bool RowPlans::WorthALook(const std::vector<WorkerId>& candidates,
                          const std::vector<double>& speeds) const {
  if (job_.options.shares == Shares::kEqual) return false;
  // With equal loads for all workers, speeds change nothing.
  if (!plan_.FollowsSpeeds() && plan_.members == candidates) return false;
  return pace_.WorthALook(job_.version, candidates, speeds);
}

Gain RowPlans::SpeedsCallForAnother(const Plan& fresh) const {
  const std::vector<double> speeds = Speeds(plan_.members);
  double total_speed = 0;
  for (const double speed : speeds) total_speed += speed;
  uint64_t moved = 0, most = 0;
  for (const WorkerId member : fresh.members) {
    uint64_t missing = 0;
    for (const RowId row : fresh.RowsOf(member)) {
      missing += MissingPartitions(job_.members[member], fresh.code->rows[row]);
    }
    moved += missing;
    most = std::max(most, missing);
  }
  const double per_partition = job_.samples_per_partition();
  ReplanCase numbers;
  numbers.current_seconds = PredictStepSeconds(*plan_.code, speeds, per_partition);
  numbers.fresh_seconds = fresh.step_seconds;
  numbers.moved_seconds = static_cast<double>(moved) * per_partition / total_speed;
  numbers.transfer_seconds = job_.deadlines.TransferSeconds(most);
  numbers.remaining_steps = job_.options.steps - job_.version;
  if (!WorthReplanning(numbers)) return Gain::kNone;
  return SureToGain(fresh) ? Gain::kSure : Gain::kUnsure;
}

bool RowPlans::SureToGain(const Plan& fresh) const {
  const double per_partition = job_.samples_per_partition();
  const double current =
      PredictStepSeconds(*plan_.code, Speeds(plan_.members, kSureOfGain), per_partition);
  return PredictStepSeconds(*fresh.code, Speeds(fresh.members, -kSureOfGain), per_partition) <
         current;
}

void RowPlans::Adopt(Plan plan) {
  if (plan_.code != nullptr) ++job_.totals.replans;
  if (plan.compromise && plan.compromise != plan_.compromise) job_.Say(*plan.compromise);
  plan_ = std::move(plan);
  ++number_;
  for (WorkerId id = 0; id < job_.members.size(); ++id) job_.members[id].to_send = 0;
  for (size_t i = 0; i < plan_.members.size(); ++i) {
    job_.members[plan_.members[i]].to_send = static_cast<uint32_t>(plan_.LoadOf(i));
  }
  job_.plan_void = false;
  pace_.Adopted(job_.version);
}

}  // namespace motley
