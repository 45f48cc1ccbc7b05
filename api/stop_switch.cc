// SPDX-License-Identifier: Apache-2.0
#include "api/stop_switch.h"

#include <fmt/format.h>

#include "base/loop/loop_guard.h"

namespace motley {

Status StopSwitch::Open(UvLoop& loop) {
  const int error = uv_async_init(loop.handle(), &signal_, [](uv_async_t* handle) {
    auto* self = static_cast<StopSwitch*>(handle->data);
    RunGuarded(handle->loop->data, [self] {
      if (self->heard_) self->heard_();
    });
  });
  signal_.data = this;
  open_ = error == 0;
  if (open_) return Status::Ok();
  return Status::Resource(fmt::format("the job cannot be made stoppable: {}", uv_strerror(error)));
}

void StopSwitch::Throw() noexcept {
  ++thrown_;
  if (open_) uv_async_send(&signal_);  // Otherwise Open looks at thrown().
}

}  // namespace motley
