// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/weighted_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "training/trainers/trainer.h"

namespace motley {
namespace {

using Complex = std::complex<double>;

Complex CoefficientOf(const MergedTerm& term, size_t part) {
  return part == 0 ? term.coefficient : term.other_parts[part - 1];
}

size_t PartsOf(const MergedTerm& term) { return 1 + term.other_parts.size(); }

bool IsReal(const MergedTerm& term) {
  return term.coefficient.imag() == 0 &&
         std::all_of(term.other_parts.begin(), term.other_parts.end(),
                     [](const Complex& coefficient) { return coefficient.imag() == 0; });
}

}  // namespace

WeightedCall::WeightedCall(Device& device, std::shared_ptr<const ForeignTrainer> foreign,
                           uint64_t job, BatchSchedule schedule)
    : device_(device),
      foreign_(std::move(foreign)),
      job_(job),
      seed_(schedule.seed()),
      samples_(std::move(schedule)) {}

Status WeightedCall::Add(const Work& work, Tally& tally) {
  if (*work.cancel) return Status::Cancelled("the gradient was no longer wanted");
  MOTLEY_RETURN_IF_ERROR(Gather(work));
  if (runs_.empty()) return Status::Ok();
  PlanSums();
  return Call(work, tally);
}

Status WeightedCall::Gather(const Work& work) {
  samples_.Begin(work.step);
  groups_.clear();
  runs_.clear();
  for (const MergedTerm& term : work.terms) {
    const uint32_t group = GroupOf(term);
    for (const PartitionSlice& slice : term.slices) {
      const uint64_t first = samples_.numbers().size();
      MOTLEY_RETURN_IF_ERROR(samples_.Add(slice));
      runs_.push_back({first, samples_.numbers().size() - first, slice.partition, group, {}});
    }
  }
  return Status::Ok();
}

uint32_t WeightedCall::GroupOf(const MergedTerm& term) {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return SameWeights(*group.term, term);
  });
  const auto at = static_cast<uint32_t>(found - groups_.begin());
  if (found == groups_.end()) groups_.push_back({&term, {}});
  return at;
}

// Chooses the sums, and the weights of each group in them.
void WeightedCall::PlanSums() {
  const size_t parts = PartsOf(*groups_.front().term);
  const bool real = std::all_of(groups_.begin(), groups_.end(),
                                [](const Group& group) { return IsReal(*group.term); });
  const size_t of_part = real ? 1 : 2;  // The real numbers in a coefficient.
  const size_t numbers = parts * of_part;
  const bool by_group = numbers > 1 && groups_.size() <= numbers;
  sums_.resize(by_group ? groups_.size() : numbers);
  for (size_t s = 0; s < sums_.size(); ++s) {
    sums_[s].coefficients.clear();
    if (by_group) {
      PlanSumOfGroup(s, parts);
    } else {
      const bool imaginary = s % of_part == 1;
      PlanSumOfNumber(s, parts, s / of_part, imaginary);
    }
  }
  for (WeightedWork::Run& run : runs_) run.weights = groups_[run.group].weights;
}

// Sum `s` is the plain sum of group `s`.
void WeightedCall::PlanSumOfGroup(size_t s, size_t parts) {
  for (size_t part = 0; part < parts; ++part) {
    sums_[s].coefficients.push_back(CoefficientOf(*groups_[s].term, part));
  }
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g].weights.push_back(g == s ? 1 : 0);
}

// Sum `s` has the real or imaginary parts of the coefficients of part `part`.
void WeightedCall::PlanSumOfNumber(size_t s, size_t parts, size_t part, bool imaginary) {
  const bool is_answer = parts == 1 && !imaginary;
  if (!is_answer) {
    sums_[s].coefficients.assign(parts, 0);
    sums_[s].coefficients[part] = imaginary ? Complex(0, 1) : Complex(1, 0);
  }
  for (Group& group : groups_) {
    const Complex coefficient = CoefficientOf(*group.term, part);
    group.weights.push_back(imaginary ? coefficient.imag() : coefficient.real());
  }
}

