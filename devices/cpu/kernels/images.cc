// SPDX-License-Identifier: Apache-2.0
// Windows over images. Work is cut into lines of images, and every value is one thread's.
#include <algorithm>
#include <cstddef>

#include "devices/cpu/kernels/operations.h"
#include "devices/cpu/kernels/ranges.h"

namespace motley::cpu {
namespace {

size_t PatchSize(const motley_window& w) {
  return size_t{w.kernel_height} * w.kernel_width * w.channels;
}

// Where a line of windows, or one of the image, begins.
const float* LineOf(const motley_window& w, const float* images, size_t row, size_t y) {
  return images + (row * w.height + y) * w.width * w.channels;
}

// What the windows of one line see of one line of the image, null where that is padding: a piece
// of each patch.
void CopyLine(const motley_window& w, const float* line, float* patches) {
  const size_t channels = w.channels;
  for (size_t ox = 0; ox < w.out_width; ++ox, patches += PatchSize(w)) {
    const auto first = static_cast<ptrdiff_t>(ox * w.stride) - static_cast<ptrdiff_t>(w.padding);
    const auto width = static_cast<ptrdiff_t>(w.width);
    const auto kernel = static_cast<ptrdiff_t>(w.kernel_width);
    ptrdiff_t begin = std::clamp<ptrdiff_t>(-first, 0, kernel);
    ptrdiff_t end = std::clamp<ptrdiff_t>(width - first, begin, kernel);
    if (line == nullptr) begin = end = kernel;
    float* const inside = patches + begin * static_cast<ptrdiff_t>(channels);
    const size_t count = static_cast<size_t>(end - begin) * channels;
    std::fill(patches, inside, 0.0f);
    if (count > 0) std::copy_n(line + (first + begin) * w.channels, count, inside);
    std::fill(inside + count, patches + w.kernel_width * channels, 0.0f);
  }
}

// Adds to one pixel what the windows of line `oy` saw of it in line `ky` of theirs.
void AddToPixel(const motley_window& w, const float* patches, size_t x, size_t ky, float* pixel) {
  for (size_t kx = 0; kx < w.kernel_width && kx <= x + w.padding; ++kx) {
    const size_t ox = (x + w.padding - kx) / w.stride;
    if (ox * w.stride + kx != x + w.padding || ox >= w.out_width) continue;
    const float* from = patches + ox * PatchSize(w) + (ky * w.kernel_width + kx) * w.channels;
    for (size_t c = 0; c < w.channels; ++c) pixel[c] += from[c];
  }
}

// Whether `value` is larger than the largest before it; a NaN is, and stays.
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

void PoolLineBackward(const motley_window& w, const float* lines, const float* delta,
                      float* lines_delta) {
  const size_t channels = w.channels;
  for (size_t i = 0; i < w.out_width * channels; ++i) {
    const size_t first = i / channels * w.stride * channels + i % channels;
    size_t winner = first;
    for (size_t k = 1; k < size_t{w.stride} * w.stride; ++k) {
      const size_t at = first + (k / w.stride * w.width + k % w.stride) * channels;
      if (IsLarger(lines[at], lines[winner])) winner = at;
    }
    lines_delta[winner] = delta[i];
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
            const size_t y = line % w.out_height * w.stride + ky;  // Of the padded image.
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
        for (size_t x = 0; x < w.width; ++x) {
          AddToPixel(w, seen, x, ky, images + (line * w.width + x) * w.channels);
        }
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
  Fill(queue, rows * size, 0, images_delta);
  if (line_size == 0) return;
  const size_t cost = line_size * w.stride * w.stride;
  ForBlocks(queue, rows * w.out_height, WorthwhileGrain(1, cost), [=](size_t begin, size_t end) {
    for (size_t line = begin; line < end; ++line) {
      const float* lines = LineOf(w, images, line / w.out_height, line % w.out_height * w.stride);
      PoolLineBackward(w, lines, out_delta + line * line_size, images_delta + (lines - images));
    }
  });
}

}  // namespace motley::cpu
