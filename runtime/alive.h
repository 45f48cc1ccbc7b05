// SPDX-License-Identifier: Apache-2.0
// Guards callbacks so that they do nothing once their owner is gone. Transports, devices and loops
// outlive nodes.
#pragma once

#include <memory>
#include <utility>

namespace motley {

// A member of the owner, declared last. Loop thread only.
class Alive {
 public:
  // Wraps `call` so that it runs only as long as the owner lives.
  template <typename Call>
  auto Guard(Call call) const {
    return [token = std::weak_ptr<const char>(token_), call = std::move(call)](auto&&... args) {
      if (!token.expired()) call(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<const char> token_ = std::make_shared<const char>();
};

}  // namespace motley
