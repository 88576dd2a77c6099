//===- PerThread.h - An object of each thread -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the main thread global destructors run after those of thread-local
// objects, and they may still call the runtime: a host frees its memory there.
// A thread that comes back after its object is gone gets a new one.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PERTHREAD_H
#define MX_RUNTIME_LIB_PERTHREAD_H

#include <new>

namespace mx::runtime {

/// The T of the calling thread, made when it is first asked for. Making it
/// takes no memory, so that an error can be kept where there is none.
template <typename T>
class PerThread {
public:
  static T &get() {
    if (!place.isMade)
      make();
    return *object();
  }

private:
  struct Place {
    alignas(T) unsigned char bytes[sizeof(T)];
    bool isMade;
  };
  struct Owner {
    ~Owner() {
      object()->~T();
      place.isMade = false;
    }
  };

  static T *object() {
    return std::launder(reinterpret_cast<T *>(place.bytes));
  }
  static void make() {
    new (place.bytes) T;
    place.isMade = true;
    // Once in a thread: what comes after its end stays until the process ends.
    static thread_local Owner owner;
    (void)owner;
  }

  static inline thread_local Place place = {};
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PERTHREAD_H
