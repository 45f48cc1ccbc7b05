// SPDX-License-Identifier: Apache-2.0
// The real stream decoder on vectors of four floats, so that tests of the scheduler decode what
// they claim to decode.
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

  // Where rows are kept, nothing is decoded before the next Open.
  void Open(std::shared_ptr<const CodeForm> code);
  const CodeForm& code() const { return *code_; }
  // Adds the true answer of a row; false when it was there or not needed, or nothing is decoded.
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
  std::shared_ptr<const CodeForm> decoded_;  // The decoder's.
  std::unique_ptr<StreamDecoder> decoder_;
};

}  // namespace motley
