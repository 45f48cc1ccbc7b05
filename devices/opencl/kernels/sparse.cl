/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a sparse matrix; memory is slower than their sums. The transposed product first
 * sorts the entries by column, in four steps: counts, starts, places, sums. Within a column the
 * order depends on the device, which changes only the last bits of a sum. */
#define STARTS(name) __global const ulong *name, ulong name##_at
#define NUMBERS(name) __global uint *name, ulong name##_at

/* `count` is rows * n: an item per element of c. */
KERNEL csr_times_dense(ulong count, ulong n, STARTS(row_begin), __global const uint *column,
                       ulong column_at, INPUT(value), float alpha, INPUT(b), float beta,
                       FLOATS(c)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  ulong row = i;
  const ulong j = take_last(&row, n);
  const ulong end = row_begin[row_begin_at + row + 1];
  wide sum = wide_of(0);
  for (ulong e = row_begin[row_begin_at + row]; e < end; ++e) {
    sum = plus_product(sum, value[value_at + e], b[b_at + column[column_at + e] * n + j]);
  }
  c[c_at + i] = combine(alpha, sum, beta, beta == 0 ? 0 : c[c_at + i]);
}

KERNEL csr_count(ulong rows, STARTS(row_begin), __global const uint *column, ulong column_at,
                 NUMBERS(counts)) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  const ulong end = row_begin[row_begin_at + row + 1];
  for (ulong e = row_begin[row_begin_at + row]; e < end; ++e) {
    atomic_inc(counts + counts_at + column[column_at + e]);
  }
}

/* Turns counts into starts, in both arrays. One group; each item has a range of columns. */
KERNEL csr_starts(ulong columns, NUMBERS(starts), NUMBERS(next)) {
  __local uint share[GROUP];
  const size_t item = get_local_id(0);
  const ulong each = (columns + GROUP - 1) / GROUP;
  const ulong begin = min(item * each, columns);
  const ulong end = min(begin + each, columns);
  uint sum = 0;
  for (ulong c = begin; c < end; ++c) sum += starts[starts_at + c];
  share[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item == 0) {
    uint before = 0;
    for (size_t i = 0; i < GROUP; ++i) {
      const uint here = share[i];
      share[i] = before;
      before += here;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint start = share[item];
  for (ulong c = begin; c < end; ++c) {
    const uint here = starts[starts_at + c];
    starts[starts_at + c] = start;
    next[next_at + c] = start;
    start += here;
  }
}

/* Afterwards next[c] is the end of column c. */
KERNEL csr_place(ulong rows, STARTS(row_begin), __global const uint *column, ulong column_at,
                 INPUT(value), NUMBERS(next), NUMBERS(placed_row), FLOATS(placed_value)) {
  const ulong row = get_global_id(0);
  if (row >= rows) return;
  const ulong end = row_begin[row_begin_at + row + 1];
  for (ulong e = row_begin[row_begin_at + row]; e < end; ++e) {
    const uint place = atomic_inc(next + next_at + column[column_at + e]);
    placed_row[placed_row_at + place] = (uint)row;
    placed_value[placed_value_at + place] = value[value_at + e];
  }
}

/* `count` is columns * n: an item per element of c. */
KERNEL csr_gather(ulong count, ulong n, NUMBERS(starts), NUMBERS(ends), NUMBERS(placed_row),
                  INPUT(placed_value), float alpha, INPUT(b), FLOATS(c)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  ulong column = i;
  const ulong j = take_last(&column, n);
  const uint begin = starts[starts_at + column];
  const uint end = ends[ends_at + column];
  if (begin == end) return;
  wide sum = wide_of(0);
  for (uint e = begin; e < end; ++e) {
    sum = plus_product(sum, placed_value[placed_value_at + e],
                       b[b_at + (ulong)placed_row[placed_row_at + e] * n + j]);
  }
  c[c_at + i] = combine(alpha, sum, 1, c[c_at + i]);
}
