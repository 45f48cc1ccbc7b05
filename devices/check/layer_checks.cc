// SPDX-License-Identifier: Apache-2.0
// Kernels on rows and on images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "devices/check/checks.h"

namespace motley::check {
namespace {

std::vector<std::pair<size_t, size_t>> Matrices(const CheckRun& run) {
  std::vector<std::pair<size_t, size_t>> shapes = {{0, 5},    {1, 1},    {7, 10},   {3000, 3},
                                                   {33, 300}, {5, 3001}, {1025, 64}};
  if (run.large) shapes.emplace_back(2100, 2003);
  return shapes;
}

struct Windows {
  motley_window window;
  size_t rows;

  size_t images() const { return rows * window.height * window.width * window.channels; }
  size_t outs() const { return rows * window.out_height * window.out_width; }
  size_t patch() const {
    return size_t{window.kernel_height} * window.kernel_width * window.channels;
  }
};

std::vector<Windows> Convolutions(const CheckRun& run) {
  std::vector<Windows> all = {{{5, 7, 3, 3, 3, 1, 1, 5, 7}, 0},
                              {{1, 1, 1, 1, 1, 1, 0, 1, 1}, 1},
                              {{8, 8, 1, 3, 3, 1, 1, 8, 8}, 13},
                              {{9, 6, 2, 3, 2, 2, 1, 5, 4}, 7}};
  if (run.large) all.push_back({{64, 64, 3, 3, 3, 1, 1, 64, 64}, 40});
  return all;
}

std::vector<Windows> Poolings(const CheckRun& run) {
  std::vector<Windows> all = {{{8, 8, 16, 2, 2, 2, 0, 4, 4}, 0},
                              {{1, 1, 1, 1, 1, 1, 0, 1, 1}, 1},
                              {{5, 7, 3, 2, 2, 2, 0, 2, 3}, 13},
                              {{9, 11, 5, 3, 3, 3, 0, 3, 3}, 7}};
  if (run.large) all.push_back({{65, 64, 33, 1, 1, 1, 0, 65, 64}, 32});
  return all;
}

// Calls each(index in patches, index in images) for all values; SIZE_MAX stands for the padding.
template <typename Each>
void ForPatches(const Windows& all, const Each& each) {
  const motley_window& w = all.window;
  for (size_t i = 0; i < all.outs() * all.patch(); ++i) {
    const size_t c = i % w.channels;
    const size_t kx = i / w.channels % w.kernel_width;
    const size_t ky = i / w.channels / w.kernel_width % w.kernel_height;
    const size_t out = i / all.patch();
    const size_t x = out % w.out_width * w.stride + kx;
    const size_t y = out / w.out_width % w.out_height * w.stride + ky;
    const size_t row = out / w.out_width / w.out_height;
    const bool inside =
        x >= w.padding && x - w.padding < w.width && y >= w.padding && y - w.padding < w.height;
    const size_t pixel = (row * w.height + y - w.padding) * w.width + x - w.padding;
    each(i, inside ? pixel * w.channels + c : SIZE_MAX);
  }
}

// The index of the first of the largest values in the window of output `i`.
size_t WinnerOf(const Windows& all, const std::vector<float>& images, size_t i) {
  const motley_window& w = all.window;
  const size_t out = i / w.channels;
  size_t winner = SIZE_MAX;
  for (size_t k = 0; k < size_t{w.stride} * w.stride; ++k) {
    const size_t y = out / w.out_width % w.out_height * w.stride + k / w.stride;
    const size_t x = out % w.out_width * w.stride + k % w.stride;
    const size_t row = out / w.out_width / w.out_height;
    const size_t at = ((row * w.height + y) * w.width + x) * w.channels + i % w.channels;
    if (winner == SIZE_MAX || images[at] > images[winner]) winner = at;
  }
  return winner;
}

// Uses few distinct values, so that some are equal.
std::vector<float> Steps(CheckRun& run, size_t count) {
  auto values = run.Values(count, -2, 2);
  for (float& value : values) value = std::round(value);
  return values;
}

}  // namespace

void CheckAddRowSums(CheckRun& run) {
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto x = run.Values(rows * columns), sum = run.Values(rows);
    const auto stored = run.Store(sum);
    run.table().add_row_sums(run.queue(), rows, columns, -0.5f, run.Store(x), stored);
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} x {}", rows, columns));
    for (size_t r = 0; r < rows; ++r) {
      double want = sum[r], magnitude = std::abs(want);
      for (size_t c = 0; c < columns; ++c) {
        want -= 0.5 * x[r * columns + c];
        magnitude += std::abs(0.5 * x[r * columns + c]);
      }
      run.meter.Add(got[r], want, magnitude);
    }
  }
}

