// SPDX-License-Identifier: Apache-2.0
// Kernels that process each row of a matrix separately. Teams of `lanes` threads take one row each,
// and sum in float64 in a fixed order.
#include <cmath>

#include "devices/cuda/kernels/pointwise.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

// The part of a row that one thread of a team has; empty if the matrix has no such row.
struct Part {
  MOTLEY_DEVICE Part(size_t the_row, unsigned lane, size_t rows, size_t columns)
      : row(the_row), first(lane), end(the_row < rows ? columns : 0), begin(the_row * columns) {}
  // True for the thread that writes the row's single values.
  MOTLEY_DEVICE bool leads() const { return first == 0 && end > 0; }

  size_t row, first, end;
  size_t begin;  // Start of the row in the matrix.
};

struct AddRowSumsBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, size_t columns, unsigned lanes,
                                float alpha, const float* x, float* sum) const {
    const size_t teams = Block::kThreads / lanes;
    for (size_t first = block.index() * teams; first < rows; first += block.count() * teams) {
      typename Block::template PerThread<double> total;
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        total[t] = 0;
        for (size_t c = part.first; c < part.end; c += lanes) total[t] += x[part.begin + c];
      });
      Join<Block, double>(block, lanes, Plus{}, total);
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        if (part.leads()) sum[part.row] = static_cast<float>(sum[part.row] + alpha * total[t]);
      });
    }
  }
};

struct LayerNormBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, size_t columns, unsigned lanes,
                                float epsilon, const float* gain, const float* bias, float* x,
                                float* inverse, float* out) const {
    const size_t teams = Block::kThreads / lanes;
    const auto count = static_cast<double>(columns);
    for (size_t first = block.index() * teams; first < rows; first += block.count() * teams) {
      typename Block::template PerThread<double> sum, squares;
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        sum[t] = 0;
        for (size_t c = part.first; c < part.end; c += lanes) sum[t] += x[part.begin + c];
      });
      Join<Block, double>(block, lanes, Plus{}, sum);
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        squares[t] = 0;
        for (size_t c = part.first; c < part.end; c += lanes) {
          const double distance = x[part.begin + c] - sum[t] / count;
          squares[t] += distance * distance;
        }
      });
      Join<Block, double>(block, lanes, Plus{}, squares);
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        const double mean = sum[t] / count;
        const double scale = 1 / sqrt(squares[t] / count + epsilon);
        if (part.leads()) inverse[part.row] = static_cast<float>(scale);
        for (size_t c = part.first; c < part.end; c += lanes) {
          const auto normal = static_cast<float>((x[part.begin + c] - mean) * scale);
          x[part.begin + c] = normal;
          out[part.begin + c] = gain[c] * normal + bias[c];
        }
      });
    }
  }
};

struct LayerNormBackwardBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, size_t columns, unsigned lanes,
                                const float* gain, const float* inverse, float* normal,
                                float* delta) const {
    const size_t teams = Block::kThreads / lanes;
    const auto count = static_cast<double>(columns);
    for (size_t first = block.index() * teams; first < rows; first += block.count() * teams) {
      typename Block::template PerThread<double> sum, along;
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        sum[t] = along[t] = 0;
        for (size_t c = part.first; c < part.end; c += lanes) {
          const double slope = static_cast<double>(gain[c]) * delta[part.begin + c];
          sum[t] += slope;
          along[t] += slope * normal[part.begin + c];
        }
      });
      Join<Block, double>(block, lanes, Plus{}, sum);
      Join<Block, double>(block, lanes, Plus{}, along);
      block.ForThreads([&](unsigned t) {
        const Part part(first + t / lanes, t % lanes, rows, columns);
        for (size_t c = part.first; c < part.end; c += lanes) {
          const float slope = delta[part.begin + c];
          const float value = normal[part.begin + c];
          const double rest =
              static_cast<double>(gain[c]) * slope - (sum[t] + along[t] * value) / count;
          delta[part.begin + c] = static_cast<float>(inverse[part.row] * rest);
          normal[part.begin + c] = slope * value;
        }
      });
    }
  }
};

template <typename Body, typename... Arguments>
void ForRows(void* queue, const char* name, size_t rows, size_t columns, Body body,
             Arguments... arguments) {
  constexpr size_t kWorthABlock = 2048;
  if (rows == 0 || columns == 0) return;
  motley_driver_queue& to = QueueOf(queue);
  const unsigned lanes = columns >= kWorthABlock ? WideBlock::kThreads : LanesFor(columns);
  const size_t blocks = std::min<size_t>(Pieces(rows, WideBlock::kThreads / lanes), to.most_blocks);
  Launch<WideBlock>(to, name, blocks, body, rows, columns, lanes, arguments...);
}

}  // namespace

void AddRowSums(void* queue, size_t rows, size_t columns, float alpha, const float* x, float* sum) {
  ForRows(queue, "add_row_sums", rows, columns, AddRowSumsBody{}, alpha, x, sum);
}

void ScaleRows(void* queue, size_t rows, size_t columns, const float* factor, const float* x,
               float* y) {
  Pointwise(queue, "scale_rows", rows * columns, [=] MOTLEY_DEVICE(size_t i) {
    size_t row = i;
    TakeLast(row, columns);
    y[i] = factor[row] * x[i];
  });
}

void LayerNorm(void* queue, size_t rows, size_t columns, float epsilon, const float* gain,
               const float* bias, float* x, float* inverse, float* out) {
  ForRows(queue, "layer_norm", rows, columns, LayerNormBody{}, epsilon, gain, bias, x, inverse,
          out);
}

void LayerNormBackward(void* queue, size_t rows, size_t columns, const float* gain,
                       const float* inverse, float* normal, float* delta) {
  ForRows(queue, "layer_norm_backward", rows, columns, LayerNormBackwardBody{}, gain, inverse,
          normal, delta);
}

}  // namespace motley::cuda
