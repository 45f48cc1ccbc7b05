// SPDX-License-Identifier: Apache-2.0
// Random partial gradients and the answers that workers would send, for tests of codes.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.h"
#include "coding/code_form.h"
#include "coding/decode/decoder.h"
#include "coding/decode/part_sums.h"
#include "coding/gradient_code.h"
#include "coding/kernels/combine.h"

namespace motley {

struct CodedJob {
  std::vector<std::vector<float>> gradients;  // g_1, ..., g_k.
  std::vector<std::vector<float>> answers;    // y_1, ..., y_n, computed in float like a worker's.
  std::vector<double> sum;                    // g, in double.
};

// Computes the answers of all workers.
inline void Encode(const CodeForm& form, CodedJob& job) {
  const auto parallel = MakeSerialParallelFor();
  std::vector<Complex> weights(form.parts);
  const size_t length = job.gradients.front().size();
  job.answers.clear();
  for (RowId row = 0; row < form.workers; ++row) {
    std::vector<float> answer(PartLength(form.field, length, form.parts), 0);
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      for (uint32_t part = 0; part < form.parts; ++part) weights[part] = form.B(row, e, part);
      AddParts(form.field, weights, job.gradients[form.rows[row][e].partition], answer, *parallel);
    }
    job.answers.push_back(std::move(answer));
  }
}

inline CodedJob MakeJob(const CodeForm& form, size_t length, uint64_t seed) {
  Random random(seed, Stream::kTest, form.workers, form.stragglers);
  CodedJob job;
  job.sum.assign(length, 0);
  for (uint32_t j = 0; j < form.partitions; ++j) {
    std::vector<float> gradient(length);
    for (size_t t = 0; t < length; ++t) {
      gradient[t] = static_cast<float>(random.Normal());
      job.sum[t] += gradient[t];
    }
    job.gradients.push_back(std::move(gradient));
  }
  Encode(form, job);
  return job;
}

inline double RelativeError(const std::vector<float>& value, const std::vector<double>& wanted) {
  double difference = 0;
  double size = 0;
  for (size_t t = 0; t < wanted.size(); ++t) {
    difference += (value[t] - wanted[t]) * (value[t] - wanted[t]);
    size += wanted[t] * wanted[t];
  }
  return std::sqrt(difference / size);
}

// sum_i a_i y_i in float, part by part.
inline std::vector<float> Decode(const CodeForm& form, const CodedJob& job,
                                 const std::vector<Complex>& a) {
  std::vector<float> sum(job.sum.size(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == Complex(0)) continue;
    const std::vector<float>& answer = job.answers[i / form.parts];
    const FloatRange to = InPart(0, answer.size(), answer.size(), i % form.parts, sum.size());
    AddWeighted(form.field, a[i], std::span(answer).first(to.size),
                std::span(sum).subspan(to.begin, to.size));
  }
  return sum;
}

inline std::vector<bool> Without(const CodeForm& form, const std::vector<WorkerId>& missing) {
  std::vector<bool> present(form.workers, true);
  for (WorkerId worker : missing) present[worker] = false;
  return present;
}

inline CodeRequest EqualRequest(uint32_t n, uint32_t s, uint32_t k) {
  return {std::vector<double>(n, 1.0), s, k, 1};
}

// Speeds that differ by up to 10 times.
inline CodeRequest UnequalRequest(uint32_t n, uint32_t s, uint32_t k, uint64_t seed) {
  Random random(seed, Stream::kTest, n, s);
  CodeRequest request{{}, s, k, seed};
  for (uint32_t i = 0; i < n; ++i) request.speeds.push_back(std::pow(10.0, random.NextDouble()));
  return request;
}

inline CodeForm MustBuild(std::string_view name, const CodeRequest& request) {
  Result<CodeForm> form = BuildCode(name, request);
  return std::move(form).value();
}

}  // namespace motley
