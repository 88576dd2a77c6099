//===- Published.h - Clocks published by strong writes ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strong read of a global memory word may acquire the clocks of the word's
// writers. Each scope (CTA, cluster, device, system) has a table. A write
// publishes to the tables of its scope and of all narrower scopes; a read
// queries the table of its own scope. So a read finds a write only if the scope
// of each includes the other thread (PTX ISA, "Morally strong operations").
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_PUBLISHED_H
#define MXSIM_LIB_CLOCKS_PUBLISHED_H

#include "Shadow.h"

namespace mx::sim {

class Published {
public:
  /// Publish and acquire `known`, the knowledge of an agent of `cluster`.
  /// `acquire` returns the number of the last release, and acquires nothing if
  /// that is `acquired`. Thread-safe.
  void release(uint64_t address, const Knowledge &known, uint64_t cluster);
  uint64_t acquire(uint64_t address, Knowledge &known, uint64_t cluster,
                   uint64_t acquired = 0);

private:
  std::mutex mutex;
  struct Cell {
    Knowledge known;
    uint64_t releases = 0;
  };
  std::unordered_map<uint64_t, Cell> cells;
};

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_PUBLISHED_H
