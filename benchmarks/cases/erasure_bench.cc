// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/erasure_bench.h"

#include <jerasure.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/random.h"
#include "checkpoint/erasure/erasure_code.h"
#include "checkpoint/erasure/isal_kernel.h"
#include "checkpoint/erasure/jerasure_reference.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr int kW = ErasureCode::kWordBits;
constexpr std::pair<uint32_t, uint32_t> kCodes[] = {{10, 4}, {4, 2}};

// The blocks of one stripe in the form of each library.
class Stripe {
 public:
  Stripe(const ErasureCode& code, size_t size)
      : k_(code.data()), size_(size), blocks_(code.blocks(), Bytes(size)) {
    Random random(1, Stream::kTest);
    for (uint32_t i = 0; i < k_; ++i) {
      for (std::byte& b : blocks_[i]) b = static_cast<std::byte>(random.Next32());
    }
    for (Bytes& block : blocks_) {
      chars_.push_back(reinterpret_cast<char*>(block.data()));
      unsigned_chars_.push_back(reinterpret_cast<unsigned char*>(block.data()));
      spans_.emplace_back(block);
    }
    views_.assign(blocks_.begin(), blocks_.begin() + k_);
  }

  size_t data_bytes() const { return k_ * size_; }
  int size() const { return static_cast<int>(size_); }
  char** chars() { return chars_.data(); }
  unsigned char** unsigned_chars() { return unsigned_chars_.data(); }
  std::span<const BytesView> data() const { return views_; }
  std::span<const std::span<std::byte>> parity() const { return std::span(spans_).subspan(k_); }
  std::span<const std::span<std::byte>> all() const { return spans_; }
  std::vector<Bytes>& blocks() { return blocks_; }

 private:
  uint32_t k_;
  size_t size_;
  std::vector<Bytes> blocks_;
  std::vector<char*> chars_;
  std::vector<unsigned char*> unsigned_chars_;
  std::vector<BytesView> views_;
  std::vector<std::span<std::byte>> spans_;
};

// Alternates both calls, so that both meet the same disturbances; returns the best of each.
std::pair<double, double> BestSeconds(const BenchOptions& options,
                                      const std::function<void()>& ours,
                                      const std::function<void()>& theirs) {
  const double least_seconds = options.full ? 1.0 : 0.02;
  ours();
  theirs();
  std::pair<double, double> best{1e9, 1e9};
  int calls = 0;
  for (double total = 0; calls < 5 || total < least_seconds; ++calls) {
    const double mine = SecondsOf(ours);
    const double baseline = SecondsOf(theirs);
    total += mine + baseline;
    best = {std::min(best.first, mine), std::min(best.second, baseline)};
  }
  return best;
}

struct Case {
  ErasureCode code;
  Stripe stripe;
  std::vector<uint8_t> matrix;
  std::vector<int> wide_matrix;  // Jerasure's matrix.

  static Result<Case> Make(const BenchOptions& options, uint32_t k, uint32_t m,
                           ErasureKernel kernel) {
    MOTLEY_ASSIGN_OR_RETURN(ErasureCode code,
                            ErasureCode::Create(k, m, ErasureTechnique::kVandermonde, kernel));
    Stripe stripe(code, options.full ? size_t{1} << 20 : size_t{1} << 16);
    std::vector<uint8_t> matrix(code.matrix().begin(), code.matrix().end());
    std::vector<int> wide(matrix.begin(), matrix.end());
    return Case{std::move(code), std::move(stripe), std::move(matrix), std::move(wide)};
  }

  bool isal() const { return code.kernel() == ErasureKernel::kIsal; }
  int k() const { return static_cast<int>(code.data()); }
  int m() const { return static_cast<int>(code.parity()); }

  BenchLine Line(const char* what, std::pair<double, double> seconds) const {
    const auto bytes = static_cast<double>(stripe.data_bytes());
    return {fmt::format("{}+{} {}, {}", k(), m(), what, isal() ? "ISA-L" : "Jerasure"), "GB/s",
            bytes / seconds.first * 1e-9, isal() ? "ISA-L's own loop" : "Jerasure's own loop",
            bytes / seconds.second * 1e-9};
  }
};

