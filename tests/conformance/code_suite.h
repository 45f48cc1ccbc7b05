// SPDX-License-Identifier: Apache-2.0
// The contract of every gradient code. A code's own test defines a traits type
//   struct MyCase {
//     static constexpr const char* kName = "my";
//     static constexpr double kTolerance = 2e-6;  // Relative error of the decoded float sum.
//     static std::vector<CodeRequest> Requests();
//     static void ExpectLoads(const CodeRequest& request, const CodeForm& form);
//   };
// and ends with INSTANTIATE_TYPED_TEST_SUITE_P(My, CodeSuite, MyCase).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "coding/decode/replacement.h"
#include "coding/decode/stream_decoder.h"
#include "coding/placement/straggler_sets.h"
#include "tests/coding/coded_job.h"

namespace motley {

inline std::string Describe(const CodeRequest& request) {
  std::string text = "s=" + std::to_string(request.stragglers) +
                     " k=" + std::to_string(request.partitions) + " speeds";
  for (double speed : request.speeds) text += " " + std::to_string(speed);
  return text;
}

// Equal and unequal speeds, n from 1 to 10, s up to `most_stragglers` and n - 1.
inline std::vector<CodeRequest> UsualRequests(uint32_t most_stragglers) {
  std::vector<CodeRequest> requests;
  for (uint32_t n : {1, 2, 3, 4, 5, 8, 10}) {
    for (uint32_t s = 0; s < n; ++s) {
      if (s > most_stragglers && (s != n - 1 || most_stragglers == 0)) continue;
      requests.push_back(EqualRequest(n, s, 4 * n + 3));
      requests.push_back(UnequalRequest(n, s, 4 * n + 3, 5));
      requests.push_back(UnequalRequest(n, s, n, 6));
    }
  }
  return requests;
}

// Expects loads that are equal up to one partition per group of partitions.
inline void ExpectEqualLoads(const CodeRequest& request, const CodeForm& form) {
  const double copies = request.stragglers + 1.0;
  for (const auto& row : form.rows) {
    EXPECT_NEAR(static_cast<double>(row.size()), copies * form.partitions / form.workers, copies);
  }
}

// Expects that no worker would finish earlier by giving a partition to another one of these.
inline void ExpectSharesFollowSpeeds(const CodeRequest& request, const CodeForm& form,
                                     const std::vector<WorkerId>& workers) {
  for (WorkerId i : workers) {
    for (WorkerId j : workers) {
      if (form.rows[j].size() == form.partitions) continue;  // It has all partitions.
      EXPECT_LE(static_cast<double>(form.rows[i].size()) / request.speeds[i],
                static_cast<double>(form.rows[j].size() + 1) / request.speeds[j] * (1 + 1e-12));
    }
  }
}

inline std::vector<WorkerId> EveryWorker(const CodeForm& form) {
  std::vector<WorkerId> workers(form.workers);
  std::iota(workers.begin(), workers.end(), 0);
  return workers;
}

template <typename Case>
class CodeSuite : public ::testing::Test {
 protected:
  static constexpr uint64_t kSets = 250;
  static constexpr size_t kLength = 38;

  template <typename Body>
  static void ForEachForm(const Body& body) {
    for (const CodeRequest& request : Case::Requests()) {
      SCOPED_TRACE(Describe(request));
      Result<CodeForm> form = BuildCode(Case::kName, request);
      ASSERT_TRUE(form.ok()) << form.status().ToString();
      body(request, *form);
    }
  }

