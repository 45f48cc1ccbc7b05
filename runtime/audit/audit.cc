// SPDX-License-Identifier: Apache-2.0
#include "runtime/audit/audit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/signs.h"
#include "coding/decode/part_sums.h"
#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr size_t kCoarse = 256;  // Samples that are summed at a time, to bound memory.
constexpr size_t kFine = 8;      // Samples at a time when an answer is looked at again.
constexpr double kMove = 0x1p-18;
constexpr double kKinkMove = 0x1p-14;
constexpr uint64_t kKinkDraws = 2;   // One draw may leave a unit where it was.
constexpr uint64_t kMostDraws = 64;  // Versions of moved parameters in a step.
// Times the change that moved parameters make, because a sketch may show more of it.
constexpr double kExcused = 4;
// In a shorter range of an owner, a wrong answer may have the sketch of the right one by chance.
constexpr size_t kLeastJudged = 32;
constexpr double kDecodeTolerance = 1e-2;  // Relative; codes amplify rounding.
// A sum of logarithms near 0 has few digits. Losses do not enter the training.
constexpr double kLossTolerance = 1e-2;
constexpr double kSampleLoss = 1e-3;  // Additional tolerance for each sample.
constexpr double kMost = 1e6;         // The largest relative difference that is shown.
constexpr uint64_t kMovedVersions = uint64_t{1} << 63;

// Partitions that every answer weighs alike.
struct Group {
  struct Run {
    PartitionId begin;
    PartitionId end;
  };
  std::vector<Run> runs;
  // Rows that contain the group, and the place in each.
  std::vector<std::pair<size_t, size_t>> entries;
  double coverage = 1;  // The weight in the decoded sum.
};

// The expected values of a weighted sum of groups. Each row has one, and so has the decoded sum.
struct Expected {
  std::vector<double> sketches;  // A sketch for each slice.
  std::vector<double> declared;  // Sketches with the signs that everybody knows.
  double norms = 0;              // Weighted norms of the groups.
  double scale = 0;              // The norms, or those of the pieces after a second look.
  double excused = 0;
  Tally tally;
  double loss_scale = 0;
  double weight_scale = 0;
};

class Comparison {
 public:
  Comparison(Device& device, JobGradient& gradient, const DataSource& data,
             const BatchSchedule& schedule, AuditRequest request,
             const std::atomic<bool>& cancelled)
      : device_(device),
        gradient_(gradient),
        data_(data),
        request_(std::move(request)),
        answers_(request_.answers),
        form_(*answers_.form),
        cancelled_(cancelled),
        batch_(schedule.At(answers_.step)),
        ranges_(schedule.Ranges(answers_.step)),
        rows_(form_.rows.size()),
        piece_(VectorLength(request_.parameters->size())) {}

  Result<AuditResult> Run() {
    FormGroups();
    double decoded_norm = std::sqrt(SumOfSquares(request_.decoded));
    MOTLEY_RETURN_IF_ERROR(Coarse());
    AuditResult result;
    for (Expected& row : rows_) result.rows.push_back({std::move(row.declared), row.norms});
    residual_ = std::sqrt(SumOfSquares(request_.decoded));
    if (!answers_.shards.empty()) std::tie(residual_, decoded_norm) = OwnersResidual();
    result.decode_error = residual_ > 0 ? residual_ / std::max(residual_, decoded_norm) : 0;
    Judge(result);
    if (AllRight(result)) return result;
    MOTLEY_RETURN_IF_ERROR(Fine());
    Judge(result);
    return result;
  }

