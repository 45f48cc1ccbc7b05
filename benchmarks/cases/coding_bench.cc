// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/coding_bench.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "base/aligned_memory.h"
#include "base/random.h"
#include "benchmarks/cases/bandwidth.h"
#include "coding/decode/stream_decoder.h"
#include "coding/gradient_code.h"
#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kSlice = size_t{1} << 18;
constexpr double kFloat = sizeof(float);

std::vector<float> RandomVector(size_t length, uint64_t stream) {
  Random random(1, Stream::kTest, stream);
  std::vector<float> values(length);
  for (float& value : values) value = static_cast<float>(2 * random.NextDouble() - 1);
  return values;
}

struct Case {
  const char* code;
  uint32_t workers;
  uint32_t stragglers;
  uint32_t parts = 1;

  std::string Name(size_t length) const {
    const std::string cut = parts > 1 ? fmt::format(" m={}", parts) : std::string();
    return fmt::format("{} n={} s={}{}, {:.3g} MB each", code, workers, stragglers, cut,
                       static_cast<double>(length / parts) * kFloat * 1e-6);
  }
};

Result<CodeForm> Build(const Case& which) {
  CodeRequest request;
  request.speeds.assign(which.workers, 1);
  request.stragglers = which.stragglers;
  request.partitions = which.workers;
  request.parts = which.parts;
  return BuildCode(which.code, request);
}

// Decodes vectors that workers send, one after the other. Slices come from a pool that is larger
// than any cache. The decoder does the same with them as with real answers of a code.
class Decoding {
 public:
  Decoding(const CodeForm& form, uint32_t stragglers, size_t length, ParallelFor& parallel)
      : form_(form),
        skipped_(form.tiling() ? 0 : stragglers),
        sum_(length),
        decoder_(form, length, kSlice, parallel) {
    const size_t slices = std::min<size_t>(kPool, form.workers * decoder_.slice_count());
    for (size_t i = 0; i < slices; ++i) {
      const std::vector<float> random = RandomVector(kSlice, i);
      pool_.emplace_back(random.begin(), random.end());
      claims_.push_back({.norm_limit = kNoLimit,
                         .has_projection = true,
                         .projection = SketchOf(pool_.back(), SignKeyOf(i)).projection,
                         .key = SignKeyOf(i)});
    }
    decoder_.SetHome(sum_);
  }

  // Adds all vectors except those of the first rows, in order. So answers that wait for their turn
  // find it. `between` runs after each vector.
  Status Run(const std::function<void()>& between) {
    decoder_.Reset(form_);
    counted_ = 0;
    double rest = 0;
    for (RowId row = skipped_; row < form_.workers; ++row) {
      const size_t before = counted_;
      Status status;
      const double seconds = SecondsOf([&] { status = AddRow(row); });
      MOTLEY_RETURN_IF_ERROR(status);
      if (counted_ == before) {
        rest += seconds;
      } else {
        (before == 0 ? first_ : decoder_.Decodable() ? last_ : others_).push_back(seconds);
      }
      between();
    }
    if (!decoder_.Decodable()) return Status::Internal("not decodable");
    Status status;
    rest += SecondsOf([&] { status = decoder_.Finish(sum_); });
    rest_.push_back(rest);
    return status;
  }

  // From the lower quartiles of its parts, each as long as one pass of the baseline's loops.
  double Seconds() const {
    const double others =
        vectors() > 2 ? static_cast<double>(vectors() - 2) * Quartile(others_) : 0;
    return Quartile(first_) + others + Quartile(last_) + Quartile(rest_);
  }

  // Number of sums that a slice is added to, for the mixed loops.
  size_t sums_per_slice() const {
    if (form_.tiling()) return 1;
    size_t sums = 0;
    for (uint32_t r = 0; r < form_.accumulators; ++r) {
      sums += form_.C(r, form_.workers - 1) != Complex(0) ? 1 : 0;
    }
    return sums;
  }
  size_t vectors() const { return counted_ / decoder_.slice_count(); }  // Vectors that were added.
  bool packed() const { return form_.field == Field::kComplexPacked; }

  // Passes of the last Run. The first vectors only write sums. Unless sums are the result, the last
  // vector is not added; it makes the result together with the sums.
  MixedLoops::Passes Passes() const {
    const size_t closing = form_.tiling() ? 0 : 1;
    return {.adding = vectors() - Writing() - closing, .writing = Writing(), .closing = closing};
  }