  static std::vector<std::vector<WorkerId>> Sets(const CodeForm& form, uint32_t missing) {
    Random random(3, Stream::kTest, form.workers, missing);
    return StragglerSets(form.workers, missing, kSets, random);
  }
};

TYPED_TEST_SUITE_P(CodeSuite);

TYPED_TEST_P(CodeSuite, FormIsWhatWasAskedFor) {
  this->ForEachForm([](const CodeRequest& request, const CodeForm& form) {
    EXPECT_TRUE(Validate(form).ok()) << Validate(form).ToString();
    EXPECT_EQ(form.name, TypeParam::kName);
    EXPECT_EQ(form.workers, request.speeds.size());
    EXPECT_EQ(form.partitions, request.partitions);
    EXPECT_EQ(form.stragglers, request.stragglers);
    EXPECT_LE(form.accumulators,
              SchemeNamed(form.name).Computed(request.stragglers, request.parts));
    CodeForm unknown = form;
    unknown.largest = 0;
    EXPECT_EQ(LargestCoefficient(unknown), form.largest);
  });
}

TYPED_TEST_P(CodeSuite, SameRequestGivesTheSameCode) {
  this->ForEachForm([](const CodeRequest& request, const CodeForm& form) {
    const CodeForm again = MustBuild(TypeParam::kName, request);
    EXPECT_EQ(again.c, form.c);
    for (RowId row = 0; row < form.workers; ++row) {
      ASSERT_EQ(again.rows[row].size(), form.rows[row].size());
      for (size_t e = 0; e < form.rows[row].size(); ++e) {
        EXPECT_EQ(again.rows[row][e].coefficient, form.rows[row][e].coefficient);
      }
      EXPECT_EQ(again.other_parts, form.other_parts);
    }
  });
}

TYPED_TEST_P(CodeSuite, LoadsAreAsPromised) {
  this->ForEachForm([](const CodeRequest& request, const CodeForm& form) {
    TypeParam::ExpectLoads(request, form);
    size_t total = 0;
    for (const auto& row : form.rows) total += row.size();
    EXPECT_EQ(total, size_t{form.partitions} * (form.stragglers + form.parts));
  });
}

TYPED_TEST_P(CodeSuite, EverySurvivorSetGivesThePlainSum) {
  this->ForEachForm([this](const CodeRequest&, const CodeForm& form) {
    const CodedJob job = MakeJob(form, this->kLength, 1);
    for (uint32_t missing = 0; missing <= form.stragglers; ++missing) {
      for (const auto& set : this->Sets(form, missing)) {
        const auto result = Solve(form, Without(form, set));
        ASSERT_TRUE(result.ok()) << result.status().ToString();
        EXPECT_LE(RelativeError(Decode(form, job, result->a), job.sum), TypeParam::kTolerance);
        EXPECT_LE(DecodingResidual(form, result->a), result->residual + 1e-9);
        for (WorkerId worker : set) {
          for (uint32_t part = 0; part < form.parts; ++part) {
            EXPECT_EQ(result->a[worker * form.parts + part], Complex(0));
          }
        }
      }
    }
  });
}

TYPED_TEST_P(CodeSuite, ClosedAndGeneralDecodersAgree) {
  this->ForEachForm([this](const CodeRequest&, const CodeForm& form) {
    for (uint32_t missing = 0; missing <= form.stragglers; ++missing) {
      for (const auto& set : this->Sets(form, missing)) {
        const auto fast = Solve(form, Without(form, set));
        const auto general = SolveGeneral(form, Without(form, set));
        ASSERT_TRUE(fast.ok() && general.ok());
        EXPECT_LE(DecodingResidual(form, fast->a), 1e-9);
        EXPECT_LE(general->residual, 1e-9);
        for (uint32_t r = 0; r < fast->x.size(); ++r) {
          EXPECT_TRUE(std::isfinite(std::abs(fast->x[r])));
        }
      }
    }
  });
}

TYPED_TEST_P(CodeSuite, AnUnansweredPartitionIsNotDecodable) {
  this->ForEachForm([](const CodeRequest&, const CodeForm& form) {
    for (PartitionId partition = 0; partition < form.partitions; ++partition) {
      std::vector<WorkerId> holders;
      for (RowId row = 0; row < form.workers; ++row) {
        for (const CodeEntry& entry : form.rows[row]) {
          if (entry.partition == partition) holders.push_back(row);
        }
      }
      EXPECT_EQ(holders.size(), form.stragglers + form.parts);
      EXPECT_EQ(Solve(form, Without(form, holders)).code(), StatusCode::kNotDecodable);
      EXPECT_EQ(SolveGeneral(form, Without(form, holders)).code(), StatusCode::kNotDecodable);
    }
  });
}

// Feeds every slice of every row once or twice in random order, some of them spoilt, and leaves out
// some slices. Checks the decoder's answers on the way.
template <typename Case>
void StreamOnce(const CodeForm& form, const CodedJob& job, uint64_t seed) {
  Random random(seed, Stream::kTest, form.workers, form.stragglers);
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(form, job.sum.size(), 10, *parallel);
  std::vector<std::pair<RowId, size_t>> order;
  for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
    // Every slice has its own s stragglers.
    std::vector<WorkerId> rows = EveryWorker(form);
    random.Shuffle(std::span(rows));
    for (size_t i = form.stragglers; i < rows.size(); ++i) {
      order.emplace_back(rows[i], slice);
      if (random.Chance(0.3)) order.emplace_back(rows[i], slice);
    }
  }
  random.Shuffle(std::span(order));
  std::vector<std::vector<int>> added(form.workers, std::vector<int>(decoder.slice_count(), 0));
  for (const auto& [row, slice] : order) {
    const float* from = job.answers[row].data() + decoder.slice_begin(slice);
    AlignedVector values(from, from + decoder.slice_length(slice));
    const double norm = std::sqrt(SumOfSquares(values));
    AlignedVector spoilt = values;
    spoilt[random.Below(spoilt.size())] = std::numeric_limits<float>::quiet_NaN();
    const auto refused = decoder.AddSlice(row, slice, spoilt, norm);
    const auto outcome = decoder.AddSlice(row, slice, values, norm);
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    if (*outcome == StreamDecoder::Outcome::kAdded) {
      EXPECT_EQ(refused.code(), StatusCode::kDataError);
      EXPECT_EQ(added[row][slice]++, 0);
      EXPECT_TRUE(decoder.Touched(row));
    } else if (added[row][slice] > 0) {
      EXPECT_EQ(*outcome, StreamDecoder::Outcome::kDuplicate);
    } else {
      EXPECT_EQ(*outcome, StreamDecoder::Outcome::kNotNeeded);
    }
  }
  ASSERT_TRUE(decoder.Decodable());
  std::vector<float> sum(job.sum.size());
  const Status status = decoder.Finish(sum);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_LE(RelativeError(sum, job.sum), Case::kTolerance);
  for (RowId row = 0; row < form.workers; ++row) EXPECT_TRUE(decoder.RowComplete(row));
}

