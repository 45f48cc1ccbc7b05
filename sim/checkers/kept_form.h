// SPDX-License-Identifier: Apache-2.0
// The code of the open step, for observers. The form is shared with the command that announced it
// if that was seen, and copied otherwise. Most steps open with the form that is already kept.
#pragma once

#include <memory>
#include <variant>

#include "runtime/job.h"

namespace motley {

class KeptForm {
 public:
  // From event::CommandGiven.
  void See(const Command& command) {
    if (const auto* open = std::get_if<OpenStep>(&command)) announced_ = open->code;
  }
  // From event::StepOpened. Returns true if the form is another than before.
  bool Open(const CodeForm& form) {
    if (form_ != nullptr && form_.get() == &form) return false;
    form_ = announced_.get() == &form ? announced_ : std::make_shared<const CodeForm>(form);
    return true;
  }

  const CodeForm& operator*() const { return *form_; }
  const CodeForm* operator->() const { return form_.get(); }
  bool known() const { return form_ != nullptr; }
  std::shared_ptr<const CodeForm> get() const { return form_; }

 private:
  std::shared_ptr<const CodeForm> announced_;
  std::shared_ptr<const CodeForm> form_;
};

}  // namespace motley