  // Compares the sum with decoding vector times vectors, in double, part by part.
  Result<double> Error() {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<Complex> all, Vector());
    double difference = 0;
    double size = 0;
    std::vector<float> wanted;
    std::vector<Complex> a(form_.workers);
    for (size_t at = 0; at < decoder_.slice_count() * form_.parts; ++at) {
      const size_t slice = at / form_.parts;
      const size_t part = at % form_.parts;
      std::vector<const float*> terms;
      for (RowId row = 0; row < form_.workers; ++row) {
        terms.push_back(Slice(row, slice).data());
        a[row] = all[row * form_.parts + part];
      }
      wanted.resize(decoder_.slice_length(slice));
      reference::WeightedSum(form_.field, a, terms, wanted);
      const float* got =
          sum_.data() + part * decoder_.answer_length() + decoder_.slice_begin(slice);
      for (size_t i = 0; i < wanted.size(); ++i) {
        difference += (double{got[i]} - wanted[i]) * (double{got[i]} - wanted[i]);
        size += double{wanted[i]} * wanted[i];
      }
    }
    return std::sqrt(difference / size);
  }

 private:
  // Vectors that are first in all their sums: one, or one for each class of copies.
  size_t Writing() const {
    if (form_.tiling()) return 1;
    std::vector<bool> begun(form_.accumulators, false);
    size_t writing = 0;
    for (RowId row = skipped_; row < form_.workers; ++row) {
      bool first = true;
      for (uint32_t r = 0; r < form_.accumulators; ++r) {
        if (form_.C(r, row) == Complex(0)) continue;
        first &= !begun[r];
        begun[r] = true;
      }
      writing += first ? 1 : 0;
    }
    return writing;
  }

  static constexpr size_t kPool = 256;
  static constexpr double kNoLimit = 1e9;

  // Rows are far apart in the pool, so that nothing is still in a cache when it is used again.
  size_t InPool(RowId row, size_t slice) const { return (slice + row * 97) % pool_.size(); }
  AlignedVector& Slice(RowId row, size_t slice) {
    AlignedVector& values = pool_[InPool(row, slice)];
    MOTLEY_ASSERT(values.size() == decoder_.slice_length(slice));
    return values;
  }

  Status AddRow(RowId row) {
    for (size_t slice = 0; slice < decoder_.slice_count(); ++slice) {
      const Claim& claim = claims_[InPool(row, slice)];
      const auto outcome = decoder_.AddSlice(row, slice, Slice(row, slice), claim);
      if (!outcome.ok()) return outcome.status();
      counted_ += *outcome == StreamDecoder::Outcome::kAdded ? 1 : 0;
    }
    return Status::Ok();
  }

  std::vector<bool> Present() const {
    std::vector<bool> present(form_.workers, true);
    std::fill_n(present.begin(), skipped_, false);
    return present;
  }

  // The decoding vector: the decoder takes the first class or cover that is complete.
  Result<std::vector<Complex>> Vector() const {
    if (form_.tiling()) {
      MOTLEY_ASSIGN_OR_RETURN(const DecodingVector solved, Solve(form_, Present()));
      return solved.a;
    }
    std::vector<bool> present = Present();
    for (RowId last = form_.workers - 1; last > 0; --last) {
      std::vector<bool> fewer = present;
      fewer[last] = false;
      if (!SolveClosed(form_, fewer).ok()) break;
      present = fewer;
    }
    MOTLEY_ASSIGN_OR_RETURN(const DecodingVector solved, SolveClosed(form_, present));
    return solved.a;
  }

  const CodeForm& form_;
  const RowId skipped_;
  std::vector<AlignedVector> pool_;
  std::vector<Claim> claims_;  // Declared norms and sketches of the pool's slices.
  AlignedVector sum_;
  StreamDecoder decoder_;
  size_t counted_ = 0;  // Slices that were added.
  // Seconds of each Run: the first vector, each other one, the last, and the rest.
  std::vector<double> first_;
  std::vector<double> others_;
  std::vector<double> last_;  // The last vector, with which slices decode.
  std::vector<double> rest_;
};

size_t Rounds(const BenchOptions& options) { return options.full ? 4 : 1; }

Result<BenchLine> DecodeLine(const BenchOptions& options, const Case& which, size_t length) {
  MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, Build(which));
  const auto parallel = MakeTbbParallelFor(options.threads);
  Decoding decoding(form, which.stragglers, length, *parallel);
  MOTLEY_RETURN_IF_ERROR(decoding.Run([] {}));
  MOTLEY_ASSIGN_OR_RETURN(const double error, decoding.Error());
  if (!(error <= 1e-5)) {
    return Status::Internal(fmt::format("{} is off by {:.2g}", which.code, error));
  }
  MixedLoops loops(
      {length / which.parts, decoding.sums_per_slice(), decoding.packed(), which.parts},
      options.threads);
  for (size_t round = 0; round < Rounds(options); ++round) {
    MOTLEY_RETURN_IF_ERROR(decoding.Run([&] { loops.Run(); }));
  }
  const MixedLoops::Passes passes = decoding.Passes();
  return BenchLine{which.Name(length), "GB/s", loops.BytesOf(passes) / decoding.Seconds() * 1e-9,
                   "memory, same mix of reads and writes", loops.BytesPerSecond(passes) * 1e-9};
}

