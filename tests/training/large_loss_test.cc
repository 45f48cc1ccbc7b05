// SPDX-License-Identifier: Apache-2.0
// A loss of any size does not disturb gradient and weight, from the trainer to the decoded sum.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coding/codes/partial_rows.h"
#include "coding/decode/part_sums.h"
#include "coding/decode/stream_decoder.h"
#include "coding/gradient_code.h"
#include "tests/training/test_data.h"
#include "training/trainers/callback_trainer.h"

namespace motley {
namespace {

constexpr size_t kParameters = 7;  // Odd, so the last parameter has no partner.
constexpr size_t kSlice = 4;
constexpr uint32_t kPartitions = 12;
constexpr uint32_t kSamples = 5 * kPartitions;

// The last gradient is the smallest.
double GradientOf(uint64_t sample, size_t parameter) {
  const double size = 1.0 + 0.125 * static_cast<double>((sample * 31 + parameter * 7) % 8);
  return parameter + 1 < kParameters ? 4 * size : size;
}
double LossOf(uint64_t sample) { return 1e10 * (1 + static_cast<double>(sample % 3)); }
double WeightOf(uint64_t sample) { return static_cast<double>(1 + sample % 5); }

struct Answer {
  std::vector<float> values;
  Tally tally;
};

struct Case {
  const char* code;
  uint32_t workers;
  uint32_t stragglers;
  uint32_t parts = 1;
};

std::string Describe(const Case& which) {
  return std::string(which.code) + " n=" + std::to_string(which.workers) +
         " s=" + std::to_string(which.stragglers) + " m=" + std::to_string(which.parts);
}

std::shared_ptr<const CodeForm> Build(const Case& which, bool unequal) {
  CodeRequest request;
  request.speeds.assign(which.workers, 1);
  if (unequal) request.speeds.back() = 2;
  request.stragglers = which.stragglers;
  request.partitions = kPartitions;
  request.parts = which.parts;
  auto form = BuildCode(which.code, request);
  EXPECT_TRUE(form.ok()) << Describe(which) << ": " << form.status().ToString();
  return form.ok() ? std::make_shared<const CodeForm>(*std::move(form)) : nullptr;
}

class LargeLoss : public testing::Test {
 protected:
  LargeLoss() {
    for (PartitionId p = 0; p < kPartitions; ++p) {
      store_[p] = std::make_shared<MemorySource>(Dataset());
    }
    foreign_->parameter_count = kParameters;
    foreign_->accumulate = [](const ForeignWork& work) {
      *work.weight = 0;
      for (const uint64_t sample : work.samples) {
        for (size_t i = 0; i < kParameters; ++i) {
          work.sum[i] += static_cast<float>(work.coefficient * GradientOf(sample, i));
        }
        *work.loss += work.coefficient * LossOf(sample);
        *work.weight += WeightOf(sample);
      }
      return Status::Ok();
    };
    trainer_ = MakeCallbackTrainer(rig_.loop, *rig_.device, foreign_, {}, store_, schedule_);
  }

  // The answer of each row.
  std::vector<Answer> Answers(const CodeForm& form) {
    std::vector<Answer> answers(form.workers);
    for (RowId row = 0; row < form.workers; ++row) {
      std::vector<PartitionTerm> terms;
      for (size_t e = 0; e < form.rows[row].size(); ++e) {
        const PartitionId p = form.rows[row][e].partition;
        terms.push_back({p, p + 1, form.rows[row][e].coefficient, {}});
        for (uint32_t u = 1; u < form.parts; ++u) {
          terms.back().other_parts.push_back(form.B(row, e, u));
        }
      }
      answers[row] = Compute(terms, form.parts);
    }
    return answers;
  }

  Answer Compute(const std::vector<PartitionTerm>& terms, uint32_t parts) {
    Answer answer;
    const size_t length = VectorLength(kParameters);
    answer.values.assign(PartLength(Field::kComplexPacked, length, parts), 0);
    if (terms.empty()) return answer;
    GradientWork work{
        .parameters = parameters_, .terms = terms, .sum = answer.values, .parts = parts};
    trainer_->Accumulate(std::move(work), nullptr, [&](const Result<Trainer::Outcome>& outcome) {
      ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
      answer.tally = outcome->tally;
    });
    rig_.loop.RunUntil([] { return false; });
    return answer;
  }

  void Add(StreamDecoder& decoder, RowId row, const Answer& answer) {
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      const float* const from = answer.values.data() + decoder.slice_begin(slice);
      AlignedVector values(from, from + decoder.slice_length(slice));
      const auto outcome = decoder.AddSlice(row, slice, values, Claim(), answer.tally);
      ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    }
  }

