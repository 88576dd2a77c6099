//===- Published.h - what strong writes pass on -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who reads a word of global memory by a strong access may learn what those
// knew that wrote it. One table holds that for the threads of one scope: a CTA,
// a cluster, a device, or all devices. A write publishes to the tables of its
// scope and of all narrower ones, and a read asks those of its own: so the two
// find each other where each has a scope that includes the other thread (PTX
// ISA, "Morally strong operations").
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_CLOCKS_PUBLISHED_H
#define MXSIM_LIB_CLOCKS_PUBLISHED_H

#include "Shadow.h"

namespace mx::sim {

class Published {
public:
  /// `known` by an agent of `cluster`. Thread-safe.
  void release(uint64_t address, const Knowledge &known, uint64_t cluster);
  void acquire(uint64_t address, Knowledge &known, uint64_t cluster);

private:
  std::mutex mutex;
  std::unordered_map<uint64_t, Knowledge> cells;
};

} // namespace mx::sim

#endif // MXSIM_LIB_CLOCKS_PUBLISHED_H
