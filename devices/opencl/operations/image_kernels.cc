// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"

namespace motley::opencl {
namespace {

size_t PatchSize(const motley_window& w) {
  return size_t{w.kernel_height} * w.kernel_width * w.channels;
}

size_t ImageSize(const motley_window& w) { return size_t{w.height} * w.width * w.channels; }

size_t OutPixels(const motley_window& w) { return size_t{w.out_height} * w.out_width; }

// Launches an item for each of `count`, with the window as the first arguments.
template <typename... Args>
void LaunchOnImages(Queue& queue, KernelName name, size_t count, const motley_window& w,
                    const Args&... args) {
  LaunchItems(queue, name, count, cl_ulong{w.height}, cl_ulong{w.width}, cl_ulong{w.channels},
              cl_ulong{w.kernel_height}, cl_ulong{w.kernel_width}, cl_ulong{w.stride},
              cl_ulong{w.padding}, cl_ulong{w.out_height}, cl_ulong{w.out_width}, args...);
}

}  // namespace

void Im2col(void* queue, const motley_window* window, size_t rows, const float* images,
            float* patches) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * OutPixels(*window) * PatchSize(*window);
  if (count == 0) return;
  LaunchOnImages(q, KernelName::kIm2col, count, *window, q.Find(images, rows * ImageSize(*window)),
                 q.Find(patches, count));
}

void Col2im(void* queue, const motley_window* window, size_t rows, const float* patches,
            float* images) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * ImageSize(*window);
  const size_t patch_values = rows * OutPixels(*window) * PatchSize(*window);
  if (count == 0 || patch_values == 0) return;
  LaunchOnImages(q, KernelName::kCol2im, count, *window, q.Find(patches, patch_values),
                 q.Find(images, count));
}

void MaxPool(void* queue, const motley_window* window, size_t rows, const float* images,
             float* out) {
  Queue& q = QueueOf(queue);
  const size_t count = rows * OutPixels(*window) * window->channels;
  if (count == 0) return;
  LaunchOnImages(q, KernelName::kMaxPool, count, *window, q.Find(images, rows * ImageSize(*window)),
                 q.Find(out, count));
}

void MaxPoolBackward(void* queue, const motley_window* window, size_t rows, const float* images,
                     const float* out_delta, float* images_delta) {
  Queue& q = QueueOf(queue);
  const size_t values = rows * ImageSize(*window);
  const size_t count = rows * OutPixels(*window) * window->channels;
  Fill(queue, values, 0, images_delta);
  if (count == 0) return;
  LaunchOnImages(q, KernelName::kMaxPoolBackward, count, *window, q.Find(images, values),
                 q.Find(out_delta, count), q.Find(images_delta, values));
}

}  // namespace motley::opencl
