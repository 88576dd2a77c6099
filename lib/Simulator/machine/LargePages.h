//===- LargePages.h - memory in large pages of the host ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registers of all warps are hundreds of megabytes, and warps that are
// timed take turns after a few instructions. In small pages most accesses would
// have to find their page first.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H
#define MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace mx::sim {

/// Blocks of one size, which may outlive it. Any thread takes and returns them.
class LargePages {
public:
  explicit LargePages(size_t blockBytes);
  /// A block of zeros, at a line of a cache, until the last user has gone.
  std::shared_ptr<char> take();

private:
  struct Pool;
  std::shared_ptr<Pool> pool;
};

} // namespace mx::sim

#endif // MX_LIB_SIMULATOR_MACHINE_LARGEPAGES_H
