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
  // Lanes with work beside the stream, and the token of their last collective.
  std::vector<std::pair<Lane *, unsigned>> running;
  auto run = [&](const Command &command, void *stream) {
    Collectives &ranks = *(*groups)[command.group].ranks;
    return command.kind == Step::AllGather
               ? ranks.allGather(device, command.to, command.bytes, stream,
                                 name, command.step)
               : ranks.allToAll(device, command.from, command.to, command.bytes,
                                stream, name, command.step);
  };
  auto findRunning = [&](Lane *lane) {
    return std::find_if(running.begin(), running.end(),
                        [&](auto &each) { return each.first == lane; });
  };
  auto start = [&](const Command &command) {
    Lane *lane = command.token == Step::kInOrder
                     ? nullptr
                     : (*groups)[command.group].ranks->lane();
    if (!lane)
      return run(command, stream);
    if (Error error = lane->follow(stream))
      return error;
    Error error = run(command, lane->getStream());
    Error marked = lane->mark(command.token);
    if (auto last = findRunning(lane); last != running.end())
      last->second = command.token;
    else
      running.push_back({lane, command.token});
    return error ? error : marked;
  };
  auto wait = [&](const Command &command) {
    Lane *lane = (*groups)[command.group].ranks->lane();
    if (!lane)
      return Error();
    if (auto last = findRunning(lane);
        last != running.end() && last->second == command.token)
      running.erase(last);
    return lane->join(command.token, stream);
  };
  auto submit = [&](const Command &command) {
    if (command.kind == Step::AllGather || command.kind == Step::AllToAll)
      return start(command);
    if (command.kind == Step::Wait)
      return wait(command);
    if (command.kind == Step::Barrier)
      return (*groups)[command.group].ranks->barrier(device, stream, name,
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
  Error error;
  for (auto command = list.begin(); command != list.end() && !error; ++command)
    error = submit(*command);
  // The stream must not end before the lanes, even after an error.
  for (auto [lane, token] : running) {
    Error joined = lane->join(token, stream);
    error = error ? error : joined;
  }
  return error;
}
