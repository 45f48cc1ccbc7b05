/* SPDX-License-Identifier: Apache-2.0 */
/* Column sums, and products of a matrix with a vector; memory is slower than their sums. */

float combine(float alpha, wide sum, float beta, float c) {
  const wide scaled = times(wide_of(alpha), sum);
  return to_float(beta == 0 ? scaled : plus_product(scaled, beta, c));
}

/* partial[block, c] = sum over the block's rows of x[r, c], times weight[r] where `weighted`. */
KERNEL column_sums(ulong rows, ulong columns, ulong rows_of_block, INPUT(x), int weighted,
                   INPUT(weight), WIDES(partial)) {
  const ulong column = get_global_id(0);
  if (column >= columns) return;
  const ulong block = get_global_id(1);
  const ulong end = min((block + 1) * rows_of_block, rows);
  wide sum = wide_of(0);
  for (ulong row = block * rows_of_block; row < end; ++row) {
    sum = plus_product(sum, x[x_at + row * columns + column],
                       weighted ? weight[weight_at + row] : 1);
  }
  partial[partial_at + block * columns + column] = sum;
}

/* c = alpha * the sum of the blocks + beta * c. */
KERNEL finish_columns(ulong columns, ulong blocks, WIDES(partial), float alpha, float beta,
                      FLOATS(c)) {
  const ulong column = get_global_id(0);
  if (column >= columns) return;
  wide sum = wide_of(0);
  for (ulong block = 0; block < blocks; ++block) {
    sum = plus(sum, partial[partial_at + block * columns + column]);
  }
  c[c_at + column] = combine(alpha, sum, beta, beta == 0 ? 0 : c[c_at + column]);
}

/* c[r] = alpha * a[r, :] x + beta * c[r], where x is all 1 unless `weighted`; a group per row. */
KERNEL row_sums(ulong rows, ulong columns, INPUT(a), int weighted, INPUT(x), float alpha,
                float beta, FLOATS(c)) {
  __local wide share[GROUP];
  for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
    wide sum = wide_of(0);
    for (ulong k = get_local_id(0); k < columns; k += GROUP) {
      sum = plus_product(sum, a[a_at + row * columns + k], weighted ? x[x_at + k] : 1);
    }
    sum = group_sum(sum, share);
    if (get_local_id(0) == 0) {
      c[c_at + row] = combine(alpha, sum, beta, beta == 0 ? 0 : c[c_at + row]);
    }
  }
}
