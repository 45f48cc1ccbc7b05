// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/operations/sums.h"

#include <algorithm>

#include "base/signs.h"
#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"

namespace motley::opencl {
namespace {

constexpr size_t kMostSums = size_t{1} << 17;
constexpr size_t kFewestRows = 64;         // In a block; fewer are not worth a sum.
constexpr size_t kItemsOfSquares = 32;     // Values per item: TILE in kernels/losses.cl.
constexpr size_t kMostColumnsOfItem = 64;  // A longer row is worth a group.

size_t Parts(size_t count, size_t most) { return (count + most - 1) / most; }

// Runs a kernel in which each of the `groups` groups writes a sum, and adds the sums up in *out.
template <typename... Args>
void SumGroups(Queue& queue, KernelName name, size_t groups, bool add, double* out,
               const Args&... args) {
  const Place partial = queue.ScratchFor(Scratch::kSums, kMostGroups * sizeof(double));
  LaunchGroups(queue, name, groups, 1, args..., partial);
  LaunchGroups(queue, KernelName::kFinishSum, 1, 1, cl_ulong{groups}, partial, cl_int{add},
               queue.Find(out, 1));
}

// The weights of classes. Without weights, `other` is passed instead and not read.
Place FindWeights(Queue& queue, const float* weight, size_t classes, const Place& other) {
  return weight != nullptr ? queue.Find(weight, classes) : other;
}

void AddScalarLoss(void* queue, KernelName name, size_t rows, const float* label,
                   const float* weight, float* x, double* loss) {
  Queue& q = QueueOf(queue);
  if (rows == 0) return;
  const Place labels = q.Find(label, rows);
  SumGroups(q, name, std::min(kMostGroups, Parts(rows, q.group_items())), true, loss,
            cl_ulong{rows}, labels, cl_int{weight != nullptr}, FindWeights(q, weight, 2, labels),
            q.Find(x, rows));
}

}  // namespace

void SumRows(Queue& queue, size_t rows, size_t columns, float alpha, const Place& x,
             const Place* weight, float beta, const Place& c) {
  if (columns == 0) return;
  const size_t most_blocks = std::max<size_t>(1, kMostSums / columns);
  const size_t rows_of_block = std::max(kFewestRows, Parts(rows, most_blocks));
  const size_t blocks = Parts(rows, rows_of_block);
  const Place partial =
      queue.ScratchFor(Scratch::kSums, std::max(kMostSums, columns) * sizeof(double));
  LaunchGroups(queue, KernelName::kColumnSums, Parts(columns, queue.group_items()), blocks,
               cl_ulong{rows}, cl_ulong{columns}, cl_ulong{rows_of_block}, x,
               cl_int{weight != nullptr}, weight != nullptr ? *weight : x, partial);
  LaunchItems(queue, KernelName::kFinishColumns, columns, cl_ulong{blocks}, partial, alpha, beta,
              c);
}

void AddColumnSums(void* queue, size_t rows, size_t columns, float alpha, const float* x,
                   float* sum) {
  Queue& q = QueueOf(queue);
  if (rows == 0) return;
  SumRows(q, rows, columns, alpha, q.Find(x, rows * columns), nullptr, 1, q.Find(sum, columns));
}

void SumOfSquares(void* queue, size_t count, const float* x, double* sum) {
  Queue& q = QueueOf(queue);
  const size_t groups = std::min(kMostGroups, Parts(count, kItemsOfSquares * q.group_items()));
  SumGroups(q, KernelName::kSquareSums, groups, false, sum, cl_ulong{count}, q.Find(x, count));
}

// The groups write their sums of squares first, and their sums of signed values after all of these.
void Sketch(void* queue, size_t count, uint64_t seed, const float* x, double* sums) {
  Queue& q = QueueOf(queue);
  const size_t words = Parts(count, kSignBlock) * kSignLanes;
  const size_t groups = std::min(kMostGroups, Parts(words, q.group_items()));
  const SignKey key = SignKeyOf(seed);
  Place partial = q.ScratchFor(Scratch::kSums, 2 * kMostGroups * sizeof(double));
  LaunchGroups(q, KernelName::kSketchSums, groups, 1, cl_ulong{count}, cl_uint{key.first},
               cl_uint{key.second}, q.Find(x, count), partial);
  for (size_t i = 0; i < 2; ++i) {
    LaunchGroups(q, KernelName::kFinishSum, 1, 1, cl_ulong{groups}, partial, cl_int{0},
                 q.Find(sums + i, 1));
    partial.first += groups;
  }
}

void SoftmaxCrossEntropy(void* queue, size_t rows, size_t columns, const float* label,
                         const float* weight, float* x, double* loss) {
  Queue& q = QueueOf(queue);
  if (rows == 0 || columns == 0) return;
  const bool by_items = columns <= kMostColumnsOfItem;
  const Place labels = q.Find(label, rows);
  SumGroups(q, by_items ? KernelName::kSoftmaxOfItems : KernelName::kSoftmaxOfGroups,
            std::min(kMostGroups, by_items ? Parts(rows, q.group_items()) : rows), true, loss,
            cl_ulong{rows}, cl_ulong{columns}, labels, cl_int{weight != nullptr},
            FindWeights(q, weight, columns, labels), q.Find(x, rows * columns));
}

void LogisticLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
                  double* loss) {
  AddScalarLoss(queue, KernelName::kLogisticLoss, rows, label, weight, x, loss);
}

void HingeLoss(void* queue, size_t rows, const float* label, const float* weight, float* x,
               double* loss) {
  AddScalarLoss(queue, KernelName::kHingeLoss, rows, label, weight, x, loss);
}

void SquaredLoss(void* queue, size_t rows, const float* label, float* x, double* loss) {
  AddScalarLoss(queue, KernelName::kSquaredLoss, rows, label, nullptr, x, loss);
}

}  // namespace motley::opencl
