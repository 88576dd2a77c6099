//===- Memory.h - Allocation of memory with user-controlled sizes ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_MEMORY_H
#define MXSIM_IO_MEMORY_H

#include <cstdlib>
#include <vector>

namespace mx {

/// Resizes `items`, or returns false if memory is insufficient. Without
/// exceptions a failed `new` ends the process, so malloc is tried first.
template <class T>
[[nodiscard]] bool tryResize(std::vector<T> &items, size_t count) {
  if (count > items.max_size())
    return false;
  if (count > items.capacity()) {
    // Volatile keeps the compiler from removing the unused allocation.
    void *volatile probe = std::malloc(count * sizeof(T));
    if (!probe)
      return false;
    std::free(probe);
    items.reserve(count);
  }
  items.resize(count);
  return true;
}

/// Makes the process call exitOutOfMemory() when `new` fails or the C++ library
/// rejects an excessive size or thread. `tool` must be a string literal.
void handleOutOfMemory(const char *tool, int status);

/// Prints "TOOL: out of memory" and ends the process. Does not allocate.
[[noreturn]] void exitOutOfMemory();

} // namespace mx

#endif // MXSIM_IO_MEMORY_H
