// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>

#include "benchmarks/cases/coding_bench.h"
#include "coding/decode/stream_decoder.h"
#include "coding/gradient_code.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr size_t kSlice = size_t{1} << 18;
constexpr double kNoLimit = 1e9;
constexpr double kMegabyte = 1e6;

// A line of /proc/self/status, in bytes; 0 if there is none.
double StatusBytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const size_t digit = line.find_first_of("0123456789");
    double kibibytes = 0;
    std::from_chars(line.data() + digit, line.data() + line.size(), kibibytes);
    return kibibytes * 1024;
  }
  return 0;
}

// Resets VmHWM to the current memory of the process.
bool ForgetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

struct Peak {
  double held = 0;     // Bytes that the decoder reports, with the output buffer.
  double process = 0;  // Growth of the process in bytes, as the kernel counts.
};

// Adds every row's vector, slice after slice, from the last row to the first. Decoders that add in
// order must then keep everything until row 0 comes. All rows send the same values, so the sum is
// known.
Result<Peak> DecodeFrom(const CodeForm& form, uint32_t stragglers, size_t length) {
  const AlignedVector values(std::min(kSlice, length), 0.5F);
  const auto parallel = MakeSerialParallelFor();
  if (!ForgetPeak()) return Status::Unavailable("/proc/self/clear_refs cannot be written");
  const double before = StatusBytes("VmRSS");
  Peak peak;
  std::vector<float> sum(length);
  StreamDecoder decoder(form, length, kSlice, *parallel);
  decoder.SetHome(sum);
  const RowId skipped = form.tiling() ? 0 : stragglers;
  std::vector<bool> present(form.workers, false);
  for (RowId row = form.workers; row-- > skipped && !decoder.Decodable();) {
    present[row] = true;
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      AlignedVector arrived(values.begin(),
                            values.begin() + static_cast<ptrdiff_t>(decoder.slice_length(slice)));
      const auto outcome = decoder.AddSlice(row, slice, arrived, kNoLimit);
      if (!outcome.ok()) return outcome.status();
      const double home = static_cast<double>(length * sizeof(float));
      peak.held = std::max(peak.held, home + static_cast<double>(decoder.held_bytes()));
    }
  }
  MOTLEY_RETURN_IF_ERROR(decoder.Finish(sum));
  peak.process = StatusBytes("VmHWM") - before;
  MOTLEY_ASSIGN_OR_RETURN(const DecodingVector solved, Solve(form, present));
  const Complex factor = std::accumulate(solved.a.begin(), solved.a.end(), Complex(0));
  const double even = 0.5 * (factor.real() - factor.imag());
  if (!(std::abs(sum[length / 2 * 2 - 2] - even) <= 1e-3)) return Status::Internal("a wrong sum");
  return peak;
}

}  // namespace

Result<std::vector<BenchLine>> BenchDecodeMemory(const BenchOptions& options) {
  const size_t length = options.full ? 25'000'000 : 1'000'000;
  constexpr uint32_t kWorkers = 32;
  std::vector<BenchLine> lines;
  for (const char* code : {"none", "repetition", "cyclic", "heterogeneous", "rs"}) {
    CodeRequest request;
    const uint32_t stragglers = std::string_view(code) == "none" ? 0 : 2;
    request.speeds.assign(kWorkers, 1);
    request.stragglers = stragglers;
    request.partitions = kWorkers;
    MOTLEY_ASSIGN_OR_RETURN(const CodeForm form, BuildCode(code, request));
    MOTLEY_ASSIGN_OR_RETURN(const Peak peak, DecodeFrom(form, stragglers, length));
    const double gradient = static_cast<double>(length * sizeof(float));
    const double bound = (stragglers + 2) * gradient + kSlice * sizeof(float);
    const std::string base = fmt::format("{} gradients and a slice", stragglers + 2);
    lines.push_back({fmt::format("{} n={} s={}, accounted", code, kWorkers, stragglers),
                     "MB, less is better", peak.held / kMegabyte, base, bound / kMegabyte});
    lines.push_back({fmt::format("{} n={} s={}, VmHWM", code, kWorkers, stragglers),
                     "MB, less is better", peak.process / kMegabyte, base, bound / kMegabyte});
  }
  return lines;
}

}  // namespace motley
