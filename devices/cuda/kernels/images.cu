// SPDX-License-Identifier: Apache-2.0
// Windows over images. Each written value has a thread of its own, so nothing is added atomically.
#include "devices/cuda/kernels/pointwise.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

size_t PatchSize(const motley_window& w) {
  return size_t{w.kernel_height} * w.kernel_width * w.channels;
}

size_t ImageSize(const motley_window& w) { return size_t{w.height} * w.width * w.channels; }

size_t OutSize(const motley_window& w) { return size_t{w.out_height} * w.out_width * w.channels; }

// The value of images [rows, height, width, channels] with a given number.
struct Pixel {
  MOTLEY_DEVICE Pixel(size_t i, size_t height, size_t width, size_t channels)
      : c(TakeLast(i, channels)), x(TakeLast(i, width)), y(TakeLast(i, height)), row(i) {}
  size_t c, x, y, row;
};

// The sum of the values of patches [rows, out_height, out_width, kernel_height, kernel_width,
// channels] that belong to a pixel.
MOTLEY_DEVICE float SumOfPatches(const motley_window& w, const Pixel& p, const float* patches) {
  float sum = 0;
  for (size_t ky = 0; ky < w.kernel_height && ky <= p.y + w.padding; ++ky) {
    const size_t oy = (p.y + w.padding - ky) / w.stride;
    if (oy * w.stride + ky != p.y + w.padding || oy >= w.out_height) continue;
    for (size_t kx = 0; kx < w.kernel_width && kx <= p.x + w.padding; ++kx) {
      const size_t ox = (p.x + w.padding - kx) / w.stride;
      if (ox * w.stride + kx != p.x + w.padding || ox >= w.out_width) continue;
      const size_t patch = (p.row * w.out_height + oy) * w.out_width + ox;
      sum += patches[((patch * w.kernel_height + ky) * w.kernel_width + kx) * w.channels + p.c];
    }
  }
  return sum;
}

// The place of the first largest value in the window of an output; a NaN counts as largest.
MOTLEY_DEVICE size_t WinnerOf(const motley_window& w, const Pixel& out, const float* images) {
  const size_t first =
      ((out.row * w.height + out.y * w.stride) * w.width + out.x * w.stride) * w.channels + out.c;
  size_t winner = first;
  float largest = images[first];
  for (size_t ky = 0; ky < w.stride; ++ky) {
    for (size_t kx = 0; kx < w.stride; ++kx) {
      const size_t at = first + (ky * w.width + kx) * w.channels;
      const float value = images[at];
      if (value <= largest || largest != largest) continue;
      winner = at;
      largest = value;
    }
  }
  return winner;
}

}  // namespace

void Im2col(void* queue, const motley_window* window, size_t rows, const float* images,
            float* patches) {
  const motley_window w = *window;
  const size_t count = rows * w.out_height * w.out_width * PatchSize(w);
  Pointwise(queue, "im2col", count, [=] MOTLEY_DEVICE(size_t i) {
    size_t patch = i;
    const size_t c = TakeLast(patch, w.channels);
    const size_t kx = TakeLast(patch, w.kernel_width);
    const size_t ky = TakeLast(patch, w.kernel_height);
    const size_t ox = TakeLast(patch, w.out_width);
    const size_t oy = TakeLast(patch, w.out_height);
    // Above and left of the image these wrap around to huge values.
    const size_t y = oy * w.stride + ky - w.padding;
    const size_t x = ox * w.stride + kx - w.padding;
    const bool inside = y < w.height && x < w.width;
    patches[i] = inside ? images[((patch * w.height + y) * w.width + x) * w.channels + c] : 0.0f;
  });
}

void Col2im(void* queue, const motley_window* window, size_t rows, const float* patches,
            float* images) {
  const motley_window w = *window;
  if (w.out_height == 0 || w.out_width == 0) return;
  Pointwise(
      queue, "col2im", rows * ImageSize(w),
      [=] MOTLEY_DEVICE(size_t i, float& value) {
        value += SumOfPatches(w, Pixel(i, w.height, w.width, w.channels), patches);
      },
      images);
}

void MaxPool(void* queue, const motley_window* window, size_t rows, const float* images,
             float* out) {
  const motley_window w = *window;
  Pointwise(queue, "max_pool", rows * OutSize(w), [=] MOTLEY_DEVICE(size_t i) {
    out[i] = images[WinnerOf(w, Pixel(i, w.out_height, w.out_width, w.channels), images)];
  });
}

void MaxPoolBackward(void* queue, const motley_window* window, size_t rows, const float* images,
                     const float* out_delta, float* images_delta) {
  const motley_window w = *window;
  Fill(queue, rows * ImageSize(w), 0, images_delta);
  Pointwise(queue, "max_pool_backward", rows * OutSize(w), [=] MOTLEY_DEVICE(size_t i) {
    const size_t winner = WinnerOf(w, Pixel(i, w.out_height, w.out_width, w.channels), images);
    images_delta[winner] = out_delta[i];
  });
}

}  // namespace motley::cuda
