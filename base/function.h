// SPDX-License-Identifier: Apache-2.0
// A callback that can be moved but not copied. Small callables are stored inline, so that, unlike
// with a std::function, most callbacks need no allocation. A callable that cannot be copied is
// welcome.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace motley {

// A callable larger than `kInside` bytes goes to the heap.
template <typename Signature, size_t kInside = 48>
class Function;

template <typename T>  // True for callables that may be null.
inline constexpr bool kMayBeEmpty = std::is_pointer_v<T>;
template <typename Signature>
inline constexpr bool kMayBeEmpty<std::function<Signature>> = true;
template <typename Signature, size_t kInside>
inline constexpr bool kMayBeEmpty<Function<Signature, kInside>> = true;

template <typename R, typename... Args, size_t kInside>
class Function<R(Args...), kInside> {
 public:
  // An empty function; a moved-from one is empty, too. Not defaulted, so that `Function()` does not
  // clear the room.
  Function() {}
  Function(std::nullptr_t) {}

  template <typename Call, typename F = std::decay_t<Call>>
  requires(!std::is_same_v<F, Function> && std::is_invocable_r_v<R, F&, Args...>)
      Function(Call&& call) {  // NOLINT(runtime/explicit): like std::function.
    if constexpr (kMayBeEmpty<F>) {
      if (!call) return;
    }
    if constexpr (IsInside<F>()) {
      ::new (static_cast<void*>(room_)) F(std::forward<Call>(call));
      kind_ = &kKindOf<Inside<F>>;
    } else {
      ::new (static_cast<void*>(room_)) F*(new F(std::forward<Call>(call)));
      kind_ = &kKindOf<OnHeap<F>>;
    }
  }

  Function(Function&& other) noexcept { Take(other); }
  Function& operator=(Function&& other) noexcept {
    if (this == &other) return *this;
    if (kind_ == nullptr) {
      Take(other);
    } else {
      // The old callable may own `other`, or may use this function while it is destroyed, so it is
      // destroyed last.
      const Function gone(std::move(*this));
      Take(other);
    }
    return *this;
  }
  ~Function() {
    if (kind_ != nullptr && kind_->destroy != nullptr) kind_->destroy(room_);
  }

  explicit operator bool() const { return kind_ != nullptr; }
  friend bool operator==(const Function& function, std::nullptr_t) { return !function; }

  // Precondition: not empty. The call may change the callable, like a std::function's.
  R operator()(Args... args) const { return kind_->call(room_, std::forward<Args>(args)...); }

 private:
  struct Kind {
    R (*call)(std::byte* room, Args&&... args);
    void (*move)(std::byte* from, std::byte* to) noexcept;  // Null: bytes that can be copied.
    void (*destroy)(std::byte* room) noexcept;              // Null: nothing to do.
  };

  template <typename F>
  static constexpr bool IsInside() {
    return sizeof(F) <= kInside && alignof(F) <= alignof(void*) &&
           std::is_nothrow_move_constructible_v<F>;
  }

  template <typename F>
  struct Inside {
    static F& Of(std::byte* room) { return *std::launder(reinterpret_cast<F*>(room)); }
    static void Move(std::byte* from, std::byte* to) noexcept {
      ::new (static_cast<void*>(to)) F(std::move(Of(from)));
      Of(from).~F();
    }
    static void Destroy(std::byte* room) noexcept { Of(room).~F(); }
    static constexpr bool kMoves = !std::is_trivially_copyable_v<F>;
    static constexpr bool kDestroys = !std::is_trivially_destructible_v<F>;
  };

  template <typename F>
  struct OnHeap {
    static F& Of(std::byte* room) { return **std::launder(reinterpret_cast<F**>(room)); }
    static void Move(std::byte* from, std::byte* to) noexcept { std::memcpy(to, from, sizeof(F*)); }
    static void Destroy(std::byte* room) noexcept { delete &Of(room); }
    static constexpr bool kMoves = true;
    static constexpr bool kDestroys = true;
  };

  template <typename Held>
  static R Call(std::byte* room, Args&&... args) {
    return static_cast<R>(std::invoke(Held::Of(room), std::forward<Args>(args)...));
  }

  template <typename Held>
  static constexpr Kind kKindOf = {&Call<Held>, Held::kMoves ? &Held::Move : nullptr,
                                   Held::kDestroys ? &Held::Destroy : nullptr};

  void Take(Function& other) noexcept {
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_ == nullptr) return;
    if (kind_->move == nullptr) {
// All kInside bytes are copied, even those never set: that is cheaper than a size per kind.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
      std::memcpy(room_, other.room_, kInside);
#pragma GCC diagnostic pop
    } else {
      kind_->move(other.room_, room_);
    }
  }

  const Kind* kind_ = nullptr;
  alignas(void*) mutable std::byte room_[kInside];
};

}  // namespace motley
