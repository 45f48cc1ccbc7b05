// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/conformance/kernel_rig.h"

namespace motley::conformance {

// A battery of large calls whose results are compared bit by bit, between numbers of threads or
// between runs.
class Battery {
 public:
  explicit Battery(KernelRig& rig) : rig_(rig), table_(rig.table()), queue_(rig.queue()) {}

  std::vector<uint64_t> Run() {
    Dense();
    Sparse();
    Pointwise();
    Images();
    Rows();
    return std::move(bits_);
  }

 private:
  Operand<float> Random(size_t count) { return {rig_, RandomValues(random_, count)}; }
  void Keep(const Operand<float>& values) {
    for (const float value : values.Read()) bits_.push_back(std::bit_cast<uint32_t>(value));
  }
  void Keep(const Operand<double>& values) {
    for (const double value : values.Read()) bits_.push_back(std::bit_cast<uint64_t>(value));
  }

  void Dense() {
    const struct {
      size_t m, n, k;
    } shapes[] = {{400, 300, 40}, {700, 10, 200}, {1000, 1, 300}, {300, 1, 900}, {1, 900, 250}};
    for (const auto& [m, n, k] : shapes) {
      for (int transposes = 0; transposes < 4; ++transposes) {
        const auto c = Random(m * n);
        table_.gemm(queue_, transposes & 1, transposes & 2, m, n, k, 1.5f, Random(m * k),
                    Random(k * n), 1, c);
        Keep(c);
      }
    }
  }
  void Sparse() {
    const DeviceCsr csr(rig_, RandomCsr(random_, 300, 2000, 0.05));
    for (const size_t n : {1, 17}) {
      const auto product = Random(300 * n), gradient = Random(2000 * n);
      table_.csr_times_dense(queue_, &csr.view, n, 1, Random(2000 * n), 0, product);
      table_.csr_transposed_times_dense(queue_, &csr.view, n, 1, Random(300 * n), gradient);
      Keep(product);
      Keep(gradient);
    }
  }
  void Pointwise() {
    constexpr size_t kRows = 3000, kColumns = 33, kCount = kRows * kColumns;
    const auto x = Random(kCount), sums = Random(kColumns), y = Random(kCount);
    const Operand<double> loss(rig_, {0.0}), squares(rig_, {0.0}), sketch(rig_, {0.0, 0.0});
    table_.add_bias(queue_, kRows, kColumns, sums, x);
    table_.add_column_sums(queue_, kRows, kColumns, 0.1f, x, sums);
    table_.sum_of_squares(queue_, kCount, x, squares);
    table_.sketch(queue_, kCount, 11, x, sketch);
    const Operand<float> labels(rig_, std::vector<float>(kRows, 3.0f));
    table_.softmax_cross_entropy(queue_, kRows, kColumns, labels, nullptr, x, loss);
    table_.logistic_loss(queue_, kRows, labels, nullptr, y, loss);
    table_.squared_loss(queue_, kRows, labels, y, loss);
    const auto m = Random(kCount), v = Operand<float>(rig_, std::vector<float>(kCount, 0.5f));
    table_.axpy(queue_, kCount, 0.3f, x, y);
    table_.adam(queue_, kCount, 0.1f, 0.9f, 0.99f, 1e-8f, 3, x, m, v, y);
    table_.momentum(queue_, kCount, 0.1f, 0.9f, 1, x, m, y);
    table_.relu(queue_, kCount, y);
    table_.relu_backward(queue_, kCount, y, m);
    for (const auto* values : {&x, &sums, &y, &m, &v}) Keep(*values);
    Keep(loss);
    Keep(squares);
    Keep(sketch);
  }

  void Images() {
    const motley_window window{17, 15, 6, 3, 3, 1, 1, 17, 15}, pool{17, 15, 6, 2, 2, 2, 0, 8, 7};
    constexpr size_t kRows = 90, kValues = kRows * 17 * 15 * 6, kPooled = kRows * 8 * 7 * 6;
    const auto images = Random(kValues), patches = Random(kValues * 9), out = Random(kPooled);
    table_.col2im(queue_, &window, kRows, patches, images);
    table_.im2col(queue_, &window, kRows, images, patches);
    table_.max_pool(queue_, &pool, kRows, images, out);
    const auto delta = Random(kValues);
    table_.max_pool_backward(queue_, &pool, kRows, images, out, delta);
    for (const auto* values : {&images, &patches, &out, &delta}) Keep(*values);
  }
  void Rows() {
    constexpr size_t kRows = 900, kColumns = 131;
    const auto x = Random(kRows * kColumns), out = Random(kRows * kColumns), sums = Random(kRows);
    const auto gain = Random(kColumns), inverse = Random(kRows);
    const Operand<double> loss(rig_, {0.0});
    table_.add_row_sums(queue_, kRows, kColumns, 0.5f, x, sums);
    table_.scale_rows(queue_, kRows, kColumns, sums, x, x);
    table_.layer_norm(queue_, kRows, kColumns, 1e-5f, gain, gain, x, inverse, out);
    table_.layer_norm_backward(queue_, kRows, kColumns, gain, inverse, x, out);
    table_.multiply(queue_, kRows * kColumns, x, out, out);
    for (const auto* values : {&x, &out, &sums, &inverse}) Keep(*values);
    table_.hinge_loss(queue_, kRows * kColumns, x, nullptr, out, loss);
    Keep(out);
    Keep(loss);
  }

  KernelRig& rig_;
  const motley_kernels& table_;
  void* const queue_;
  motley::Random random_{5, Stream::kTest};
  std::vector<uint64_t> bits_;
};

}  // namespace motley::conformance