Result<BenchLine> EncodeLine(const BenchOptions& options, Case c) {
  Status status;
  const auto ours = [&] { status = c.code.Encode(c.stripe.data(), c.stripe.parity()); };
  const auto jerasure = [&] {
    jerasure_matrix_encode(c.k(), c.m(), kW, c.wide_matrix.data(), c.stripe.chars(),
                           c.stripe.chars() + c.k(), c.stripe.size());
  };
  jerasure();
  const std::vector<Bytes> wanted = c.stripe.blocks();
  for (uint32_t i = c.code.data(); i < c.code.blocks(); ++i) {
    std::fill(c.stripe.blocks()[i].begin(), c.stripe.blocks()[i].end(), std::byte{0});
  }
  ours();
  MOTLEY_RETURN_IF_ERROR(status);
  if (c.stripe.blocks() != wanted) return Status::Internal("parity is not what Jerasure gives");
  if (!c.isal()) return c.Line("encode", BestSeconds(options, ours, jerasure));
  std::vector<uint8_t> tables = Isal().kernel->Tables(c.matrix, c.code.data());
  return c.Line("encode", BestSeconds(options, ours, [&] {
                  Isal().kernel->encode(c.stripe.size(), c.k(), c.m(), tables.data(),
                                        c.stripe.unsigned_chars(),
                                        c.stripe.unsigned_chars() + c.k());
                }));
}

// The first `lost` data blocks are missing. ISA-L's own loop gets its tables for free.
Result<BenchLine> DecodeLine(const BenchOptions& options, Case c, uint32_t lost) {
  MOTLEY_RETURN_IF_ERROR(c.code.Encode(c.stripe.data(), c.stripe.parity()));
  const std::vector<Bytes> wanted = c.stripe.blocks();
  std::vector<bool> present(c.code.blocks(), true);
  std::vector<bool> missing(c.code.blocks(), false);
  std::vector<int> erasures;
  for (uint32_t i = 0; i < lost; ++i) {
    present[i] = false;
    missing[i] = true;
    erasures.push_back(static_cast<int>(i));
    std::fill(c.stripe.blocks()[i].begin(), c.stripe.blocks()[i].end(), std::byte{0});
  }
  erasures.push_back(-1);
  Status status;
  const auto ours = [&] { status = c.code.Reconstruct(c.stripe.all(), present); };
  ours();
  MOTLEY_RETURN_IF_ERROR(status);
  if (c.stripe.blocks() != wanted) return Status::Internal("what was lost did not come back");
  const std::string what = fmt::format("decode, {} lost", lost);
  if (!c.isal()) {
    return c.Line(what.c_str(), BestSeconds(options, ours, [&] {
                    jerasure_matrix_decode(c.k(), c.m(), kW, c.wide_matrix.data(), 1,
                                           erasures.data(), c.stripe.chars(),
                                           c.stripe.chars() + c.k(), c.stripe.size());
                  }));
  }
  MOTLEY_ASSIGN_OR_RETURN(
      const ErasureSolution solution,
      JerasureSolve(c.code.data(), c.code.parity(), c.matrix, present, missing));
  std::vector<uint8_t> tables = Isal().kernel->Tables(solution.rows, c.code.data());
  std::vector<unsigned char*> sources;
  for (const uint32_t i : solution.sources) sources.push_back(c.stripe.unsigned_chars()[i]);
  return c.Line(what.c_str(), BestSeconds(options, ours, [&] {
                  Isal().kernel->encode(c.stripe.size(), c.k(), static_cast<int>(lost),
                                        tables.data(), sources.data(), c.stripe.unsigned_chars());
                }));
}

std::vector<ErasureKernel> Kernels() {
  if (!IsalAvailable()) return {ErasureKernel::kJerasure};
  return {ErasureKernel::kIsal, ErasureKernel::kJerasure};
}

}  // namespace

Result<std::vector<BenchLine>> BenchErasureEncode(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  for (const auto& [k, m] : kCodes) {
    for (const ErasureKernel kernel : Kernels()) {
      MOTLEY_ASSIGN_OR_RETURN(Case c, Case::Make(options, k, m, kernel));
      MOTLEY_ASSIGN_OR_RETURN(BenchLine line, EncodeLine(options, std::move(c)));
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Result<std::vector<BenchLine>> BenchErasureDecode(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  for (const auto& [k, m] : kCodes) {
    for (const ErasureKernel kernel : Kernels()) {
      for (const uint32_t lost : {m, 1u}) {
        MOTLEY_ASSIGN_OR_RETURN(Case c, Case::Make(options, k, m, kernel));
        MOTLEY_ASSIGN_OR_RETURN(BenchLine line, DecodeLine(options, std::move(c), lost));
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

}  // namespace motley
