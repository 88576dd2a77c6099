//===- MmaSync.h - Decoding shared by the mma.sync files --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MmaKinds.cpp implements mma.sync with a kind, and MmaSync.cpp all other forms
// of mma.sync.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MMASYNC_H
#define MXSIM_LIB_EXEC_MMASYNC_H

#include "../machine/Decoder.h"

#include <string_view>

namespace mx::sim {

/// Parses "m16n8k32". Returns false for any other form.
bool parseMmaShape(std::string_view text, unsigned &m, unsigned &n,
                   unsigned &k);

/// Moves all modifiers for which `accepts` is true to `taken`, in order.
/// Returns false unless there are exactly `count`.
template <typename Accepts>
bool takeInOrder(Decoder &d, size_t count, Accepts accepts,
                 std::vector<std::string_view> &taken) {
  std::vector<std::string_view> all = d.modifiers();
  for (std::string_view name : all)
    if (accepts(name) && d.take(name))
      taken.push_back(name);
  return taken.size() == count;
}

/// Decodes mma with .kind::f8f6f4, mxf8f6f4, mxf4 or mxf4nvf4.
void decodeMmaOfKind(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MMASYNC_H