void CheckScaleRows(CheckRun& run) {
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto x = run.Values(rows * columns), factor = run.Values(rows);
    const auto stored = run.Store(x);
    run.table().scale_rows(run.queue(), rows, columns, run.Store(factor), stored, stored);
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} x {}", rows, columns));
    for (size_t i = 0; i < got.size(); ++i) {
      const double want = double{factor[i / columns]} * x[i];
      run.meter.Add(got[i], want, std::abs(want));
    }
  }
}

void CheckMultiply(CheckRun& run) {
  for (const size_t count : run.Counts()) {
    const auto a = run.Values(count), b = run.Values(count);
    const auto stored = run.Store(b);
    run.table().multiply(run.queue(), count, run.Store(a), stored, stored);
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} values", count));
    for (size_t i = 0; i < count; ++i) {
      const double want = double{a[i]} * b[i];
      run.meter.Add(got[i], want, std::abs(want));
    }
  }
}

void CheckIm2col(CheckRun& run) {
  for (const Windows& all : Convolutions(run)) {
    const auto images = run.Values(all.images());
    const auto patches = run.Store(std::vector<float>(all.outs() * all.patch(), 7.0f));
    run.table().im2col(run.queue(), &all.window, all.rows, run.Store(images), patches);
    const auto got = patches.Read();
    run.meter.At(fmt::format("{} images", all.rows));
    ForPatches(all, [&](size_t i, size_t at) {
      run.meter.Add(got[i], at == SIZE_MAX ? 0 : images[at], 1);
    });
  }
}

void CheckCol2im(CheckRun& run) {
  for (const Windows& all : Convolutions(run)) {
    const auto patches = run.Values(all.outs() * all.patch()), images = run.Values(all.images());
    const auto stored = run.Store(images);
    run.table().col2im(run.queue(), &all.window, all.rows, run.Store(patches), stored);
    std::vector<double> want(images.begin(), images.end()), magnitude(images.size(), 1);
    ForPatches(all, [&](size_t i, size_t at) {
      if (at == SIZE_MAX) return;
      want[at] += patches[i];
      magnitude[at] += std::abs(patches[i]);
    });
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} images", all.rows));
    for (size_t i = 0; i < got.size(); ++i) run.meter.Add(got[i], want[i], magnitude[i]);
  }
}

void CheckMaxPool(CheckRun& run) {
  for (const Windows& all : Poolings(run)) {
    const auto images = Steps(run, all.images());
    const auto out = run.Store(std::vector<float>(all.outs() * all.window.channels, 7.0f));
    run.table().max_pool(run.queue(), &all.window, all.rows, run.Store(images), out);
    const auto got = out.Read();
    run.meter.At(fmt::format("{} images", all.rows));
    for (size_t i = 0; i < got.size(); ++i) {
      run.meter.Add(got[i], images[WinnerOf(all, images, i)], 1);
    }
  }
}

void CheckMaxPoolBackward(CheckRun& run) {
  for (const Windows& all : Poolings(run)) {
    const auto images = Steps(run, all.images());
    const auto delta = run.Values(all.outs() * all.window.channels);
    const auto stored = run.Store(std::vector<float>(images.size(), 7.0f));
    run.table().max_pool_backward(run.queue(), &all.window, all.rows, run.Store(images),
                                  run.Store(delta), stored);
    std::vector<double> want(images.size());
    for (size_t i = 0; i < delta.size(); ++i) want[WinnerOf(all, images, i)] = delta[i];
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} images", all.rows));
    for (size_t i = 0; i < got.size(); ++i) run.meter.Add(got[i], want[i], 1);
  }
}

