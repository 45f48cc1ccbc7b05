// SPDX-License-Identifier: Apache-2.0
// The real stream decoder on vectors of four floats, so that scheduler tests really decode.
#pragma once

#include <memory>
#include <vector>

#include "base/parallel.h"
#include "coding/code_form.h"
#include "coding/decode/stream_decoder.h"

namespace motley {

class TinyDecoder {
 public:
  explicit TinyDecoder(DecodeLimits limits = {})
      : limits_(limits), parallel_(MakeSerialParallelFor()) {}

  // If rows are kept, nothing is decoded before the next Open.
  void Open(std::shared_ptr<const CodeForm> code);
  const CodeForm& code() const { return *code_; }
  // Adds the true answer to a row. Returns false if it is a duplicate or not needed, or if rows are
  // kept.
  bool Answer(RowId row);
  bool Answered(RowId row) const { return Keeping() || decoder_->RowComplete(row); }
  bool Decodable() const { return !Keeping() && decoder_->Decodable(); }
  bool Keeping() const { return code_->kept_parts > 0; }
  // Relative error of the decoded sum.
  double Error();

 private:
  DecodeLimits limits_;
  std::unique_ptr<ParallelFor> parallel_;
  std::shared_ptr<const CodeForm> code_;
  std::shared_ptr<const CodeForm> decoded_;  // The form that the decoder uses.
  std::unique_ptr<StreamDecoder> decoder_;
};

}  // namespace motley
