// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>

#include "test_paths.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

TEST(Codes, EveryCodeFileIsInTheList) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(MOTLEY_SOURCE_DIR "/coding/codes")) {
    const std::string name = entry.path().filename().string();
    constexpr std::string_view kEnd = "_code.cc";
    if (!name.ends_with(kEnd)) continue;
    std::string code = name.substr(0, name.size() - kEnd.size());
    std::replace(code.begin(), code.end(), '_', '-');
    files.insert(std::move(code));
  }
  std::set<std::string> listed;
  for (const Scheme& code : CodedSchemes()) listed.insert(code.name);
  EXPECT_EQ(files, listed);
  EXPECT_EQ(listed.size(), CodedSchemes().size());
}

TEST(Codes, ADraftGivesEverybodyTheSamePartitions) {
  for (const char* name : {"heterogeneous", "short"}) {
    for (uint32_t s = 0; s < 4; ++s) {
      CodeRequest request = UnequalRequest(9, s, 57, s);
      const CodeForm form = MustBuild(name, request);
      request.draft = true;
      const Result<CodeForm> draft = BuildCode(name, request);
      ASSERT_TRUE(draft.ok());
      EXPECT_EQ(draft->stragglers, form.stragglers);
      EXPECT_EQ(draft->parts, form.parts);
      for (RowId row = 0; row < form.workers; ++row) {
        const auto& entries = form.rows[row];
        ASSERT_EQ(draft->rows[row].size(), entries.size());
        for (size_t e = 0; e < entries.size(); ++e) {
          EXPECT_EQ(draft->rows[row][e].partition, entries[e].partition);
        }
      }
      EXPECT_FALSE(Validate(*draft).ok());  // A draft cannot be used for decoding by mistake.
    }
  }
}

TEST(Codes, EveryCodeHasASummaryAndBuildsUnderItsName) {
  for (const Scheme& code : CodedSchemes()) {
    EXPECT_NE(std::string(code.summary), "");
    EXPECT_EQ(MustBuild(code.name, EqualRequest(4, 0, 8)).name, code.name);
  }
}

TEST(Codes, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  const auto form = BuildCode("cyclical", EqualRequest(4, 1, 8));
  EXPECT_EQ(form.code(), StatusCode::kNotFound);
  EXPECT_THAT(form.status().message(), HasSubstr("\"cyclical\""));
  EXPECT_THAT(form.status().message(),
              HasSubstr("none, repetition, cyclic, heterogeneous, group, rs, graph, multi-message, "
                        "approximate, short, partial-coded"));
}

TEST(Codes, RequestsThatMakeNoSenseAreRefusedWithTheReason) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<CodeRequest, const char*>> requests = {
      {{{}, 0, 8, 1}, "at least one worker"},
      {{{1, 0}, 0, 8, 1}, "the speed of worker 1 is 0"},
      {{{-1, 1}, 0, 8, 1}, "the speed of worker 0 is -1"},
      {{{nan, 1}, 0, 8, 1}, "the speed of worker 0 is nan"},
      {{{1, infinity}, 0, 8, 1}, "the speed of worker 1 is inf"},
      {{{1, 1}, 2, 8, 1}, "2 stragglers among 2 workers; tolerate at most 1"},
      {{{1, 1, 1}, 0, 2, 1}, "2 partitions are too few for 3 workers"},
      {{{1, 1}, 1, 1U << 30, 1, 0, 1}, "need 2147483648 coefficients"},
  };
  for (const auto& [request, reason] : requests) {
    for (const Scheme& code : CodedSchemes()) {
      const auto form = BuildCode(code.name, request);
      EXPECT_EQ(form.code(), StatusCode::kInvalidArgument);
      EXPECT_THAT(form.status().message(), HasSubstr(reason));
    }
  }
}

TEST(AssessCode, ChecksEverySetWhenThereAreFew) {
  const CodeQuality quality = AssessCode(MustBuild("rs", EqualRequest(6, 2, 12)), 100, 1);
  EXPECT_TRUE(quality.exhaustive);
  EXPECT_EQ(quality.sets_checked, 15);
  EXPECT_LE(quality.worst_residual, 1e-12);
  EXPECT_GE(quality.worst_amplification, 1);
  EXPECT_LE(quality.worst_amplification, 4);
}

TEST(AssessCode, SamplesWhenThereAreMany) {
  const CodeForm form = MustBuild("rs", EqualRequest(40, 5, 40));
  const CodeQuality quality = AssessCode(form, 50, 1);
  EXPECT_FALSE(quality.exhaustive);
  EXPECT_EQ(quality.sets_checked, 50);
  EXPECT_EQ(AssessCode(form, 50, 1).worst_amplification, quality.worst_amplification);
}

TEST(AssessCode, RepetitionIsPerfectAndRandomCodesAreWorseThanReedSolomon) {
  EXPECT_EQ(AssessCode(MustBuild("repetition", EqualRequest(6, 1, 12)), 100, 1).worst_amplification,
            1);
  const auto rs = AssessCode(MustBuild("rs", EqualRequest(16, 3, 16)), 600, 1);
  const auto cyclic = AssessCode(MustBuild("cyclic", EqualRequest(16, 3, 16)), 600, 1);
  EXPECT_GT(cyclic.worst_amplification, rs.worst_amplification);
}

// Draws answers with errors, and decodes them.
TEST(AssessCode, KnowsHowErrorsOfAnswersGrow) {
  for (const char* name : {"none", "repetition", "cyclic", "rs", "heterogeneous", "short"}) {
    const uint32_t s = SchemeNamed(name).keeps_copies ? 2 : 0;
    const CodeForm form = MustBuild(name, EqualRequest(8, s, 16));
    const double noise = AssessCode(form, 100, 1).worst_noise;
    if (!SchemeNamed(name).weighs) {
      EXPECT_NEAR(noise, 1, 1e-9) << name;
      continue;
    }
    EXPECT_GT(noise, 0.05) << name;
    EXPECT_LT(noise, 2000) << name;
    std::vector<bool> present(form.rows.size(), true);
    present[0] = present[5] = false;
    const auto solved = Solve(form, present);
    ASSERT_TRUE(solved.ok()) << name;
    Random random(9, Stream::kTest);
    double errors = 0;
    constexpr int kDraws = 4000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<Complex> sums(form.parts);
      for (RowId row = 0; row < form.rows.size(); ++row) {
        double squares = 0;
        for (size_t e = 0; e < form.rows[row].size(); ++e) {
          for (uint32_t part = 0; part < form.parts; ++part) {
            squares += std::norm(form.B(row, e, part));
          }
        }
        const double re = random.Normal();
        const double im = random.Normal();
        const Complex error = Complex(re, im) * std::sqrt(squares / 2);
        for (uint32_t part = 0; part < form.parts; ++part) {
          sums[part] += solved->a[size_t{row} * form.parts + part] * error;
        }
      }
      for (const Complex& sum : sums) errors += std::norm(sum);
    }
    const double found = errors / kDraws / form.parts / form.partitions;
    EXPECT_LE(found, 1.1 * noise) << name;
  }
}

TEST(AssessCode, ACodeThatBreaksItsPromiseIsSeen) {
  CodeForm form = MustBuild("none", EqualRequest(4, 0, 8));
  form.stragglers = 1;
  EXPECT_GE(AssessCode(form, 10, 1).worst_residual, 0.9);
}

}  // namespace
}  // namespace motley
