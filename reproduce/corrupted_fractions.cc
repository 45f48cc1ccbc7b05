// SPDX-License-Identifier: Apache-2.0
// A6: the fraction of the gradient that q Byzantine workers among 15 can corrupt when three workers
// compute each file and the majority counts. All choices of Byzantine workers are tried; the worst
// counts.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "fmt/core.h"
#include "reproduce/experiments.h"
#include "reproduce/rows.h"

namespace motley {
namespace {

constexpr uint32_t kSide = 5;    // l, a prime. The files are the cells of an l x l square.
constexpr uint32_t kCopies = 3;  // r
constexpr uint32_t kWorkers = kSide * kCopies;

// For each file the workers that compute it, as bits.
std::vector<uint32_t> LatinSquares() {
  std::vector<uint32_t> files;
  for (uint32_t i = 0; i < kSide; ++i) {
    for (uint32_t j = 0; j < kSide; ++j) {
      uint32_t workers = 0;
      for (uint32_t a = 1; a <= kCopies; ++a) {
        workers |= 1U << ((a - 1) * kSide + (a * i + j) % kSide);
      }
      files.push_back(workers);
    }
  }
  return files;
}

std::vector<uint32_t> Repetition() {
  std::vector<uint32_t> files;
  for (uint32_t file = 0; file < kSide; ++file) files.push_back(0b111U << (kCopies * file));
  return files;
}

double WorstFraction(const std::vector<uint32_t>& files, uint32_t liars) {
  size_t worst = 0;
  for (uint32_t set = 0; set < 1U << kWorkers; ++set) {
    if (std::popcount(set) != static_cast<int>(liars)) continue;
    const auto lost = std::count_if(files.begin(), files.end(), [&](uint32_t workers) {
      return 2 * std::popcount(workers & set) > static_cast<int>(kCopies);
    });
    worst = std::max(worst, static_cast<size_t>(lost));
  }
  return static_cast<double>(worst) / static_cast<double>(files.size());
}

Reference Table3(double value) {
  return {ReferenceKind::kPaper,
          "Konstantinidis, Ramamoorthy: ByzShield, MLSys 2021, Table 3 (K=15, l=5, r=3)", value};
}

}  // namespace

Result<ExperimentResult> RunCorruptedFractions(const ReproduceContext&) {
  RowList rows("A6");
  constexpr std::array<double, 6> kSquares = {0.04, 0.12, 0.20, 0.32, 0.48, 0.56};
  constexpr std::array<double, 6> kRepetition = {0.20, 0.20, 0.40, 0.40, 0.60, 0.60};
  for (uint32_t i = 0; i < kSquares.size(); ++i) {
    const uint32_t liars = i + 2;
    const std::string setting = fmt::format("K=15, r=3, q={}: corrupted part", liars);
    rows.Compare("MOLS", setting, Table3(kSquares[i]), WorstFraction(LatinSquares(), liars), 1e-9);
    rows.Compare("repetition", setting, Table3(kRepetition[i]), WorstFraction(Repetition(), liars),
                 1e-9);
  }
  rows.Note(
      "no code of the product runs here: Motley neither places data by Latin squares nor votes, "
      "and a worker's wrong but finite values are not outvoted");
  return std::move(rows).Take();
}

}  // namespace motley