 private:
  // Groups partitions by their weights in the rows and in the decoded sum. It includes rows without
  // an answer, because their answers may still come late.
  void FormGroups() {
    std::vector<std::vector<std::pair<size_t, size_t>>> entries(form_.partitions);
    for (size_t row = 0; row < form_.rows.size(); ++row) {
      for (size_t e = 0; e < form_.rows[row].size(); ++e) {
        entries[form_.rows[row][e].partition].emplace_back(row, e);
      }
    }
    std::map<std::vector<double>, size_t> known;
    for (PartitionId p = 0; p < form_.partitions; ++p) {
      if (ranges_[p].count == 0) continue;
      const double coverage =
          request_.approximate == nullptr ? 1 : request_.approximate->coverage[p];
      std::vector<double> key = {coverage};
      for (const auto& [row, e] : entries[p]) {
        key.push_back(static_cast<double>(row));
        for (uint32_t part = 0; part < form_.parts; ++part) {
          const Complex b = form_.B(static_cast<RowId>(row), e, part);
          key.push_back(b.real());
          key.push_back(b.imag());
        }
      }
      if (coverage == 0 && entries[p].empty()) continue;
      const auto [at, fresh] = known.emplace(std::move(key), groups_.size());
      if (fresh) groups_.push_back({{}, std::move(entries[p]), coverage});
      std::vector<Group::Run>& runs = groups_[at->second].runs;
      if (!runs.empty() && runs.back().end == p) {
        runs.back().end = p + 1;
      } else {
        runs.push_back({p, p + 1});
      }
    }
    for (Expected& row : rows_) {
      row.sketches.assign(answers_.cut.count(), 0);
      row.declared.assign(answers_.cut.count(), 0);
    }
    sum_.sketches.assign(answers_.shards.size(), 0);
  }

  // Calls `take(samples)`, which returns a Status, for the group's samples, `most` at a time if the
  // gradient can be divided. Otherwise `fine` takes one partition at a time.
  template <typename Take>
  Status ForEachPiece(const Group& group, bool fine, Take take) {
    const size_t most = fine ? kFine : kCoarse;
    std::vector<uint32_t> rows;
    PartitionId begin = 0;
    PartitionId end = 0;
    const auto flush = [&](size_t count) -> Status {
      const std::span<const uint32_t> piece(rows.data(), count);
      MOTLEY_RETURN_IF_ERROR(
          take(JobGradient::Samples{answers_.step, answers_.step, begin, end, piece}));
      rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
      return Status::Ok();
    };
    for (const Group::Run& run : group.runs) {
      for (PartitionId p = run.begin; p < run.end; ++p) {
        if (ranges_[p].count == 0) continue;
        if (rows.empty()) begin = p;
        end = p + 1;
        batch_.AppendRows(ranges_[p].begin, ranges_[p].count, 0, rows);
        if (gradient_.divisible()) {
          while (rows.size() >= most) MOTLEY_RETURN_IF_ERROR(flush(most));
        } else if (fine) {
          MOTLEY_RETURN_IF_ERROR(flush(rows.size()));
        }
      }
      if (!gradient_.divisible() && !rows.empty()) MOTLEY_RETURN_IF_ERROR(flush(rows.size()));
    }
    return rows.empty() ? Status::Ok() : flush(rows.size());
  }

  Status Sum(const JobGradient::Samples& samples, std::span<const float> parameters,
             std::span<float> into, Tally& tally) {
    return gradient_.Sum(device_, samples, parameters, data_, cancelled_,
                         into.first(parameters.size()), tally);
  }

  // Forms every group's sum once for the expected answers, and subtracts it from the decoded sum.
  Status Coarse() {
    for (const Group& group : groups_) {
      std::fill(piece_.begin(), piece_.end(), 0.0F);
      Tally tally;
      double loss_scale = 0;
      MOTLEY_RETURN_IF_ERROR(ForEachPiece(group, false, [&](const JobGradient::Samples& samples) {
        Tally part;
        const Status summed = Sum(samples, *request_.parameters, piece_, part);
        tally.Add(1, part);
        loss_scale += std::abs(part.loss);
        return summed;
      }));
      const std::span<const float> values = piece_;
      AddWeighted(Field::kReal, -group.coverage, values.first(request_.decoded.size()),
                  request_.decoded);
      const double norm = std::sqrt(SumOfSquares(piece_));
      // Nothing is larger than infinity, so every answer would pass.
      if (!std::isfinite(norm + loss_scale)) {
        return Status::DataError("the server's own sum is not finite, unlike the answers");
      }
      sum_.scale += std::abs(group.coverage) * norm;
      AddSketches(group);
      for (const auto& [row, entry] : group.entries) {
        const double largest = Largest(row, entry);
        const Complex first = form_.B(static_cast<RowId>(row), entry, 0);
        rows_[row].norms += largest * norm;
        rows_[row].scale += largest * norm;
        rows_[row].tally.Add(first, tally);
        rows_[row].loss_scale += std::abs(first) * loss_scale;
        rows_[row].weight_scale += std::abs(first) * std::abs(tally.weight);
      }
    }
    return Status::Ok();
  }

