// SPDX-License-Identifier: Apache-2.0
#include "coding/form_bytes.h"

#include <gtest/gtest.h>

#include "tests/coding/coded_job.h"

namespace motley {
namespace {

constexpr uint32_t kPartitions = 12;

// Every code, with equal and unequal shares.
std::vector<CodeForm> Forms() {
  std::vector<CodeForm> forms;
  for (const Scheme& code : CodedSchemes()) {
    forms.push_back(MustBuild(code.name, EqualRequest(4, code.keeps_copies ? 1 : 0, kPartitions)));
    const CodeRequest request = UnequalRequest(4, code.keeps_copies ? 1 : 0, kPartitions, 3);
    if (Result<CodeForm> form = BuildCode(code.name, request); form.ok()) {
      forms.push_back(std::move(*form));
    }
  }
  return forms;
}

bool Same(const CodeForm& a, const CodeForm& b) {
  bool same = a.name == b.name && a.field == b.field && a.workers == b.workers &&
              a.partitions == b.partitions && a.stragglers == b.stragglers && a.lists == b.lists &&
              a.kept_parts == b.kept_parts && a.parts == b.parts &&
              a.other_parts == b.other_parts && a.accumulators == b.accumulators && a.c == b.c &&
              a.v == b.v && a.nodes == b.nodes && a.largest == b.largest &&
              a.rows.size() == b.rows.size();
  for (RowId row = 0; same && row < a.rows.size(); ++row) {
    same = a.rows[row].size() == b.rows[row].size();
    for (size_t e = 0; same && e < a.rows[row].size(); ++e) {
      same = a.rows[row][e].partition == b.rows[row][e].partition &&
             a.rows[row][e].coefficient == b.rows[row][e].coefficient;
    }
  }
  return same;
}

TEST(FormBytes, EveryCodeComesBackAsItWas) {
  for (const CodeForm& form : Forms()) {
    const Result<CodeForm> back = DecodeForm(EncodeForm(form), kPartitions);
    ASSERT_TRUE(back.ok()) << form.name << ": " << back.status().ToString();
    EXPECT_TRUE(Same(form, *back)) << form.name;
  }
}

TEST(FormBytes, NothingShorterOrLongerIsACode) {
  for (const CodeForm& form : Forms()) {
    Bytes bytes = EncodeForm(form);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const Result<CodeForm> cut = DecodeForm(BytesView(bytes).first(size), kPartitions);
      ASSERT_FALSE(cut.ok()) << form.name << " of " << size << " bytes";
      EXPECT_EQ(cut.status().code(), StatusCode::kDataError);
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(DecodeForm(bytes, kPartitions).ok()) << form.name;
  }
}

TEST(FormBytes, ACodeForOtherPartitionsIsRefused) {
  const Bytes bytes = EncodeForm(MustBuild("none", EqualRequest(4, 0, kPartitions)));
  EXPECT_FALSE(DecodeForm(bytes, kPartitions + 1).ok());
}

// Damage may leave another valid code, but never one that a decoder cannot use.
TEST(FormBytes, DamagedBytesAreRefusedOrAValidCode) {
  for (const CodeForm& form : Forms()) {
    const Bytes bytes = EncodeForm(form);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        Bytes damaged = bytes;
        damaged[at] ^= static_cast<std::byte>(flip);
        const Result<CodeForm> back = DecodeForm(damaged, kPartitions);
        if (back.ok()) {
          ASSERT_TRUE(Validate(*back).ok()) << form.name << ", byte " << at;
        } else {
          EXPECT_EQ(back.status().code(), StatusCode::kDataError);
        }
      }
    }
  }
}

}  // namespace
}  // namespace motley
