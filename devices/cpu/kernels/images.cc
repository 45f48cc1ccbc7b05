// SPDX-License-Identifier: Apache-2.0
// Windows over images. Work is cut into lines of images, and only one thread writes each value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

size_t PatchSize(const motley_window& w) {
  return size_t{w.kernel_height} * w.kernel_width * w.channels;
}

// The beginning of a line of the image.
const float* LineOf(const motley_window& w, const float* images, size_t row, size_t y) {
  return images + (row * w.height + y) * w.width * w.channels;
}

// Calls run(begin, end, x) for each window of a line. Columns [begin, end) of the window lie inside
// the image, the first of them at the image's column x.
template <typename Run>
void ForWindows(const motley_window& w, const Run& run) {
  const auto width = static_cast<ptrdiff_t>(w.width);
  const auto kernel = static_cast<ptrdiff_t>(w.kernel_width);
  auto first = -static_cast<ptrdiff_t>(w.padding);
  for (size_t ox = 0; ox < w.out_width; ++ox, first += w.stride) {
    const ptrdiff_t begin = std::clamp<ptrdiff_t>(-first, 0, kernel);
    const ptrdiff_t end = std::clamp<ptrdiff_t>(width - first, begin, kernel);
    run(ox, static_cast<size_t>(begin), static_cast<size_t>(end),
        static_cast<size_t>(first + begin));
  }
}

// A window of 3 on one channel is too short for a call of memcpy.
void CopyValues(const float* from, size_t count, float* to) {
  constexpr size_t kFew = 3;
  if (count == kFew) {
    std::memcpy(to, from, kFew * sizeof(float));
  } else {
    std::copy_n(from, count, to);
  }
}

// Copies one line of the image into all patches; a null line is padding.
void CopyLine(const motley_window& w, const float* line, float* patches) {
  const size_t channels = w.channels, count = w.kernel_width * channels;
  ForWindows(w, [&](size_t ox, size_t begin, size_t end, size_t x) {
    float* const to = patches + ox * PatchSize(w);
    if (line == nullptr || begin == end) {
      std::fill_n(to, count, 0.0f);
      return;
    }
    if (begin > 0) std::fill_n(to, begin * channels, 0.0f);
    CopyValues(line + x * channels, (end - begin) * channels, to + begin * channels);
    if (end < w.kernel_width) std::fill(to + end * channels, to + count, 0.0f);
  });
}

void AddLine(const motley_window& w, const float* patches, float* line) {
  const size_t channels = w.channels;
  ForWindows(w, [&](size_t ox, size_t begin, size_t end, size_t x) {
    const float* from = patches + ox * PatchSize(w) + begin * channels;
    const size_t count = (end - begin) * channels;
    if (count == 0) return;
    float* const to = line + x * channels;
    for (size_t i = 0; i < count; ++i) to[i] += from[i];
  });
}

// True if `value` is larger than the largest before it. A NaN counts as larger, and stays.
bool IsLarger(float value, float largest) { return !(value <= largest) && largest == largest; }

void PoolLine(const motley_window& w, const float* lines, float* out) {
  const size_t channels = w.channels;
  for (size_t ox = 0; ox < w.out_width; ++ox, out += channels) {
    const float* window = lines + ox * w.stride * channels;
    std::copy_n(window, channels, out);
    for (size_t k = 1; k < size_t{w.stride} * w.stride; ++k) {
      const float* from = window + (k / w.stride * w.width + k % w.stride) * channels;
      for (size_t c = 0; c < channels; ++c) out[c] = IsLarger(from[c], out[c]) ? from[c] : out[c];
    }
  }
}

