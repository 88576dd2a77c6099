//===- LargePages.h - memory in large pages of the host ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registers of all warps are hundreds of megabytes, and warps that are
// timed take turns after a few instructions. In small pages most accesses would
// have to find their page first.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H
#define MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace mx::sim {

/// Zeros. Small ones have pages of the usual size.
class LargePages {
public:
  void resize(size_t bytes) {
    bytes = std::max<size_t>(bytes, 1);
    size_t page = bytes < kLarge / 2 ? kLine : kLarge;
    bytes = (bytes + page - 1) / page * page;
    memory.reset(static_cast<char *>(std::aligned_alloc(page, bytes)));
    if (!memory)
      throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (page == kLarge)
      madvise(memory.get(), bytes, MADV_HUGEPAGE);
#endif
    std::memset(memory.get(), 0, bytes);
  }
  /// At least at a line of a cache.
  char *data() { return memory.get(); }

private:
  static constexpr size_t kLine = 64, kLarge = 2u << 20;
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory;
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H
