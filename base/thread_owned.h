// SPDX-License-Identifier: Apache-2.0
// One T per thread, made when the thread first asks and deleted when the thread ends.
//   Builder& builder = ThreadOwned<Builder>();
// A thread_local variable with a destructor does not do: the C library ends the process where it
// has no memory for the destructor's registration ("failed to register TLS destructor"). Here the
// caller gets std::bad_alloc. The main thread's T lives until the process ends.
#pragma once

#include <pthread.h>

#include <memory>
#include <new>

namespace motley {

template <typename T>
T& ThreadOwned() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void* owned) { delete static_cast<T*>(owned); }) != 0) {
      throw std::bad_alloc();
    }
    return made;
  }();
  if (void* const owned = pthread_getspecific(key)) return *static_cast<T*>(owned);
  std::unique_ptr<T> owned(new T);
  if (pthread_setspecific(key, owned.get()) != 0) throw std::bad_alloc();
  return *owned.release();
}

}  // namespace motley
