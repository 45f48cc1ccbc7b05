// SPDX-License-Identifier: Apache-2.0
// Losses and their derivatives. Exponentials are only taken of numbers <= 0, so outputs of any size
// are safe.
#include <cmath>

#include "devices/cuda/kernels/partial_sums.cuh"
#include "devices/cuda/operations.h"

namespace motley::cuda {
namespace {

// Teams of `lanes` threads take a row each. A NaN or an infinite maximum makes the whole row NaN.
// Exponentials are computed twice, since storing and reading them takes longer.
struct SoftmaxBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, size_t columns, unsigned lanes,
                                const float* label, const float* weight, float* x,
                                double* partial) const {
    const size_t teams = Block::kThreads / lanes;
    typename Block::template PerThread<double> loss;
    block.ForThreads([&](unsigned t) { loss[t] = 0; });
    for (size_t first = block.index() * teams; first < rows; first += block.count() * teams) {
      typename Block::template PerThread<float> largest;
      block.ForThreads([&](unsigned t) {
        const Row row(first + t / lanes, rows, columns, label, x);
        largest[t] = -INFINITY;
        for (size_t c = t % lanes; c < row.columns; c += lanes) {
          largest[t] = largest[t] < row.x[c] ? row.x[c] : largest[t];
        }
      });
      Join<Block, float>(block, lanes, Larger{}, largest);
      typename Block::template PerThread<double> sum;
      block.ForThreads([&](unsigned t) {
        const Row row(first + t / lanes, rows, columns, label, x);
        sum[t] = 0;
        for (size_t c = t % lanes; c < row.columns; c += lanes) {
          sum[t] += expf(row.x[c] - largest[t]);
          if (c != row.label) continue;
          loss[t] += row.Weight(weight) * (static_cast<double>(largest[t]) - row.x[c]);
        }
      });
      Join<Block, double>(block, lanes, Plus{}, sum);
      block.ForThreads([&](unsigned t) {
        const Row row(first + t / lanes, rows, columns, label, x);
        const auto factor = static_cast<float>(1 / sum[t]);
        const float times = row.Weight(weight);
        for (size_t c = t % lanes; c < row.columns; c += lanes) {
          const float slope = expf(row.x[c] - largest[t]) * factor - (c == row.label ? 1.0f : 0.0f);
          row.x[c] = slope * times;
        }
        if (t % lanes == 0 && row.columns > 0) loss[t] += times * log(sum[t]);
      });
    }
    LeavePartial(block, loss, partial);
  }

 private:
  // A row beyond the matrix has no columns. A label that is out of range is no column, so nothing
  // is read or written for it.
  struct Row {
    MOTLEY_DEVICE Row(size_t row, size_t rows, size_t all, const float* labels, float* matrix)
        : columns(row < rows ? all : 0),
          label(row < rows && labels[row] >= 0 && labels[row] < static_cast<float>(all)
                    ? static_cast<size_t>(labels[row])
                    : all),
          x(matrix + row * all) {}
    MOTLEY_DEVICE float Weight(const float* weight) const {
      return weight != nullptr && label < columns ? weight[label] : 1.0f;
    }
    size_t columns;
    size_t label;
    float* x;
  };
};

// Adds up loss(label[i], weight of its class, x[i]), and writes the derivative to x[i].
template <typename Loss>
struct ScalarLossBody {
  template <typename Block>
  MOTLEY_DEVICE void operator()(Block& block, size_t rows, const float* label, const float* weight,
                                float* x, double* partial) const {
    constexpr size_t kStep = Block::kThreads;
    typename Block::template PerThread<double> loss;
    block.ForThreads([&](unsigned t) {
      loss[t] = 0;
      for (size_t i = block.index() * kStep + t; i < rows; i += block.count() * kStep) {
        const double times = weight != nullptr ? weight[label[i] > 0.5f ? 1 : 0] : 1;
        loss[t] += Loss{}(label[i], times, x[i]);
      }
    });
    LeavePartial(block, loss, partial);
  }
};

struct Logistic {
  MOTLEY_DEVICE double operator()(float label, double times, float& x) const {
    const double y = label > 0.5f ? 1 : -1;
    const double margin = y * x;
    const double small = exp(-fabs(margin));
    x = static_cast<float>(times * (-y * (margin < 0 ? 1 : small) / (1 + small)));
    return times * (log1p(small) + (margin < 0 ? -margin : 0));
  }
};

struct Hinge {
  MOTLEY_DEVICE double operator()(float label, double times, float& x) const {
    const double y = label > 0.5f ? 1 : -1;
    const double missing = 1 - y * x;  // The missing part of the margin; NaN stays.
    x = static_cast<float>(missing <= 0 ? 0 : missing == missing ? -y * times : missing);
    return missing <= 0 ? 0 : times * missing;
  }
};

struct Squared {
  MOTLEY_DEVICE double operator()(float label, double, float& x) const {
    x -= label;
    return 0.5 * x * x;
  }
};

template <typename Loss>
void AddScalarLoss(void* queue, const char* name, size_t rows, const float* label,
                   const float* weight, float* x, double* loss) {
  motley_driver_queue& to = QueueOf(queue);
  const size_t blocks = SummingBlocks(to, rows, WideBlock::kThreads);
  if (blocks == 0) return;
  Launch<WideBlock>(to, name, blocks, ScalarLossBody<Loss>{}, rows, label, weight, x, to.partials);
  SumPartials(to, name, blocks, true, loss);
}

}  // namespace

void SoftmaxCrossEntropy(void* queue, size_t rows, size_t columns, const float* label,
                         const float* weight, float* x, double* loss) {
  constexpr size_t kWorthABlock = 2048;
  if (rows == 0 || columns == 0) return;
  motley_driver_queue& to = QueueOf(queue);
  const unsigned lanes = columns >= kWorthABlock ? WideBlock::kThreads : LanesFor(columns);
  const size_t blocks = SummingBlocks(to, rows, WideBlock::kThreads / lanes);
  Launch<WideBlock>(to, "softmax_cross_entropy", blocks, SoftmaxBody{}, rows, columns, lanes, label,
                    weight, x, to.partials);
  SumPartials(to, "softmax_cross_entropy", blocks, true, loss);
}

void LogisticLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
                  double* loss) {
  AddScalarLoss<Logistic>(queue, "logistic_loss", rows, label, weight, x, loss);
}

void HingeLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
               double* loss) {
  AddScalarLoss<Hinge>(queue, "hinge_loss", rows, label, weight, x, loss);
}

void SquaredLoss(void* queue, size_t rows, const float* label, float* x, double* loss) {
  AddScalarLoss<Squared>(queue, "squared_loss", rows, label, nullptr, x, loss);
}

}  // namespace motley::cuda