void CheckLayerNorm(CheckRun& run) {
  constexpr float kEpsilon = 1e-5f;
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto x = run.Values(rows * columns, 999, 1001);
    const auto gain = run.Values(columns), bias = run.Values(columns);
    const auto out = run.Store(std::vector<float>(rows * columns, 7.0f));
    run.table().layer_norm(run.queue(), rows, columns, kEpsilon, run.Store(gain), run.Store(bias),
                           run.Store(x), run.Store(std::vector<float>(rows)), out);
    const auto got = out.Read();
    run.meter.At(fmt::format("{} x {}", rows, columns));
    for (size_t r = 0; r < rows; ++r) {
      double mean = 0, variance = 0;
      const float* row = x.data() + r * columns;
      const auto count = static_cast<double>(columns);
      for (size_t c = 0; c < columns; ++c) mean += row[c] / count;
      for (size_t c = 0; c < columns; ++c) variance += (row[c] - mean) * (row[c] - mean) / count;
      for (size_t c = 0; c < columns; ++c) {
        const double normal = (row[c] - mean) / std::sqrt(variance + kEpsilon);
        run.meter.Add(got[r * columns + c], gain[c] * normal + bias[c], 1);
      }
    }
  }
}

void CheckLayerNormBackward(CheckRun& run) {
  for (const auto& [rows, columns] : Matrices(run)) {
    const auto gain = run.Values(columns), inverse = run.Values(rows, 0.5, 2);
    const auto normal = run.Values(rows * columns, -2, 2), delta = run.Values(rows * columns);
    const auto stored = run.Store(delta);
    run.table().layer_norm_backward(run.queue(), rows, columns, run.Store(gain), run.Store(inverse),
                                    run.Store(normal), stored);
    const auto got = stored.Read();
    run.meter.At(fmt::format("{} x {}", rows, columns));
    for (size_t r = 0; r < rows; ++r) {
      double sum = 0, along = 0;
      const size_t first = r * columns;
      for (size_t c = 0; c < columns; ++c) {
        sum += double{gain[c]} * delta[first + c];
        along += double{gain[c]} * delta[first + c] * normal[first + c];
      }
      for (size_t c = 0; c < columns; ++c) {
        const double rest = double{gain[c]} * delta[first + c] -
                            (sum + along * normal[first + c]) / static_cast<double>(columns);
        run.meter.Add(got[first + c], inverse[r] * rest, 1);
      }
    }
  }
}

void CheckHinge(CheckRun& run) {
  const std::vector<float> weight = {0.25f, 0.75f};
  const auto weight_stored = run.Store(weight);
  const float* const weights_at = weight_stored;
  for (size_t turn = 0; turn < 2 * run.Counts().size(); ++turn) {
    const size_t count = run.Counts()[turn / 2];
    const bool weighted = turn % 2 == 1;
    const auto x = run.Values(count, -3, 3), label = run.Values(count);
    const auto stored = run.Store(x);
    const Operand<double> loss(run.rig, {1.0});
    run.table().hinge_loss(run.queue(), count, run.Store(label), weighted ? weights_at : nullptr,
                           stored, loss);
    const auto got = stored.Read();
    double want = 1;
    run.meter.At(fmt::format("{} values", count));
    for (size_t i = 0; i < count; ++i) {
      const double y = label[i] > 0.5f ? 1 : -1;
      const double times = weighted ? weight[y > 0 ? 1 : 0] : 1;
      want += times * std::max(0.0, 1 - y * x[i]);
      run.meter.Add(got[i], 1 - y * x[i] > 0 ? -y * times : 0, 1);
    }
    run.meter.Add(loss.Read()[0], want, want);
  }
}

}  // namespace motley::check
