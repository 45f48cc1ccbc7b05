// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "devices/opencl/operations/launch.h"
#include "devices/opencl/operations/operations.h"

namespace motley::opencl {
namespace {

// A sparse matrix on the device. Only the device knows its number of entries.
struct Csr {
  Csr(Queue& queue, const motley_csr& a)
      : row_begin(queue.Find(a.row_begin, a.rows + 1)),
        column(queue.FindRest(a.column)),
        value(queue.FindRest(a.value)) {}
  Place row_begin, column, value;
};

// Entries sorted by column, in scratch memory.
struct ByColumn {
  Place starts, next, row, value;
};

// Counts the entries from the first row's first to the last row's last. Waits for the device.
uint64_t CountEntries(Queue& queue, const motley_csr& a) {
  uint64_t first = 0;
  uint64_t last = 0;
  queue.CopyOut(&first, a.row_begin, sizeof(first));
  queue.CopyOut(&last, a.row_begin + a.rows, sizeof(last));
  return queue.failed() || last < first ? 0 : last - first;
}

// Divides scratch memory for `entries`, or for more if it already has room.
ByColumn Divide(Queue& queue, size_t columns, size_t entries) {
  const size_t words = 2 * columns + 2 * entries;
  const Place all = queue.ScratchFor(Scratch::kEntries, words * sizeof(uint32_t));
  ByColumn by_column{all, all, all, all};
  by_column.next.first += columns;
  by_column.row.first += 2 * columns;
  by_column.value.first += 2 * columns + entries;
  return by_column;
}

// The matrix may be some rows of a large one. The room is for all entries that follow in memory, if
// these fit. Only otherwise is it worth waiting for the device to count the matrix's own entries.
ByColumn RoomFor(Queue& queue, const motley_csr& a) {
  const size_t most = queue.Rest(a.column);
  const bool fits =
      (2 * a.columns + 2 * most) * sizeof(uint32_t) <= queue.ScratchBytes(Scratch::kEntries);
  const uint64_t entries = fits ? most : CountEntries(queue, a);
  if (entries > UINT32_MAX || a.rows > UINT32_MAX) {
    queue.Fail(CL_INVALID_BUFFER_SIZE,
               "a sparse matrix with more than 4,294,967,295 entries or rows");
  }
  return Divide(queue, a.columns, entries);
}

}  // namespace

void CsrTimesDense(void* queue, const motley_csr* a, size_t n, float alpha, const float* b,
                   float beta, float* c) {
  Queue& q = QueueOf(queue);
  const size_t count = a->rows * n;
  if (count == 0) return;
  const Csr csr(q, *a);
  LaunchItems(q, KernelName::kCsrTimesDense, count, cl_ulong{n}, csr.row_begin, csr.column,
              csr.value, alpha, q.Find(b, a->columns * n), beta, q.Find(c, count));
}

void CsrTransposedTimesDense(void* queue, const motley_csr* a, size_t n, float alpha,
                             const float* b, float* c) {
  Queue& q = QueueOf(queue);
  const size_t count = a->columns * n;
  if (count == 0 || a->rows == 0) return;
  const Csr csr(q, *a);
  const ByColumn by_column = RoomFor(q, *a);
  if (q.failed()) return;
  const cl_uint zero = 0;
  cl_event event = nullptr;
  const cl_int code = clEnqueueFillBuffer(q.commands(), by_column.starts.buffer, &zero,
                                          sizeof(zero), by_column.starts.first * sizeof(zero),
                                          a->columns * sizeof(zero), 0, nullptr, &event);
  q.Enqueued("fill counts of a sparse matrix", code, event);
  LaunchItems(q, KernelName::kCsrCount, a->rows, csr.row_begin, csr.column, by_column.starts);
  LaunchGroups(q, KernelName::kCsrStarts, 1, 1, cl_ulong{a->columns}, by_column.starts,
               by_column.next);
  LaunchItems(q, KernelName::kCsrPlace, a->rows, csr.row_begin, csr.column, csr.value,
              by_column.next, by_column.row, by_column.value);
  LaunchItems(q, KernelName::kCsrGather, count, cl_ulong{n}, by_column.starts, by_column.next,
              by_column.row, by_column.value, alpha, q.Find(b, a->rows * n), q.Find(c, count));
}

}  // namespace motley::opencl