  double Largest(size_t row, size_t entry) const {
    double largest = 0;
    for (uint32_t part = 0; part < form_.parts; ++part) {
      largest = std::max(largest, std::abs(form_.B(static_cast<RowId>(row), entry, part)));
    }
    return largest;
  }

  std::span<float> RangeOf(size_t shard) {
    if (answers_.ends.empty()) return piece_;
    const size_t begin = shard == 0 ? 0 : answers_.ends[shard - 1];
    return std::span(piece_).subspan(begin, answers_.ends[shard] - begin);
  }

  // Precondition: the group's sum is in piece_.
  void AddSketches(const Group& group) {
    const Slicing& cut = answers_.cut;
    const bool packed = form_.field == Field::kComplexPacked;
    for (size_t shard = 0; shard < answers_.shards.size(); ++shard) {
      const size_t begin = shard == 0 ? 0 : answers_.ends[shard - 1];
      const SignKey signs = SumSigns(answers_.SignsOf(shard), answers_.step, begin);
      sum_.sketches[shard] += group.coverage * SketchOf(RangeOf(shard), signs).projection;
    }
    for (size_t slice = 0; slice < cut.count(); ++slice) {
      const size_t begin = cut.begin(slice);
      // Each shard's range of the vector is cut into parts on its own.
      const size_t shard = cut.ShardOf(slice);
      const SignKey signs = SignsAt(answers_.SignsOf(shard), answers_.step, begin);
      const SignKey open = SignsAt(answers_.declared, answers_.step, begin);
      const std::span<float> range = RangeOf(shard);
      const size_t within = begin - cut.begin_of(shard);
      const size_t part_length = cut.end_of(shard) - cut.begin_of(shard);
      for (uint32_t part = 0; part < form_.parts; ++part) {
        const FloatRange in_part =
            InPart(within, within + cut.size(slice), part_length, part, range.size());
        if (in_part.size == 0) continue;
        const std::span<float> values = range.subspan(in_part.begin, in_part.size);
        const double plain = SketchOf(values, signs).projection;
        const double open_plain = SketchOf(values, open).projection;
        double turned = 0;  // The sketch of i times the values, which are pairs.
        double open_turned = 0;
        if (packed) {
          for (size_t t = 0; t + 1 < values.size(); t += 2) {
            const float re = values[t];
            values[t] = -values[t + 1];
            values[t + 1] = re;
          }
          turned = SketchOf(values, signs).projection;
          open_turned = SketchOf(values, open).projection;
        }
        for (const auto& [row, entry] : group.entries) {
          const Complex b = form_.B(static_cast<RowId>(row), entry, part);
          rows_[row].sketches[slice] += b.real() * plain + b.imag() * turned;
          rows_[row].declared[slice] += b.real() * open_plain + b.imag() * open_turned;
        }
      }
    }
  }

  // The part of an answer that one node has logged: worker, life, row, and the node.
  using PartKey = std::tuple<WorkerId, uint32_t, RowId, WorkerId>;
  PartKey KeyOf(const LoggedAnswer& answer) const {
    return {answer.worker, answer.life, answer.row, OwnerOf(answer.shard)};
  }
  WorkerId OwnerOf(uint32_t shard) const {
    return answers_.shards.empty() ? 0 : answers_.shards[shard].owner;
  }

