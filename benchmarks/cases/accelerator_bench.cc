// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/accelerator_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/random.h"
#include "devices/device_list.h"
#include "runtime/uv_loop.h"

namespace motley {
namespace {

// Runs `work` on the device and returns its result.
Status RunOn(UvLoop& loop, Device& device, Device::Work work) {
  Status result;
  device.Submit(1, std::move(work), [&](const Status& status) {
    result = status;
    loop.Stop();
  });
  loop.Run();
  return result;
}

std::vector<float> RandomValues(size_t count, uint64_t seed) {
  Random random(seed, Stream::kTest);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.NextDouble() - 1);
  return values;
}

BytesView BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)};
}

std::span<std::byte> RoomOf(std::vector<float>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(float)};
}

Result<Buffer> Put(Device& device, const std::vector<float>& values) {
  MOTLEY_ASSIGN_OR_RETURN(Buffer buffer, device.Allocate(values.size() * sizeof(float)));
  MOTLEY_RETURN_IF_ERROR(device.CopyIn(buffer, 0, BytesOf(values)));
  return buffer;
}

// Checks some 500 elements of a row-major product against float64.
Status CheckProduct(size_t n, const std::vector<float>& a, const std::vector<float>& b,
                    const std::vector<float>& got) {
  for (size_t at = 0; at < got.size(); at += std::max<size_t>(1, got.size() / 499)) {
    const size_t i = at / n, j = at % n;
    double want = 0, magnitude = 0;
    for (size_t l = 0; l < n; ++l) {
      const double term = double{a[i * n + l]} * b[l * n + j];
      want += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(got[at] - want) / magnitude;
    if (!(error <= 1e-5)) {
      return Status::Internal(fmt::format("element {} of a product is off by {:.2g}", at, error));
    }
  }
  return Status::Ok();
}

// The product of two square matrices, launched as often as a batch of layers does before anybody
// waits.
Status BenchProduct(const BenchOptions& options, Device& device, size_t n,
                    std::vector<BenchLine>& lines) {
  const std::vector<float> a = RandomValues(n * n, 1), b = RandomValues(n * n, 2);
  MOTLEY_ASSIGN_OR_RETURN(const Buffer on_a, Put(device, a));
  MOTLEY_ASSIGN_OR_RETURN(const Buffer on_b, Put(device, b));
  MOTLEY_ASSIGN_OR_RETURN(const Buffer on_c, device.Allocate(n * n * sizeof(float)));
  const auto multiply = [&](size_t depth) {
    device.kernels().gemm(device.queue(), 0, 0, n, n, depth, 1, on_a.floats(), on_b.floats(), 0,
                          on_c.floats());
  };
  std::vector<float> got(n * n);
  const auto wait = [&] { return device.CopyOut(on_c, 0, RoomOf(got).first(sizeof(float))); };
  multiply(n);
  MOTLEY_RETURN_IF_ERROR(device.CopyOut(on_c, 0, RoomOf(got)));
  MOTLEY_RETURN_IF_ERROR(CheckProduct(n, a, b, got));
  // A depth of at most 512 is one call of the library, whatever the driver adds around it.
  const size_t shallow = std::min<size_t>(n, 512);
  Status failure;
  const auto rate = [&](size_t depth) {
    constexpr int kCalls = 8;
    const double seconds = MedianSeconds(options, [&] {
      for (int i = 0; i < kCalls; ++i) multiply(depth);
      if (const Status status = wait(); !status.ok()) failure = status;
    });
    return 2.0 * static_cast<double>(n * n) * static_cast<double>(depth) * kCalls / seconds / 1e12;
  };
  const double whole = rate(n), base = rate(shallow);
  lines.push_back({fmt::format("{}: product {}^3", device.info().name, n), "TFLOP/s", whole,
                   fmt::format("depth {}", shallow), base});
  return failure;
}

// Copies beside the host's own, which each of them contains.
Status BenchCopies(const BenchOptions& options, Device& device, std::vector<BenchLine>& lines) {
  const size_t count = (options.full ? size_t{64} : size_t{1}) << 20;
  const std::vector<float> from = RandomValues(count, 3);
  std::vector<float> to(count);
  MOTLEY_ASSIGN_OR_RETURN(const Buffer buffer, device.Allocate(count * sizeof(float)));
  Status failure;
  const auto rate = [&](const auto& copy) {
    const double seconds = MedianSeconds(options, [&] {
      if (const Status status = copy(); !status.ok()) failure = status;
    });
    return static_cast<double>(count * sizeof(float)) / seconds / 1e9;
  };
  const auto out = [&] { return device.CopyOut(buffer, 0, RoomOf(to)); };
  const double in = rate([&] {
    MOTLEY_RETURN_IF_ERROR(device.CopyIn(buffer, 0, BytesOf(from)));
    return device.CopyOut(buffer, 0, RoomOf(to).first(sizeof(float)));  // It is there.
  });
  const double back = rate(out);
  MOTLEY_RETURN_IF_ERROR(failure);
  if (from != to) return Status::Internal("what was copied in and out again is not the same");
  const double host = rate([&] {
    std::memcpy(to.data(), from.data(), count * sizeof(float));
    return Status::Ok();
  });
  const std::string name = device.info().name;
  lines.push_back({name + ": copy in", "GB/s", in, "memcpy", host});
  lines.push_back({name + ": copy out", "GB/s", back, "memcpy", host});
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchAccelerators(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  for (const ListedDevice& listed : ListDevices()) {
    if (!listed.usable() || listed.kind == DeviceKind::kCpu) continue;
    // A processor in the guise of a device shows nothing at full sizes but its own slowness.
    const std::vector<size_t> sizes = !options.full         ? std::vector<size_t>{48}
                                      : listed.is_processor ? std::vector<size_t>{512}
                                                            : std::vector<size_t>{1024, 4096, 8192};
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, listed.make(*loop, 0));
    const Status status = RunOn(*loop, *device, [&] {
      for (const size_t n : sizes) {
        MOTLEY_RETURN_IF_ERROR(BenchProduct(options, *device, n, lines));
      }
      return BenchCopies(options, *device, lines);
    });
    if (!status.ok()) return status;
  }
  return lines;
}

}  // namespace motley
