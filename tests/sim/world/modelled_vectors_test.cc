// SPDX-License-Identifier: Apache-2.0
#include "sim/world/modelled_vectors.h"

#include <gtest/gtest.h>

#include "coding/decode/part_sums.h"
#include "runtime/links/route.h"
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

// The floats of all slices of a shard's sum, from its owner to a follower.
std::vector<Header> SumSlices(const Route& route, uint32_t shard, size_t slice_length) {
  std::vector<Header> headers =
      Slices(FrameKind::kShardSum, {route.parameters(shard), slice_length});
  for (Header& header : headers) header.shard = shard;
  return headers;
}

TEST(ModelledVectorsTest, EachShardCostsAsMuchAsTheModelsWould) {
  for (const WireFormat wire : kWireFormats) {
    for (const uint32_t shards : {2u, 3u, 16u}) {
      for (const uint64_t floats : {2u, 100u, 4095u, 4096u, 123'457u}) {
        constexpr uint32_t kLength = 512;
        const ModelledVectors vectors(floats * sizeof(float), kLength, 1, shards);
        const Route real(floats, shards), route(vectors.parameter_count(), shards);
        ASSERT_EQ(route.shards(), real.shards());
        for (const FrameKind kind : {FrameKind::kGradient, FrameKind::kParameters}) {
          const auto cut = [kind, wire](const Route& of, size_t length) {
            return kind == FrameKind::kGradient ? of.Answers(length, wire)
                                                : of.Parameters(length, wire);
          };
          const Slicing there = cut(route, vectors.slice_length()), modelled = cut(real, kLength);
          std::vector<size_t> bytes(shards);
          for (Header& header : Slices(kind, there)) {
            const size_t slice = there.At(header.offset);
            header.shard = static_cast<uint32_t>(there.ShardOf(slice));
            header.length = static_cast<uint32_t>(there.bytes(slice));
            header.format = wire;
            bytes[header.shard] += vectors.PayloadBytes(header);
          }
          for (size_t shard = 0; shard < real.shards(); ++shard) {
            ASSERT_EQ(bytes[shard], modelled.bytes_of(shard)) << floats << " in " << shards;
          }
        }
        for (uint32_t shard = 0; shard < real.shards(); ++shard) {
          size_t bytes = 0;
          for (const Header& header : SumSlices(route, shard, vectors.slice_length())) {
            bytes += vectors.PayloadBytes(header);
          }
          ASSERT_EQ(bytes, sizeof(float) * real.size(shard)) << floats << " in " << shards;
        }
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