// A weighted sum, compared with plain axpy loops for each of its terms.
Result<BenchLine> EncodeLine(const BenchOptions& options, Field field, size_t term_count,
                             size_t length) {
  std::vector<std::vector<float>> vectors;
  std::vector<const float*> terms;
  std::vector<Complex> weights;
  for (size_t r = 0; r < term_count; ++r) {
    vectors.push_back(RandomVector(length, r));
    weights.emplace_back(0.3 + static_cast<double>(r), field == Field::kReal ? 0 : 0.7);
  }
  for (const auto& vector : vectors) terms.push_back(vector.data());
  std::vector<float> sum(length);
  const auto parallel = MakeTbbParallelFor(options.threads);
  // A single term is added to the sum; several are summed at once.
  const auto run = [&] {
    parallel->For(length, size_t{1} << 16, [&](size_t begin, size_t end) {
      const std::span<float> part(sum.data() + begin, end - begin);
      if (term_count == 1) {
        return AddWeighted(field, weights[0], {terms[0] + begin, end - begin}, part);
      }
      std::vector<const float*> parts;
      for (const float* term : terms) parts.push_back(term + begin);
      WeightedSum(field, weights, parts, part);
    });
  };
  run();
  std::vector<float> wanted(length);
  reference::WeightedSum(field, weights, terms, wanted);
  for (size_t t = 0; t < length; ++t) {
    if (!(std::abs(sum[t] - wanted[t]) <= 1e-4)) return Status::Internal("a wrong weighted sum");
  }
  MixedLoops loops({length}, options.threads);
  std::vector<double> seconds;
  for (size_t round = 0; round < 5 * Rounds(options); ++round) {
    loops.Run();
    seconds.push_back(SecondsOf(run));
  }
  const double bytes = static_cast<double>(term_count * length) * kFloat * 3;
  return BenchLine{fmt::format("{} of {} x {:.3g} MB", field == Field::kReal ? "real" : "packed",
                               term_count, static_cast<double>(length) * kFloat * 1e-6),
                   "GB/s as axpy", bytes / Quartile(seconds) * 1e-9, "plain axpy loops",
                   loops.BytesPerSecond({}) * 1e-9};
}

}  // namespace

Result<std::vector<BenchLine>> BenchStreamDecode(const BenchOptions& options) {
  const size_t length = (options.full ? 96 : 2) * kSlice;  // Whole slices.
  std::vector<BenchLine> lines;
  for (const Case& which : {Case{"none", 8, 0}, Case{"repetition", 8, 1}, Case{"repetition", 32, 2},
                            Case{"cyclic", 8, 1}, Case{"heterogeneous", 32, 2}, Case{"rs", 8, 1},
                            Case{"rs", 32, 2}, Case{"short", 8, 1, 2}, Case{"short", 32, 2, 2}}) {
    MOTLEY_ASSIGN_OR_RETURN(BenchLine line, DecodeLine(options, which, length));
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::vector<BenchLine>> BenchEncode(const BenchOptions& options) {
  const size_t length = options.full ? 25'000'000 : 100'000;
  std::vector<BenchLine> lines;
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t terms : {1, 4}) {
      MOTLEY_ASSIGN_OR_RETURN(BenchLine line, EncodeLine(options, field, terms, length));
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Result<std::vector<BenchLine>> BenchDecodingVector(const BenchOptions& options) {
  constexpr double kLimit = 50e-6;
  std::vector<BenchLine> lines;
  const Case large = options.full ? Case{"rs", 256, 15} : Case{"rs", 64, 6};
  for (const Case& which : {Case{"rs", 16, 2}, large}) {
    const uint32_t n = which.workers;
    MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, Build(which));
    std::vector<bool> present(n, true);
    for (uint32_t i = 0; i < which.stragglers; ++i) present[i * n / which.stragglers] = false;
    const DecodeLimits limits{.tolerance = 1e-2};
    MOTLEY_ASSIGN_OR_RETURN(const DecodingVector closed, SolveClosed(form, present, limits));
    const double residual = DecodingResidual(form, closed.a);
    if (!(residual <= 1e-6)) return Status::Internal(fmt::format("residual {:.2g}", residual));
    const double seconds =
        MedianSeconds(options, [&] { (void)SolveClosed(form, present, limits); });
    const double general =
        MedianSeconds(options, [&] { (void)SolveGeneral(form, present, limits); });
    const std::string what =
        fmt::format("rs n={} s={}, residual {:.0e}", n, which.stragglers, residual);
    lines.push_back({what, "1/s", 1 / seconds, "one in 0.05 ms", 1 / kLimit});
    lines.push_back({what, "1/s", 1 / seconds, "general least squares", 1 / general});
  }
  return lines;
}

}  // namespace motley