// Finds memory for the sums that are not the answer, with zeros in it. Returns where all sums are.
Result<std::vector<float*>> WeightedCall::ClearSums(const Work& work) {
  std::vector<float*> sums;
  size_t used = 0;
  for (Sum& sum : sums_) {
    sum.values = nullptr;
    if (!sum.coefficients.empty()) {
      if (used == rooms_.size()) {
        const size_t length = VectorLength(work.parameters.size());
        MOTLEY_ASSIGN_OR_RETURN(SharedVector room,
                                HostVector::Make("a trainer's sums", length, foreign_->memory));
        rooms_.push_back(std::move(room));
      }
      sum.values = rooms_[used++];
      std::fill(sum.values->begin(), sum.values->end(), 0.0f);
    }
    sums.push_back(sum.values != nullptr ? sum.values->data() : work.sum.data());
  }
  return sums;
}

Status WeightedCall::Call(const Work& work, Tally& tally) {
  const size_t count = work.parameters.size();
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<float*> sums, ClearSums(work));
  std::vector<double> losses(runs_.size()), weights;
  for (const WeightedWork::Run& run : runs_) weights.push_back(static_cast<double>(run.count));
  const std::function<void(uint64_t)> progress =
      [&work, all = samples_.numbers().size()](uint64_t samples) {
        if (work.progress) work.progress(std::min<uint64_t>(samples, all));
      };
  const std::string where =
      fmt::format("step {}, {} samples", WholeStep(work.step), samples_.numbers().size());
  EarlyRanges early(count, work.final,
                    [&](const EarlyRanges::Range& range) { Combine(work, range); });
  const std::function<void(size_t, size_t)> ready = [&](size_t begin, size_t end) {
    // The end of the call reports weights that are no weights.
    const Result<Tally> now = TallyOf(losses, weights, where);
    if (now.ok()) early.Add(begin, end, *now);
  };
  const Status status = foreign_->accumulate_weighted({.step = WholeStep(work.step),
                                                       .job = job_,
                                                       .version = work.version,
                                                       .seed = seed_,
                                                       .parameters = work.parameters,
                                                       .samples = samples_.numbers(),
                                                       .batch = samples_.batch(),
                                                       .runs = runs_,
                                                       .sums = sums,
                                                       .losses = losses,
                                                       .weights = weights,
                                                       .cancelled = *work.cancel,
                                                       .progress = progress,
                                                       .ready = ready});
  MOTLEY_RETURN_IF_ERROR(ForeignOutcome(status, *work.cancel, where));
  MOTLEY_ASSIGN_OR_RETURN(const Tally of_call, TallyOf(losses, weights, where));
  MOTLEY_RETURN_IF_ERROR(early.Check(of_call, where));
  tally.Add(1, of_call);
  if (PartsOf(*groups_.front().term) > 1) {
    CombineParts(work);
  } else {
    for (const EarlyRanges::Range& range : early.Rest()) Combine(work, range);
  }
  return Status::Ok();
}

Result<Tally> WeightedCall::TallyOf(std::span<const double> losses, std::span<const double> weights,
                                    const std::string& where) const {
  Tally tally;
  for (size_t r = 0; r < runs_.size(); ++r) {
    MOTLEY_RETURN_IF_ERROR(CheckForeignWeight(weights[r], where));
    tally.Add(groups_[runs_[r].group].term->coefficient, {losses[r], weights[r]});
  }
  return tally;
}

// The answer's values in a range whose ends are even, for answers of one part.
void WeightedCall::Combine(const Work& work, const EarlyRanges::Range& range) const {
  const size_t length = range.end - range.begin;
  for (const Sum& sum : sums_) {
    if (sum.coefficients.empty()) continue;
    AddWeighted(sum.coefficients.front(), {}, {},
                std::span(*sum.values).subspan(range.begin, length),
                work.sum.subspan(range.begin, length), device_.parallel());
  }
}

void WeightedCall::CombineParts(const Work& work) const {
  const std::span<const size_t> ends = groups_.front().term->ends;
  for (const Sum& sum : sums_) {
    AddWeighted(sum.coefficients.front(), std::span(sum.coefficients).subspan(1), ends, *sum.values,
                work.sum, device_.parallel());
  }
}

}  // namespace motley