  // Decodes without the rows in the bit set `missing`, and compares with the direct sum.
  void ExpectExact(const CodeForm& form, const std::vector<Answer>& answers, uint32_t missing) {
    StreamDecoder decoder(form, VectorLength(kParameters), kSlice, *parallel_);
    for (RowId row = 0; row < form.workers; ++row) {
      if ((missing >> row & 1) == 0 && !form.rows[row].empty()) Add(decoder, row, answers[row]);
    }
    std::vector<float> sum(VectorLength(kParameters));
    const Status finished = decoder.Finish(sum);
    ASSERT_TRUE(finished.ok()) << finished.ToString();
    std::vector<double> gradient(kParameters, 0);
    double loss = 0, weight = 0;
    for (uint64_t sample = 0; sample < kSamples; ++sample) {
      for (size_t i = 0; i < kParameters; ++i) gradient[i] += GradientOf(sample, i);
      loss += LossOf(sample);
      weight += WeightOf(sample);
    }
    for (size_t i = 0; i < kParameters; ++i) {
      EXPECT_NEAR(sum[i], gradient[i], 1e-4 * gradient[i]) << "parameter " << i;
    }
    EXPECT_NEAR(decoder.tally().loss.real(), loss, 1e-9 * loss);
    EXPECT_NEAR(decoder.tally().weight.real(), weight, 1e-9 * weight);
  }

  TestRig rig_;
  BatchSchedule schedule_{7, std::vector<uint32_t>(kPartitions, kSamples / kPartitions), kSamples};
  PartitionStore store_;
  std::vector<float> parameters_ = std::vector<float>(kParameters);
  std::shared_ptr<ForeignTrainer> foreign_ = std::make_shared<ForeignTrainer>();
  std::unique_ptr<Trainer> trainer_;
  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
};

TEST_F(LargeLoss, ChangesNothingUnderAnyCodeAndAnyStragglers) {
  for (const Case& which :
       {Case{"none", 5, 0}, Case{"repetition", 6, 2}, Case{"graph", 6, 1}, Case{"cyclic", 5, 1},
        Case{"cyclic", 6, 2}, Case{"heterogeneous", 5, 1}, Case{"heterogeneous", 7, 2},
        Case{"rs", 5, 1}, Case{"rs", 6, 2}, Case{"group", 5, 1}, Case{"group", 7, 2},
        Case{"short", 5, 1, 2}, Case{"short", 6, 2, 2}, Case{"short", 6, 1, 3}}) {
    for (const bool unequal : {false, true}) {
      const auto form = Build(which, unequal);
      ASSERT_NE(form, nullptr);
      const std::vector<Answer> answers = Answers(*form);
      for (uint32_t missing = 0; missing < 1u << form->workers; ++missing) {
        if (static_cast<uint32_t>(std::popcount(missing)) > form->stragglers) continue;
        SCOPED_TRACE(Describe(which) + ", without " + std::to_string(missing));
        ExpectExact(*form, answers, missing);
      }
    }
  }
}

TEST_F(LargeLoss, ChangesNothingWhereAnswersArePutTogetherFromKeptRows) {
  for (const Case& which : {Case{"partial-coded", 5, 1, 2}, Case{"partial-coded", 6, 1, 3},
                            Case{"partial-coded", 6, 2, 2}}) {
    const auto kept = Build(which, false);
    ASSERT_NE(kept, nullptr);
    for (uint32_t missing = 0; missing < 1u << which.workers; ++missing) {
      if (static_cast<uint32_t>(std::popcount(missing)) > which.stragglers) continue;
      SCOPED_TRACE(Describe(which) + ", without " + std::to_string(missing));
      PartialRows rows;
      rows.Open(kept);
      std::vector<bool> awake;
      for (WorkerId worker = 0; worker < which.workers; ++worker) {
        awake.push_back((missing >> worker & 1) == 0);
        if (!awake.back()) continue;
        for (const RowId row : kept->lists[worker]) rows.Done(worker, row);
      }
      const auto form = rows.Answers(awake);
      ASSERT_TRUE(form.ok()) << form.status().ToString();
      ExpectExact(*form, Answers(*form), 0);
    }
  }
}

// The weights of the rows that arrived differ from those of an exact sum.
TEST_F(LargeLoss, OfAnApproximateSumIsThatOfWhatItCovers) {
  for (const char* code : {"repetition", "graph", "cyclic"}) {
    const auto form = Build({code, 6, 1}, false);
    const std::vector<Answer> answers = Answers(*form);
    StreamDecoder decoder(*form, VectorLength(kParameters), kSlice, *parallel_,
                          {.keep_rows = true});
    for (const RowId row : {0u, 2u, 3u}) Add(decoder, row, answers[row]);
    std::vector<float> sum(VectorLength(kParameters));
    const auto best = decoder.FinishApproximately(sum);
    ASSERT_TRUE(best.ok()) << best.status().ToString();
    Tally wanted;
    for (PartitionId p = 0; p < kPartitions; ++p) {
      wanted.Add(best->coverage[p], Compute({{p, p + 1, 1.0, {}}}, 1).tally);
    }
    EXPECT_LE(std::abs(decoder.tally().loss - wanted.loss), 1e-12 * std::abs(wanted.loss)) << code;
    EXPECT_LE(std::abs(decoder.tally().weight - wanted.weight), 1e-12 * std::abs(wanted.weight));
  }
}

}  // namespace
}  // namespace motley