// Writes a delta, or 0, to every value of the windows.
void PoolLineBackward(const motley_window& w, const float* lines, const float* delta,
                      float* lines_delta) {
  constexpr size_t kMost = 32;  // Channels processed together.
  const size_t channels = w.channels;
  const uint32_t places = w.stride * w.stride;
  for (size_t ox = 0; ox < w.out_width; ++ox) {
    for (size_t first = 0; first < channels; first += kMost) {
      const size_t count = std::min(kMost, channels - first);
      const size_t at = ox * w.stride * channels + first;
      float largest[kMost];
      uint32_t winner[kMost] = {};
      std::copy_n(lines + at, count, largest);
      for (uint32_t k = 1; k < places; ++k) {
        const float* from = lines + at + (k / w.stride * w.width + k % w.stride) * channels;
        for (size_t c = 0; c < count; ++c) {
          const bool larger = IsLarger(from[c], largest[c]);
          largest[c] = larger ? from[c] : largest[c];
          winner[c] = larger ? k : winner[c];
        }
      }
      const float* slopes = delta + ox * channels + first;
      for (uint32_t k = 0; k < places; ++k) {
        float* const to = lines_delta + at + (k / w.stride * w.width + k % w.stride) * channels;
        for (size_t c = 0; c < count; ++c) to[c] = winner[c] == k ? slopes[c] : 0.0f;
      }
    }
  }
}

}  // namespace

void Im2col(void* queue, const motley_window* window, size_t rows, const float* images,
            float* patches) {
  const motley_window w = *window;
  const size_t line_size = w.out_width * PatchSize(w);
  if (line_size == 0) return;
  ForBlocks(
      queue, rows * w.out_height, WorthwhileGrain(1, line_size), [=](size_t begin, size_t end) {
        for (size_t line = begin; line < end; ++line) {
          for (size_t ky = 0; ky < w.kernel_height; ++ky) {
            const size_t y = line % w.out_height * w.stride + ky;  // In the padded image.
            const bool inside = y >= w.padding && y - w.padding < w.height;
            CopyLine(w, inside ? LineOf(w, images, line / w.out_height, y - w.padding) : nullptr,
                     patches + line * line_size + ky * w.kernel_width * w.channels);
          }
        }
      });
}

void Col2im(void* queue, const motley_window* window, size_t rows, const float* patches,
            float* images) {
  const motley_window w = *window;
  const size_t line_size = w.out_width * PatchSize(w);
  if (line_size == 0 || w.out_height == 0 || w.width == 0) return;
  const size_t cost = size_t{w.width} * PatchSize(w) / w.stride / w.stride;
  ForBlocks(queue, rows * w.height, WorthwhileGrain(1, cost), [=](size_t begin, size_t end) {
    for (size_t line = begin; line < end; ++line) {
      const size_t row = line / w.height;
      const size_t y = line % w.height + w.padding;
      for (size_t ky = 0; ky < w.kernel_height && ky <= y; ++ky) {
        const size_t oy = (y - ky) / w.stride;
        if (oy * w.stride + ky != y || oy >= w.out_height) continue;
        const float* seen = patches + (row * w.out_height + oy) * line_size;
        AddLine(w, seen + ky * w.kernel_width * w.channels, images + line * w.width * w.channels);
      }
    }
  });
}

void MaxPool(void* queue, const motley_window* window, size_t rows, const float* images,
             float* out) {
  const motley_window w = *window;
  const size_t line_size = size_t{w.out_width} * w.channels;
  if (line_size == 0) return;
  const size_t cost = line_size * w.stride * w.stride;
  ForBlocks(queue, rows * w.out_height, WorthwhileGrain(1, cost), [=](size_t begin, size_t end) {
    for (size_t line = begin; line < end; ++line) {
      const size_t y = line % w.out_height * w.stride;
      PoolLine(w, LineOf(w, images, line / w.out_height, y), out + line * line_size);
    }
  });
}

void MaxPoolBackward(void* queue, const motley_window* window, size_t rows, const float* images,
                     const float* out_delta, float* images_delta) {
  const motley_window w = *window;
  const size_t size = size_t{w.height} * w.width * w.channels;
  const size_t line_size = size_t{w.out_width} * w.channels;
  // Windows may not reach the last lines and columns.
  const bool all = w.height == w.out_height * w.stride && w.width == w.out_width * w.stride;
  if (!all) Fill(queue, rows * size, 0, images_delta);
  if (line_size == 0) return;
  const size_t cost = 4 * line_size * w.stride * w.stride;
  ForBlocks(queue, rows * w.out_height, WorthwhileGrain(1, cost), [=](size_t begin, size_t end) {
    for (size_t line = begin; line < end; ++line) {
      const float* lines = LineOf(w, images, line / w.out_height, line % w.out_height * w.stride);
      PoolLineBackward(w, lines, out_delta + line * line_size, images_delta + (lines - images));
    }
  });
}

}  // namespace motley::cpu