  void Judge(AuditResult& result) {
    struct Part {
      double squares = 0;
      double of_zeros = 0;  // The squares for an answer of zeros.
    };
    std::map<PartKey, Part> parts;
    for (const LoggedAnswer& answer : answers_.answers) {
      const Expected& expected = rows_[answer.row];
      Part& part = parts[KeyOf(answer)];
      const size_t first = answers_.shards.empty() ? 0 : answers_.cut.first_slice(answer.shard);
      for (size_t i = 0; i < answer.sketches.size(); ++i) {
        if (std::isnan(answer.sketches[i])) continue;
        const double gap = answer.sketches[i] - expected.sketches[first + i];
        part.squares += gap * gap;
        part.of_zeros += expected.sketches[first + i] * expected.sketches[first + i];
      }
    }
    result.verdicts.clear();
    for (const LoggedAnswer& answer : answers_.answers) {
      const Expected& expected = rows_[answer.row];
      const Part& part = parts.at(KeyOf(answer));
      AuditResult::Verdict verdict = VerdictOf(std::sqrt(part.squares), answer.tally, expected);
      verdict.confirms = verdict.off == nullptr && std::sqrt(part.of_zeros) > Allowed(expected);
      result.verdicts.push_back(verdict);
    }
    JudgeSums(result);
  }

  double AllowedOfSum() const { return kDecodeTolerance * sum_.scale + sum_.excused; }

  double GapOfSum(size_t shard) const { return answers_.shards[shard].sum - sum_.sketches[shard]; }

  // The distance of the owners' sums from the server's own, and the norm of theirs, both as the
  // sketches show them.
  std::pair<double, double> OwnersResidual() const {
    double gaps = 0;
    double norms = 0;
    for (size_t shard = 0; shard < answers_.shards.size(); ++shard) {
      gaps += GapOfSum(shard) * GapOfSum(shard);
      norms += answers_.shards[shard].sum * answers_.shards[shard].sum;
    }
    return {std::sqrt(gaps), std::sqrt(norms)};
  }

  // Sums are judged if all answers are right. In one shard alone, a wrong answer may look right by
  // chance or be excused, and still spoil that shard's sum.
  void JudgeSums(AuditResult& result) {
    const std::vector<OwnedShard>& shards = answers_.shards;
    const bool all_right = std::none_of(result.verdicts.begin(), result.verdicts.end(),
                                        [](const auto& each) { return each.off != nullptr; });
    result.misdecoded = shards.empty() && all_right && residual_ > AllowedOfSum();
    result.misdecoded_by.clear();
    if (!all_right) return;
    std::map<WorkerId, double> squares;
    for (size_t shard = 0; shard < shards.size(); ++shard) {
      if (RangeOf(shard).size() < kLeastJudged) continue;
      squares[shards[shard].owner] += GapOfSum(shard) * GapOfSum(shard);
    }
    for (const auto& [owner, square] : squares) {
      if (std::sqrt(square) > AllowedOfSum()) result.misdecoded_by.push_back(owner);
    }
  }

  static bool AllRight(const AuditResult& result) {
    return !result.misdecoded && result.misdecoded_by.empty() &&
           std::none_of(result.verdicts.begin(), result.verdicts.end(),
                        [](const auto& verdict) { return verdict.off != nullptr; });
  }

  static double Allowed(const Expected& expected) {
    return kAuditTolerance * expected.scale + expected.excused;
  }

  static AuditResult::Verdict VerdictOf(double gap, const Tally& tally, const Expected& expected) {
    AuditResult::Verdict verdict;
    verdict.difference = gap > 0 ? gap / std::max(expected.norms, gap / kMost) : 0;
    const double loss = std::abs(tally.loss - expected.tally.loss);
    const double weight = std::abs(tally.weight - expected.tally.weight);
    if (gap > Allowed(expected)) {
      verdict.off = "gradient";
    } else if (weight > kAuditTolerance * expected.weight_scale) {
      verdict.off = "weight";
      verdict.difference = weight / std::max(expected.weight_scale, weight);
    } else if (loss > kLossTolerance * expected.loss_scale + kSampleLoss * expected.weight_scale) {
      verdict.off = "loss";
      verdict.difference = loss / std::max(expected.loss_scale, loss);
    }
    return verdict;
  }

  // Moves the parameters by a little more than rounding, each up or down as `draw` says.
  void Move(std::vector<float>& moved, float by, uint64_t draw) const {
    const std::vector<float>& from = *request_.parameters;
    const SignKey signs = SignsAt(answers_.signs, answers_.step, draw);
    for (size_t i = 0; i < from.size(); ++i) {
      moved[i] = from[i] * (SignOf(signs, i) != 0 ? 1 - by : 1 + by);
    }
  }