TYPED_TEST_P(CodeSuite, SlicesFromAnyoneInAnyOrderGiveThePlainSum) {
  this->ForEachForm([this](const CodeRequest&, const CodeForm& form) {
    const CodedJob job = MakeJob(form, this->kLength, 2);
    for (uint64_t seed = 0; seed < 3; ++seed) StreamOnce<TypeParam>(form, job, seed);
  });
}

TYPED_TEST_P(CodeSuite, ExactlyTheRowsThatAreNeededAreReplaced) {
  this->ForEachForm([](const CodeRequest&, const CodeForm& form) {
    const Replacement replacement(std::make_shared<const CodeForm>(form));
    Random random(11, Stream::kTest, form.workers, form.stragglers);
    for (int round = 0; round < 4; ++round) {
      std::vector<bool> absent(form.workers);
      for (RowId row = 0; row < form.workers; ++row) absent[row] = random.Chance(0.5);
      const std::vector<RowId> replace = replacement.RowsFor(absent);
      std::vector<bool> present = absent;
      present.flip();
      EXPECT_EQ(replace.empty(), Solve(form, present).ok());
      for (RowId row : replace) {
        EXPECT_TRUE(absent[row]);
        EXPECT_FALSE(Solve(form, present).ok());  // One fewer is not enough.
        present[row] = true;
      }
      EXPECT_TRUE(Solve(form, present).ok());
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(CodeSuite, FormIsWhatWasAskedFor, SameRequestGivesTheSameCode,
                            LoadsAreAsPromised, EverySurvivorSetGivesThePlainSum,
                            ClosedAndGeneralDecodersAgree, AnUnansweredPartitionIsNotDecodable,
                            SlicesFromAnyoneInAnyOrderGiveThePlainSum,
                            ExactlyTheRowsThatAreNeededAreReplaced);

}  // namespace motley
