/* SPDX-License-Identifier: Apache-2.0 */
/* Column sums, and products of a matrix with a vector; memory is slower than their sums. Also
 * products of two matrices, for devices other than processors on machines without CLBlast. */

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

/* c[r] = alpha * a[r, :] x + beta * c[r], with x = 1 unless `weighted`; a group per row. */
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

/* c[m,n] = alpha * a * b + beta * c, where a[i,l] is at i * a_row + l * a_depth and b[l,j] at
 * l * b_depth + j * b_column. With beta 0, c is not read. A group computes a block of c from blocks
 * of a and b in local memory; each item computes EACH x EACH values of it. A chain of float32 has
 * at most CHAIN terms, so that sums keep their precision. */
#define SIDE (GROUP < 16 ? GROUP : 16)
#define EACH 4
#define BLOCK_ROWS (GROUP / SIDE * EACH)
#define BLOCK_COLUMNS (SIDE * EACH)
#define BLOCK_DEPTH 16
#define CHAIN 512
KERNEL multiply_in_groups(ulong m, ulong n, ulong k, float alpha, INPUT(a), ulong a_row,
                          ulong a_depth, INPUT(b), ulong b_depth, ulong b_column, float beta,
                          FLOATS(c)) {
  __local float of_a[BLOCK_DEPTH * BLOCK_ROWS], of_b[BLOCK_DEPTH * BLOCK_COLUMNS];
  const uint item = get_local_id(0);
  const uint own_row = item / SIDE * EACH, own_column = item % SIDE * EACH;
  const ulong row = get_group_id(1) * BLOCK_ROWS, column = get_group_id(0) * BLOCK_COLUMNS;
  float total[EACH][EACH], part[EACH][EACH];
  for (uint i = 0; i < EACH; ++i) {
    for (uint j = 0; j < EACH; ++j) total[i][j] = part[i][j] = 0;
  }
  for (ulong begin = 0; begin < k; begin += BLOCK_DEPTH) {
    /* Neighbouring items read neighbouring values. */
    for (uint at = item; at < BLOCK_DEPTH * BLOCK_ROWS; at += GROUP) {
      const uint r = a_depth == 1 ? at / BLOCK_DEPTH : at % BLOCK_ROWS;
      const uint l = a_depth == 1 ? at % BLOCK_DEPTH : at / BLOCK_ROWS;
      const bool inside = row + r < m && begin + l < k;
      of_a[l * BLOCK_ROWS + r] =
          inside ? a[a_at + (row + r) * a_row + (begin + l) * a_depth] : 0;
    }
    for (uint at = item; at < BLOCK_DEPTH * BLOCK_COLUMNS; at += GROUP) {
      const uint j = b_depth == 1 ? at / BLOCK_DEPTH : at % BLOCK_COLUMNS;
      const uint l = b_depth == 1 ? at % BLOCK_DEPTH : at / BLOCK_COLUMNS;
      const bool inside = column + j < n && begin + l < k;
      of_b[l * BLOCK_COLUMNS + j] =
          inside ? b[b_at + (begin + l) * b_depth + (column + j) * b_column] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint l = 0; l < BLOCK_DEPTH; ++l) {
      for (uint i = 0; i < EACH; ++i) {
        const float left = of_a[l * BLOCK_ROWS + own_row + i];
        for (uint j = 0; j < EACH; ++j) {
          part[i][j] += left * of_b[l * BLOCK_COLUMNS + own_column + j];
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if ((begin + BLOCK_DEPTH) % CHAIN != 0 && begin + BLOCK_DEPTH < k) continue;
    for (uint i = 0; i < EACH; ++i) {
      for (uint j = 0; j < EACH; ++j) {
        total[i][j] += part[i][j];
        part[i][j] = 0;
      }
    }
  }
  for (uint i = 0; i < EACH && row + own_row + i < m; ++i) {
    for (uint j = 0; j < EACH && column + own_column + j < n; ++j) {
      __global float *to = c + c_at + (row + own_row + i) * n + column + own_column + j;
      *to = alpha * total[i][j] + (beta == 0 ? 0 : beta * *to);
    }
  }
}
