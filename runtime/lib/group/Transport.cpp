//===- Transport.cpp - Common parts of all transports ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Transport.h"

#include <algorithm>

using namespace mx::runtime;

Error Links::exchange(std::string_view what, const void *mine, size_t bytes,
                      void *all) {
  Operation operation =
      begin({Operation::Exchange, bytes, 0, std::string(what), -1});
  char *places = static_cast<char *>(all);
  std::vector<Wire::Segment> segments;
  for (int i = 0; i < control.size; ++i)
    segments.push_back({mine, places + size_t(i) * bytes});
  std::copy_n(static_cast<const char *>(mine), bytes,
              places + size_t(control.rank) * bytes);
  Error error = wire.transfer(operation, segments);
  end();
  return error;
}

Error Links::agree(std::string_view what, const Error &mine) {
  struct Vote {
    int32_t status = MX_SUCCESS;
    char text[508] = {};
  } vote;
  vote.status = mine.status;
  mine.text.copy(vote.text, sizeof(vote.text) - 1);
  std::vector<Vote> votes(static_cast<size_t>(control.size));
  if (Error error = exchange(what, &vote, sizeof(vote), votes.data()))
    return error;
  for (int i = 0; i < control.size; ++i)
    if (votes[size_t(i)].status != MX_SUCCESS)
      return {votes[size_t(i)].status, beginMessage(control.name) + "rank " +
                                           std::to_string(i) + ": " +
                                           votes[size_t(i)].text};
  return {};
}

Operation Links::begin(Operation operation) {
  operation.sequence = ++sequence;
  std::lock_guard<std::mutex> lock(mutex);
  place = {true, operation};
  return operation;
}

void Links::end() {
  std::lock_guard<std::mutex> lock(mutex);
  place.isRunning = false;
}

Place Links::getPlace() {
  std::lock_guard<std::mutex> lock(mutex);
  return place;
}

namespace {

class LocalTransport final : public Transport {
public:
  using Transport::Transport;
  const char *getName() const override { return "local"; }
  Error allGather(const Operation &, void *, void *) override { return {}; }
  Error allToAll(const Operation &operation, const void *from, void *to,
                 void *stream) override {
    return operation.bytes ? links.device.copy(Copy::Guess, to, from,
                                               size_t(operation.bytes), stream)
                           : Error();
  }
};

} // namespace

std::unique_ptr<Transport> mx::runtime::makeLocalTransport(Links &links) {
  return std::make_unique<LocalTransport>(links);
}
