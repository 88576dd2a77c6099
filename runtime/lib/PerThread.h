//===- PerThread.h - Per-thread object --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the main thread, global destructors run after thread-local destructors and
// may still call the runtime, for example to free memory. A destroyed object is
// then created again.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PERTHREAD_H
#define MX_RUNTIME_LIB_PERTHREAD_H

#include <new>

namespace mx::runtime {

/// The calling thread's T, created on first use. Creation allocates no memory,
/// so an error can be recorded when memory is exhausted.
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
    // Registered once for each thread: an object created after thread exit is
    // never destroyed.
    static thread_local Owner owner;
    (void)owner;
  }

  static inline thread_local Place place = {};
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PERTHREAD_H
