//===- Commands.h - What a call puts on its stream --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches, collectives, fills and copies with all that they need, in order.
// They stay as they are when they are put on a stream, so that it can be done
// again.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_COMMANDS_H
#define MX_RUNTIME_LIB_PROGRAM_COMMANDS_H

#include "BoundGroups.h"

namespace mx::runtime {

/// Bytes from one parameter to the next: the largest one, a tensor map.
inline constexpr size_t kParameterSlot = target::kTensorMapBytes;

struct Command {
  plan::Step::Kind kind;
  // Launch
  Function *function;
  /// Without the stream.
  mxLaunchConfig config;
  /// Where its parameters begin in Commands::parameters, and how many there
  /// are.
  size_t parameters, count;
  // AllGather and AllToAll
  unsigned group;
  /// Among the steps of the entry, for messages.
  int64_t step;
  // These, Memset and Copy
  void *to, *from;
  size_t bytes;
  uint8_t byte;
};

struct Commands {
  std::vector<Command> list;
  /// Of launches, in slots of equal size.
  std::vector<uint8_t> parameters;

  void clear() {
    list.clear();
    parameters.clear();
  }
  size_t getBytes() const {
    return list.size() * sizeof(Command) + parameters.size();
  }
  /// Those of entry `name`; `groups` are those of its program.
  Error submit(Device &device, void *stream, const char *name,
               const BoundGroupList *groups) const;
};

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_COMMANDS_H
