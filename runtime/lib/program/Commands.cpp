//===- Commands.cpp - Stream commands of a call ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "../PerThread.h"
#include "../device/CheckedLaunch.h"

#include <algorithm>

using namespace mx;
using namespace mx::runtime;
using plan::Step;

namespace {

/// Number of zero bytes after the last slot, at least the total parameter size
/// of any kernel (PTX ISA, kernel function parameters). A kernel with more
/// parameter bytes than in the plan reads these zeros.
constexpr size_t kParameterLimit = 32768;

/// Parameter storage for launches. The driver copies the parameters.
class Slots {
public:
  /// Returns the addresses of `count` parameters.
  void **fill(const uint8_t *from, size_t count);

private:
  std::vector<uint8_t> values;
  std::vector<void *> pointers;
  /// Bytes used by the previous launch. All later bytes are zero.
  size_t used = 0;
};

} // namespace

void **Slots::fill(const uint8_t *from, size_t count) {
  size_t bytes = count * kParameterSlot;
  if (values.size() < bytes + kParameterLimit) {
    pointers.resize(count + 1); // at least one address
    values.assign(bytes + kParameterLimit, 0);
    for (size_t i = 0; i <= count; ++i)
      pointers[i] = &values[i * kParameterSlot];
    used = 0;
  }
  std::copy_n(from, bytes, values.data());
  if (used > bytes)
    std::fill_n(values.data() + bytes, used - bytes, 0);
  used = bytes;
  return pointers.data();
}

Error Commands::submit(Device &device, void *stream, const char *name,
                       const BoundGroupList *groups) const {
  // Keep the storage between calls, because allocation is slower than a launch.
  Slots &slots = PerThread<Slots>::get();
  auto submit = [&](const Command &command) {
    if (command.kind == Step::AllGather)
      return (*groups)[command.group].ranks->allGather(
          device, command.to, command.bytes, stream, name, command.step);
    if (command.kind == Step::AllToAll)
      return (*groups)[command.group].ranks->allToAll(
          device, command.from, command.to, command.bytes, stream, name,
          command.step);
    if (command.kind == Step::Memset)
      return device.fill(command.to, command.byte, 1, command.bytes, stream);
    if (command.kind == Step::Copy)
      return device.copy(Copy::OnDevice, command.to, command.from,
                         command.bytes, stream);
    mxLaunchConfig config = command.config;
    config.stream = stream;
    return launch(
        device, *command.function, config,
        slots.fill(parameters.data() + command.parameters, command.count),
        int64_t(command.count));
  };
  for (const Command &command : list)
    if (Error error = submit(command))
      return error;
  return {};
}
