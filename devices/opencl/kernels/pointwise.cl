/* SPDX-License-Identifier: Apache-2.0 */
/* One item per value; the functions are documented in devices/kernels.h. */

KERNEL add_bias(ulong count, ulong columns, INPUT(bias), FLOATS(x)) {
  const ulong i = get_global_id(0);
  if (i < count) x[x_at + i] += bias[bias_at + rest_of(i, columns)];
}

KERNEL relu(ulong count, FLOATS(x)) {
  const ulong i = get_global_id(0);
  if (i < count && x[x_at + i] <= 0) x[x_at + i] = 0; /* NaN stays. */
}

KERNEL relu_backward(ulong count, INPUT(activation), FLOATS(delta)) {
  const ulong i = get_global_id(0);
  if (i < count && activation[activation_at + i] <= 0) delta[delta_at + i] = 0;
}

/* The same numbers as in base/unit_masks.h. An item has the units of one call of Philox 4x32-10. */
KERNEL dropout(ulong count, ulong columns, ulong blocks, __global const uint *sample,
               ulong sample_at, uint first, uint second, uint dropped, float scale_by, FLOATS(x)) {
  ulong row = get_global_id(0);
  if (row >= count) return;
  const ulong block = take_last(&row, blocks);
  uint4 counter = (uint4)(sample[sample_at + row], (uint)block, 0, 0);
  for (int round_of = 0; round_of < 10; ++round_of) {
    const uint left = 0xd2511f53u, right = 0xcd9e8d57u;
    counter = (uint4)(mul_hi(right, counter.z) ^ counter.y ^ first, right * counter.z,
                      mul_hi(left, counter.x) ^ counter.w ^ second, left * counter.x);
    first += 0x9e3779b9u;
    second += 0xbb67ae85u;
  }
  const uint words[4] = {counter.x, counter.y, counter.z, counter.w};
  for (ulong j = 0; j < 4; ++j) {
    const ulong c = 4 * block + j;
    if (c >= columns) continue;
    const ulong at = x_at + row * columns + c;
    x[at] = words[j] < dropped ? 0 : scale_by * x[at];
  }
}

KERNEL axpy(ulong count, float alpha, INPUT(x), FLOATS(y)) {
  const ulong i = get_global_id(0);
  if (i < count) y[y_at + i] += alpha * x[x_at + i];
}

KERNEL multiply(ulong count, INPUT(a), INPUT(b), FLOATS(y)) {
  const ulong i = get_global_id(0);
  if (i < count) y[y_at + i] = a[a_at + i] * b[b_at + i];
}

KERNEL scale_rows(ulong count, ulong columns, INPUT(factor), INPUT(x), FLOATS(y)) {
  const ulong i = get_global_id(0);
  if (i < count) y[y_at + i] = factor[factor_at + whole_parts(i, columns)] * x[x_at + i];
}

KERNEL fill(ulong count, float value, FLOATS(x)) {
  const ulong i = get_global_id(0);
  if (i < count) x[x_at + i] = value;
}

KERNEL scale(ulong count, float alpha, FLOATS(x)) {
  const ulong i = get_global_id(0);
  if (i < count) x[x_at + i] *= alpha;
}

KERNEL scale_pairs(ulong count, float re, float im, FLOATS(x)) {
  const ulong t = get_global_id(0);
  if (t >= count) return;
  const float first = x[x_at + 2 * t], second = x[x_at + 2 * t + 1];
  x[x_at + 2 * t] = re * first - im * second;
  x[x_at + 2 * t + 1] = re * second + im * first;
}

KERNEL widen(ulong count, int fp16, __global const ushort *x, ulong x_at, FLOATS(y)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  y[y_at + i] = fp16 ? vload_half(x_at + i, (__global const half *)x)
                     : as_float((uint)x[x_at + i] << 16);
}

KERNEL sgd(ulong count, float lr, INPUT(g), FLOATS(w)) {
  const ulong i = get_global_id(0);
  if (i < count) w[w_at + i] -= lr * g[g_at + i];
}

KERNEL momentum(ulong count, float lr, float mu, int nesterov, INPUT(g), FLOATS(v), FLOATS(w)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  const float gradient = g[g_at + i];
  const float velocity = mu * v[v_at + i] + gradient;
  v[v_at + i] = velocity;
  w[w_at + i] -= lr * (nesterov ? gradient + mu * velocity : velocity);
}

/* `step` and `spread` include the corrections by 1 - beta^t. */
KERNEL adam(ulong count, float step, float spread, float beta1, float beta2, float epsilon,
            INPUT(g), FLOATS(m), FLOATS(v), FLOATS(w)) {
  const ulong i = get_global_id(0);
  if (i >= count) return;
  const float gradient = g[g_at + i];
  const float mean = beta1 * m[m_at + i] + (1 - beta1) * gradient;
  const float square = beta2 * v[v_at + i] + (1 - beta2) * (gradient * gradient);
  m[m_at + i] = mean;
  v[v_at + i] = square;
  w[w_at + i] -= step * mean / (sqrt(square) * spread + epsilon);
}
