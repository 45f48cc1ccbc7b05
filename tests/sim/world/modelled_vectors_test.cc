// SPDX-License-Identifier: Apache-2.0
#include "sim/world/modelled_vectors.h"

#include <gtest/gtest.h>

#include "coding/decode/part_sums.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

// The headers of a vector's slices, as nodes send them.
std::vector<Header> Slices(FrameKind kind, const Slicing& cut) {
  std::vector<Header> headers;
  for (size_t slice = 0; slice < cut.count(); ++slice) {
    Header header;
    header.kind = kind;
    header.total = cut.total();
    header.offset = cut.begin(slice);
    header.length = static_cast<uint32_t>(cut.size(slice) * sizeof(float));
    headers.push_back(header);
  }
  return headers;
}

TEST(ModelledVectorsTest, EverySliceCostsAsMuchAsTheModelsWould) {
  for (const uint32_t slice_length : {2u, 4u, 64u, 512u}) {
    for (uint64_t floats = 1; floats < 1100; ++floats) {
      const ModelledVectors vectors(floats * sizeof(float), slice_length);
      const size_t few = vectors.parameter_count();
      ASSERT_GE(few, 1u);
      ASSERT_LE(few, floats);
      for (const FrameKind kind :
           {FrameKind::kGradient, FrameKind::kParameters, FrameKind::kProbe}) {
        const bool gradient = kind != FrameKind::kParameters;
        const Slicing real{gradient ? VectorLength(floats) : floats, slice_length};
        const Slicing there{gradient ? VectorLength(few) : few, vectors.slice_length()};
        const auto headers = Slices(kind, there);
        ASSERT_EQ(headers.size(), real.count()) << floats << " in slices of " << slice_length;
        for (size_t slice = 0; slice < headers.size(); ++slice) {
          ASSERT_EQ(vectors.PayloadBytes(headers[slice]), real.size(slice) * sizeof(float))
              << "slice " << slice << " of " << floats << " in slices of " << slice_length;
        }
      }
    }
  }
}

TEST(ModelledVectorsTest, AnswersOfAPartsLengthCostAsMuchAsTheModelsWould) {
  for (const uint32_t slice_length : {4u, 64u, 512u}) {
    for (uint64_t floats = 2; floats < 1100; ++floats) {
      for (const uint32_t parts : {2u, 3u, 7u}) {
        const ModelledVectors vectors(floats * sizeof(float), slice_length, parts);
        const size_t few = VectorLength(vectors.parameter_count());
        size_t bytes = 0;
        for (const Header& header :
             Slices(FrameKind::kGradient,
                    {PartLength(Field::kComplexPacked, few, parts), vectors.slice_length()})) {
          bytes += vectors.PayloadBytes(header);
        }
        ASSERT_EQ(bytes,
                  sizeof(float) * PartLength(Field::kComplexPacked, VectorLength(floats), parts))
            << floats << " in " << parts << " parts and slices of " << slice_length;
      }
    }
  }
}

TEST(ModelledVectorsTest, AVectorOfAHundredMegabytesIsAFewFloatsForEachSlice) {
  const ModelledVectors vectors(100'000'000, 1u << 18);
  EXPECT_EQ(vectors.slice_length(), 4u);
  EXPECT_EQ(vectors.parameter_count(), 96u * 4);
  EXPECT_EQ(vectors.modelled_length(), 25'000'000u);
}

TEST(ModelledVectorsTest, OtherFramesCostWhatTheyHave) {
  const ModelledVectors vectors(1 << 20, 1u << 18);
  Header header;
  header.length = 77;
  for (const FrameKind kind : {FrameKind::kControl, FrameKind::kPartition}) {
    header.kind = kind;
    EXPECT_EQ(vectors.PayloadBytes(header), 77u);
  }
  header.kind = FrameKind::kGradient;
  EXPECT_EQ(ModelledVectors().PayloadBytes(header), 77u);
}

TEST(ModelledVectorsTest, SamplesMayStandForMore) {
  ModelledVectors vectors(1 << 20, 1u << 18);
  vectors.LengthenSamples(1000);
  Header header;
  header.length = 77;
  header.kind = FrameKind::kPartition;
  EXPECT_EQ(vectors.PayloadBytes(header), 77'000u);
  header.kind = FrameKind::kControl;
  EXPECT_EQ(vectors.PayloadBytes(header), 77u);
}

}  // namespace
}  // namespace motley
