//===- FakeGroup.h - Threads of a test as ranks -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks meet at a barrier and exchange data through host memory. If a rank is
// several seconds late, the others fail instead of hanging.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_FAKEGROUP_H
#define MX_UNITTESTS_RUNTIME_FAKEGROUP_H

#include "../../runtime/lib/group/Collectives.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace mx::runtime {

using Bytes = std::vector<uint8_t>;

/// Meeting point for the ranks of one group.
class Meeting {
public:
  explicit Meeting(int size) : mine(size_t(size)) {}

  /// Returns the bytes of every rank, or nothing if a rank is missing.
  std::vector<Bytes> exchange(int rank, Bytes bytes) {
    std::unique_lock<std::mutex> lock(mutex);
    mine[size_t(rank)] = std::move(bytes);
    uint64_t round = rounds;
    if (++arrived == mine.size()) {
      all = mine;
      arrived = 0;
      ++rounds;
      changed.notify_all();
    } else if (!changed.wait_for(lock, std::chrono::seconds(20),
                                 [&] { return rounds != round; })) {
      return {};
    }
    // The next round cannot end before this rank arrives.
    return all;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Bytes> mine, all;
  size_t arrived = 0;
  uint64_t rounds = 0;
};

class FakeGroup : public Collectives {
public:
  FakeGroup(std::shared_ptr<Meeting> meeting, int rank, int size)
      : Collectives("ranks", rank, size), meeting(std::move(meeting)) {}
  ~FakeGroup() override {
    if (current)
      (void)device->free(current);
  }

  Error allGather(Device &device, void *window, size_t bytes, void *stream,
                  const char *entry, int64_t step) override {
    note("all_gather", bytes, entry, step, stream);
    return exchange(device, static_cast<uint8_t *>(window) + at(rank, bytes),
                    bytes, window, bytes, stream, /*isAllToAll=*/false);
  }
  Error allToAll(Device &device, const void *from, void *to, size_t bytes,
                 void *stream, const char *entry, int64_t step) override {
    note("all_to_all", bytes, entry, step, stream);
    return exchange(device, from, bytes * size_t(size), to, bytes, stream,
                    /*isAllToAll=*/true);
  }
  Error barrier(Device &, void *stream, const char *entry,
                int64_t step) override {
    note("barrier", 0, entry, step, stream);
    return meeting->exchange(rank, Bytes(1)).empty()
               ? Error(MX_ERROR_INTERNAL, "a rank is missing")
               : Error();
  }
  const void *peers() const override { return distances; }
  Lane *lane() override { return ownLane.get(); }
  Error compare(std::string_view what, const void *mine,
                size_t bytes) override {
    auto *first = static_cast<const uint8_t *>(mine);
    std::vector<Bytes> all =
        meeting->exchange(rank, Bytes(first, first + bytes));
    for (const Bytes &other : all)
      if (other != all[0])
        return {MX_ERROR_INVALID_VALUE,
                "expected " + std::string(what) + " on all ranks, found two"};
    return all.empty() ? Error(MX_ERROR_INTERNAL, "a rank is missing")
                       : Error();
  }
  Error reserveWindows(Device &wanted, size_t bytes) override {
    if (device && device != &wanted)
      return invalidValue("expected " + device->name());
    if (!device) {
      device = &wanted;
      ownLane = std::make_unique<Lane>(wanted);
      if (Error error = ownLane->open())
        return error;
    }
    return bytes > reserved ? move(bytes) : Error();
  }
  void *windows() const override { return current; }
  size_t windowBytes() const override { return reserved; }
  Error status() const override {
    return ended.empty() ? Error() : Error(MX_ERROR_INTERNAL, ended);
  }

  /// Moves windows to new memory, as a reservation by another program does. The
  /// simulator reports any use of the old memory.
  Error move(size_t bytes) {
    void *memory = nullptr;
    if (Error error = device->alloc(bytes, /*shared=*/false, memory))
      return error;
    std::swap(current, memory);
    reserved = bytes;
    return memory ? device->free(memory) : Error();
  }

  /// `failure` is the error returned by collectives, `ended` the reason for the
  /// end of the group.
  std::string failure, ended;
  /// One line for each collective.
  std::vector<std::string> log;
  size_t reserved = 0;
  const void *distances = nullptr;

private:
  static size_t at(int rank, size_t bytes) { return size_t(rank) * bytes; }
  void note(const char *what, size_t bytes, const char *entry, int64_t step,
            void *stream) {
    log.push_back(std::string(what) + " " + std::to_string(bytes) + " " +
                  entry + " " + std::to_string(step) +
                  (stream ? " on the lane" : ""));
  }
  Error exchange(Device &device, const void *from, size_t fromBytes, void *to,
                 size_t bytes, void *stream, bool isAllToAll) {
    if (!failure.empty())
      return {MX_ERROR_KERNEL, failure};
    Bytes sent(fromBytes);
    if (Error error =
            device.copy(Copy::ToHost, sent.data(), from, fromBytes, stream))
      return error;
    if (Error error = device.synchronizeStream(stream))
      return error;
    std::vector<Bytes> all = meeting->exchange(rank, std::move(sent));
    if (all.empty())
      return {MX_ERROR_INTERNAL, "a rank is missing"};
    for (int other = 0; other < size; ++other)
      if (Error error = device.copy(
              Copy::ToDevice, static_cast<uint8_t *>(to) + at(other, bytes),
              all[size_t(other)].data() + (isAllToAll ? at(rank, bytes) : 0),
              bytes, stream))
        return error;
    return device.synchronizeStream(stream);
  }

  std::shared_ptr<Meeting> meeting;
  Device *device = nullptr;
  std::unique_ptr<Lane> ownLane;
  void *current = nullptr;
};

/// Groups with a handle.
inline std::map<mxGroup, std::shared_ptr<FakeGroup>> fakeGroups;

inline mxGroup makeFakeGroup(std::shared_ptr<Meeting> meeting, int rank,
                             int size) {
  auto group = std::make_shared<FakeGroup>(std::move(meeting), rank, size);
  auto handle = reinterpret_cast<mxGroup>(group.get());
  fakeGroups[handle] = std::move(group);
  return handle;
}

} // namespace mx::runtime

#endif // MX_UNITTESTS_RUNTIME_FAKEGROUP_H
