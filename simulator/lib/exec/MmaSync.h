//===- MmaSync.h - what the files of mma.sync share -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MmaSync.cpp has the instructions of all chips, MmaKinds.cpp those with a
// kind.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_MMASYNC_H
#define MXSIM_LIB_EXEC_MMASYNC_H

#include "../machine/Decoder.h"

#include <string_view>

namespace mx::sim {

/// "m16n8k32"; false when it is not of this form.
bool parseMmaShape(std::string_view text, unsigned &m, unsigned &n,
                   unsigned &k);

/// Takes `count` modifiers that `accepts` names, in their order; false when
/// there are not as many.
template <typename Accepts>
bool takeInOrder(Decoder &d, size_t count, Accepts accepts,
                 std::vector<std::string_view> &taken) {
  std::vector<std::string_view> all = d.modifiers();
  for (std::string_view name : all)
    if (accepts(name) && d.take(name))
      taken.push_back(name);
  return taken.size() == count;
}

/// mma with .kind::f8f6f4, mxf8f6f4, mxf4 or mxf4nvf4.
void decodeMmaOfKind(Decoder &d);

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_MMASYNC_H
