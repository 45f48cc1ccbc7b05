// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/coding_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/random.h"
#include "coding/combine.h"
#include "coding/gradient_code.h"
#include "coding/stream_decoder.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kSlice = size_t{1} << 18;

std::vector<float> RandomVector(size_t length, uint64_t stream) {
  Random random(1, Stream::kTest, stream);
  std::vector<float> values(length);
  for (float& value : values) value = static_cast<float>(2 * random.NextDouble() - 1);
  return values;
}

// What every worker of a code would send for random partial gradients, and their sum.
struct Answers {
  std::vector<std::vector<std::vector<float>>> slices;  // By row.
  std::vector<double> norms;                            // By row.
  std::vector<float> sum;
};

Answers MakeAnswers(const CodeForm& form, size_t length) {
  std::vector<std::vector<float>> partial;
  for (PartitionId p = 0; p < form.partitions; ++p) partial.push_back(RandomVector(length, p));
  Answers answers;
  answers.sum.assign(length, 0);
  for (const auto& values : partial) AddWeighted(Field::kReal, 1, values, answers.sum);
  for (const auto& row : form.rows) {
    std::vector<float> vector(length, 0);
    for (const CodeEntry& entry : row) {
      AddWeighted(form.field, entry.coefficient, partial[entry.partition], vector);
    }
    answers.norms.push_back(std::sqrt(SumOfSquares(vector)) * (1 + 1e-5));
    std::vector<std::vector<float>> slices;
    for (size_t begin = 0; begin < length; begin += kSlice) {
      const size_t end = std::min(length, begin + kSlice);
      slices.emplace_back(vector.begin() + static_cast<ptrdiff_t>(begin),
                          vector.begin() + static_cast<ptrdiff_t>(end));
    }
    answers.slices.push_back(std::move(slices));
  }
  return answers;
}

// Decodes one step with row 0 missing. The code is in C-form, so that slices are left as they are.
Status DecodeOnce(StreamDecoder& decoder, const CodeForm& form, Answers& answers,
                  std::vector<float>& sum) {
  decoder.Reset(form);
  for (RowId row = 1; row < form.workers; ++row) {
    for (size_t slice = 0; slice < answers.slices[row].size(); ++slice) {
      const auto outcome =
          decoder.AddSlice(row, slice, answers.slices[row][slice], answers.norms[row]);
      if (!outcome.ok()) return outcome.status();
    }
  }
  if (!decoder.Decodable()) return Status::Internal("not decodable with one row missing");
  return decoder.Finish(sum);
}

double RelativeError(std::span<const float> got, std::span<const float> wanted) {
  double difference = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (double{got[i]} - wanted[i]) * (double{got[i]} - wanted[i]);
  }
  return std::sqrt(difference / SumOfSquares(wanted));
}

Result<BenchLine> DecodeLine(const BenchOptions& options, const char* code, size_t length) {
  CodeRequest request;
  request.speeds.assign(8, 1);
  request.stragglers = 1;
  request.partitions = 8;
  MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, BuildCode(code, request));
  Answers answers = MakeAnswers(form, length);
  const auto parallel = MakeTbbParallelFor(options.threads);
  StreamDecoder decoder(form, length, kSlice, *parallel);
  std::vector<float> sum(length);
  MOTLEY_RETURN_IF_ERROR(DecodeOnce(decoder, form, answers, sum));
  const double error = RelativeError(sum, answers.sum);
  if (!(error <= 1e-5)) return Status::Internal(fmt::format("{} is off by {:.2g}", code, error));

  const double bytes = static_cast<double>((form.workers - 1) * length * sizeof(float));
  const double seconds =
      MedianSeconds(options, [&] { (void)DecodeOnce(decoder, form, answers, sum); });
  const double copy_seconds = MedianSeconds(options, [&] {
    for (RowId row = 1; row < form.workers; ++row) {
      float* to = sum.data();
      for (const auto& slice : answers.slices[row]) {
        std::memcpy(to, slice.data(), slice.size() * sizeof(float));
        to += slice.size();
      }
    }
  });
  return BenchLine{fmt::format("{} n=8 s=1, {:.1f} MB each", code, length * 4e-6), "GB/s",
                   bytes / seconds * 1e-9, "memcpy of the answers", bytes / copy_seconds * 1e-9};
}

}  // namespace

Result<std::vector<BenchLine>> BenchStreamDecode(const BenchOptions& options) {
  const size_t length = options.full ? size_t{6} << 20 : size_t{1} << 18;
  std::vector<BenchLine> lines;
  for (const char* code : {"cyclic", "rs"}) {
    MOTLEY_ASSIGN_OR_RETURN(BenchLine line, DecodeLine(options, code, length));
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<std::vector<BenchLine>> BenchDecodingVector(const BenchOptions& options) {
  const uint32_t n = options.full ? 64 : 16;
  const uint32_t s = options.full ? 6 : 2;
  CodeRequest request;
  request.speeds.assign(n, 1);
  request.stragglers = s;
  request.partitions = n;
  MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, BuildCode("rs", request));
  std::vector<bool> present(n, true);
  for (uint32_t i = 0; i < s; ++i) present[i * n / s] = false;
  MOTLEY_ASSIGN_OR_RETURN(const DecodingVector closed, SolveClosed(form, present));
  const double residual = DecodingResidual(form, closed.a);
  if (!(residual <= 1e-6)) return Status::Internal(fmt::format("residual {:.2g}", residual));
  const double seconds = MedianSeconds(options, [&] { (void)SolveClosed(form, present); });
  const double general = MedianSeconds(options, [&] { (void)SolveGeneral(form, present); });
  return std::vector<BenchLine>{{fmt::format("rs n={} s={}", n, s), "1/s", 1 / seconds,
                                 "general least squares", 1 / general}};
}

}  // namespace motley