  // Returns the change that moved parameters make in the sum over a few samples, which is in
  // piece_. The first difference shows rounding in a gradient of which nothing else is left. The
  // second difference cancels what is smooth. It shows only units that are on at one side and off
  // at the other, even those a little further from that point.
  Result<double> Change(JobGradient::Samples samples, std::vector<float>& moved) {
    // The decoded sum's buffer; its norm is known already.
    std::vector<float>& other = request_.decoded;
    double change = 0;
    uint64_t draw = 1;  // No slice begins at an odd place.
    const auto add = [&](double by) {
      Tally ignored;
      Move(moved, static_cast<float>(by), draw);
      samples.version = kMovedVersions + samples.step * kMostDraws + 2 * draw + (by > 0 ? 1 : 0);
      return Sum(samples, moved, other, ignored);
    };
    const auto left = [&](float times) {
      for (size_t i = 0; i < other.size(); ++i) other[i] -= times * piece_[i];
      const double norm = std::sqrt(SumOfSquares(other));
      std::fill(other.begin(), other.end(), 0.0F);
      return norm;
    };
    std::fill(other.begin(), other.end(), 0.0F);
    for (const double by : {kMove, -kMove}) {
      MOTLEY_RETURN_IF_ERROR(add(by));
      change += left(1);
    }
    for (draw = 3; draw < 3 + 2 * kKinkDraws; draw += 2) {
      for (const double by : {kKinkMove, -kKinkMove}) MOTLEY_RETURN_IF_ERROR(add(by));
      change += left(2);
    }
    return change;
  }

  // Sums every group again, a few samples at a time, for the norms of these pieces and the changes
  // that moved parameters make.
  Status Fine() {
    std::vector<float> moved(request_.parameters->size());
    if (request_.decoded.empty()) request_.decoded.resize(moved.size());
    for (Expected& row : rows_) row.scale = 0;
    sum_.scale = 0;
    for (const Group& group : groups_) {
      double norm = 0;
      double change = 0;
      const Status summed =
          ForEachPiece(group, true, [&](const JobGradient::Samples& samples) -> Status {
            Tally ignored;
            std::fill(piece_.begin(), piece_.end(), 0.0F);
            MOTLEY_RETURN_IF_ERROR(Sum(samples, *request_.parameters, piece_, ignored));
            norm += std::sqrt(SumOfSquares(piece_));
            MOTLEY_ASSIGN_OR_RETURN(const double more, Change(samples, moved));
            change += more;
            return Status::Ok();
          });
      MOTLEY_RETURN_IF_ERROR(summed);
      sum_.scale += std::abs(group.coverage) * norm;
      sum_.excused += std::abs(group.coverage) * kExcused * change;
      for (const auto& [row, entry] : group.entries) {
        rows_[row].scale += Largest(row, entry) * norm;
        rows_[row].excused += Largest(row, entry) * kExcused * change;
      }
    }
    return Status::Ok();
  }

  Device& device_;
  JobGradient& gradient_;
  const DataSource& data_;
  AuditRequest request_;
  const StepAnswers& answers_;
  const CodeForm& form_;
  const std::atomic<bool>& cancelled_;
  const StepBatch batch_;
  const std::vector<BatchSchedule::Range> ranges_;
  std::vector<Group> groups_;
  std::vector<Expected> rows_;  // One for each row of the form.
  // The decoded sum's scale and what is excused, and a sketch for each shard of other nodes.
  Expected sum_;
  double residual_ = 0;  // The distance of the decoded sum from the server's own.
  std::vector<float> piece_;
};

}  // namespace

bool AuditResult::Agrees(const LateSlice& late) const {
  if (late.row >= rows.size() || late.slice >= rows[late.row].declared.size()) return false;
  const double expected = rows[late.row].declared[late.slice];
  const double allowed = kAuditTolerance * rows[late.row].norms;
  return std::abs(expected) > allowed && std::abs(expected - late.declared) <= allowed;
}

Result<AuditResult> Audit(Device& device, JobGradient& gradient, const DataSource& data,
                          const BatchSchedule& schedule, AuditRequest request,
                          const std::atomic<bool>& cancelled) {
  return Comparison(device, gradient, data, schedule, std::move(request), cancelled).Run();
}

}  // namespace motley
