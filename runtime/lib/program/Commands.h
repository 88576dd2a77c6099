//===- Commands.h - Stream commands of a call -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call becomes an ordered list of launches, collectives, fills and copies
// with all arguments. Submission does not change the list, so later calls can
// submit the list again.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_COMMANDS_H
#define MX_RUNTIME_LIB_PROGRAM_COMMANDS_H

#include "BoundGroups.h"

namespace mx::runtime {

/// Bytes between parameters: the size of a tensor map, the largest parameter.
inline constexpr size_t kParameterSlot = target::kTensorMapBytes;

struct Command {
  plan::Step::Kind kind;
  // Launch
  Function *function;
  /// Configuration without the stream.
  mxLaunchConfig config;
  /// Offset of the parameters in Commands::parameters, and their number.
  size_t parameters, count;
  // AllGather, AllToAll, Barrier and Wait
  unsigned group, token;
  /// Step of the entry, for messages.
  int64_t step;
  // Collectives, Memset and Copy
  void *to, *from;
  size_t bytes;
  uint8_t byte;
};

struct Commands {
  std::vector<Command> list;
  /// Launch parameters in slots of equal size.
  std::vector<uint8_t> parameters;

  void clear() {
    list.clear();
    parameters.clear();
  }
  size_t getBytes() const {
    return list.size() * sizeof(Command) + parameters.size();
  }
  /// Submits the commands of entry `name`; `groups` belong to its program.
  Error submit(Device &device, void *stream, const char *name,
               const BoundGroupList *groups) const;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_COMMANDS_H
