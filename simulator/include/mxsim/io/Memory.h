//===- Memory.h - Memory whose size comes from a user -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_MEMORY_H
#define MXSIM_IO_MEMORY_H

#include <cstdlib>
#include <vector>

namespace mx {

/// Resizes, or returns false where there is no memory for that. Without
/// exceptions a `new` that fails ends the process, so malloc is asked first.
template <class T>
[[nodiscard]] bool tryResize(std::vector<T> &items, size_t count) {
  if (count > items.max_size())
    return false;
  if (count > items.capacity()) {
    // Volatile, as a compiler may leave out memory that nothing reads.
    void *volatile probe = std::malloc(count * sizeof(T));
    if (!probe)
      return false;
    std::free(probe);
    items.reserve(count);
  }
  items.resize(count);
  return true;
}

/// Makes a process that has no memory, or asks the C++ library for a size or a
/// thread beyond all limits, call exitOutOfMemory(). `tool` is a literal.
void handleOutOfMemory(const char *tool, int status);

/// Prints "TOOL: out of memory" and ends the process; allocates nothing.
[[noreturn]] void exitOutOfMemory();

} // namespace mx

#endif // MXSIM_IO_MEMORY_H
