//===- Group.cpp - Group of ranks -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Group.h"

#include "../device/Owners.h"

#include "mx/Support/HandleTable.h"

#include <algorithm>
#include <cstring>

using namespace mx;
using namespace mx::runtime;

//===----------------------------------------------------------------------===//
// Creation and destruction
//===----------------------------------------------------------------------===//

Group::Group(const GroupConfig &config, Device &device, Mesh mesh)
    : Collectives(config.name, config.rank, config.size), device(device),
      control(config.name, config.rank, config.size, config.timeout),
      wire(control, std::move(mesh.data)), links(device, control, wire),
      ownLane(device) {}

Error Group::create(const GroupConfig &config, Device &device,
                    std::shared_ptr<Group> &group) {
  Mesh mesh;
  if (Error error = connectRanks(config, mesh))
    return error;
  std::vector<Socket> connections = std::move(mesh.control);
  // A forked child has copies of locked mutexes but none of the threads.
  auto destroy = [](Group *group) {
    if (group->forks == getForkCount())
      delete group;
  };
  std::shared_ptr<Group> made(new Group(config, device, std::move(mesh)),
                              destroy);
  if (Error error = made->open(std::move(connections), config.transport))
    return error;
  group = std::move(made);
  return {};
}

Error Group::open(std::vector<Socket> connections, std::string_view wanted) {
  transport = size == 1          ? makeLocalTransport(links)
              : wanted == "host" ? makeHostTransport(links)
                                 : makeNcclTransport(links, wanted);
  if (Error error = control.start(std::move(connections), *transport))
    return error;
  return endOnException([&]() -> Error {
    Error error = transport->open();
    if (!error && size > 1)
      error = ownLane.open();
    if (error && !control.getFailure())
      return refuse(links.getPlace().operation, error);
    return error ? error : links.agree("the group", {});
  });
}

Group::~Group() {
  if (!transport)
    return;
  transport->close();
  control.finish();
  for (void *each : reserved)
    (void)device.free(each);
}

Error Group::abort(std::string_view why) {
  if (Error error = checkProcess())
    return error;
  Place place = links.getPlace();
  const Operation &operation = place.operation;
  (void)control.fail(
      {MX_ERROR_PEER, rank, rank, operation.step, 0, operation.entry,
       beginMessage(name) + "rank " + std::to_string(rank) + " gave up" +
           place.describe() + ": " + std::string(why)});
  return {};
}

Error Group::refuse(const Operation &operation, Error reason) {
  (void)control.fail(
      {MX_ERROR_PEER, rank, rank, operation.step, 0, operation.entry,
       beginMessage(name) + "rank " + std::to_string(rank) + " cannot do " +
           operation.describe() + ": " + reason.text});
  return reason;
}

Error Group::checkProcess() const {
  return forks == getForkCount()
             ? Error()
             : invalidValue(
                   beginMessage(name) +
                   "expected a call from the process that created the group, "
                   "found a call from a forked child: create groups after the "
                   "fork");
}

template <typename Body>
Error Group::endOnException(Body body) {
  try {
    return body();
  } catch (const std::exception &thrown) {
    // The other ranks wait for this rank.
    try {
      if (!control.getFailure())
        (void)refuse(links.getPlace().operation,
                     {MX_ERROR_OUT_OF_MEMORY,
                      std::string("no memory or no threads are left (") +
                          thrown.what() + ")"});
    } catch (const std::exception &) {
      control.giveUp();
    }
    links.end();
    throw;
  }
}

template <typename Body>
Error Group::runAlone(Body body) {
  if (Error error = checkProcess())
    return error;
  std::lock_guard<std::mutex> lock(mutex);
  return control.getFailure() ? control.getStatus() : endOnException(body);
}

mxGroupInfo Group::getInfo() const {
  mxGroupInfo info = mxSized<mxGroupInfo>();
  info.name = name.c_str();
  info.rank = rank;
  info.size = size;
  info.transport = transport->getName();
  info.ncclVersion = transport->getVersion();
  info.timeoutNs = uint64_t(
      std::chrono::duration_cast<std::chrono::nanoseconds>(control.timeout)
          .count());
  info.windows = memory;
  info.windowBytes = memoryBytes;
  device.name().copy(info.device, sizeof(info.device) - 1);
  return info;
}

//===----------------------------------------------------------------------===//
// Data collectives
//===----------------------------------------------------------------------===//

Error Group::check(Device &given, const Operation &operation, const void *first,
                   const void *second, void *stream) const {
  size_t bytes = 0;
  if (__builtin_mul_overflow(operation.bytes, size_t(size), &bytes))
    return invalidValue("expected segments that fit in memory, found " +
                        std::to_string(operation.bytes) + " bytes of each of " +
                        std::to_string(size) + " ranks");
  if (&given != &device)
    return invalidValue("expected memory and a stream of " + device.name() +
                        ", where the group was created, found " + given.name());
  for (const void *each : {first, second}) {
    if (!each && bytes)
      return invalidValue("expected " + std::to_string(bytes) +
                          " bytes of memory, found a null pointer");
    Device *owner = bytes ? findOwner(each) : nullptr;
    if (owner && owner != &device)
      return invalidValue("expected memory of " + device.name() +
                          ", where the group was created, found memory of " +
                          owner->name());
  }
  if (Error error = checkStream(device, stream))
    return error;
  auto a = uintptr_t(first), b = uintptr_t(second);
  if (first != second && bytes && (a < b ? b - a : a - b) < bytes)
    return invalidValue("expected two blocks of " + std::to_string(bytes) +
                        " bytes that do not overlap, found addresses " +
                        std::to_string(a < b ? b - a : a - b) + " bytes apart");
  return {};
}

template <typename Run>
Error Group::perform(Device &given, Operation wanted, const void *first,
                     const void *second, void *stream, Run run) {
  return runAlone([&] {
    Operation operation = links.begin(std::move(wanted));
    Error error = check(given, operation, first, second, stream);
    if (!error)
      error = run(operation);
    if (error && !control.getFailure())
      error = refuse(operation, error);
    links.end();
    return error;
  });
}

Error Group::allGather(Device &given, void *window, size_t bytes, void *stream,
                       const char *entry, int64_t step) {
  return perform(given,
                 {Operation::AllGather, bytes, 0, entry ? entry : "", step},
                 window, window, stream, [&](const Operation &operation) {
                   return transport->allGather(operation, window, stream);
                 });
}

Error Group::allToAll(Device &given, const void *from, void *to, size_t bytes,
                      void *stream, const char *entry, int64_t step) {
  return perform(given,
                 {Operation::AllToAll, bytes, 0, entry ? entry : "", step},
                 from, to, stream, [&](const Operation &operation) -> Error {
                   if (from == to && bytes)
                     return invalidValue("expected two blocks that do not "
                                         "overlap, found the same block twice");
                   return transport->allToAll(operation, from, to, stream);
                 });
}

Error Group::barrier(Device &given, void *stream, const char *entry,
                     int64_t step) {
  return perform(given, {Operation::Barrier, 0, 0, entry ? entry : "", step},
                 nullptr, nullptr, stream, [&](const Operation &operation) {
                   return transport->barrier(operation, stream);
                 });
}

//===----------------------------------------------------------------------===//
// Host agreements
//===----------------------------------------------------------------------===//

namespace {

/// Formats a rank's value for a message.
std::string show(std::string_view value) {
  bool isText = value.size() <= 200 &&
                std::all_of(value.begin(), value.end(),
                            [](char c) { return c >= ' ' && c <= '~'; });
  if (isText)
    return "'" + std::string(value) + "'";
  static const char digits[] = "0123456789abcdef";
  std::string text = std::to_string(value.size()) + " bytes, ";
  for (char c : value.substr(0, 16))
    text += {digits[uint8_t(c) >> 4], digits[uint8_t(c) & 15]};
  return text + (value.size() > 16 ? "..." : "");
}

constexpr uint64_t kMostCompared = 1 << 20;

} // namespace

Error Group::compare(std::string_view what, const void *mine, size_t bytes) {
  return runAlone([&] { return compareAlone(what, mine, bytes); });
}

Error Group::compareAlone(std::string_view what, const void *mine,
                          size_t bytes) {
  // Exchange the sizes first, because all ranks must send as many bytes as the
  // largest value.
  uint64_t own = bytes;
  std::vector<uint64_t> sizes(static_cast<size_t>(size));
  if (Error error = links.exchange(what, &own, sizeof(own), sizes.data()))
    return error;
  uint64_t most = *std::max_element(sizes.begin(), sizes.end());
  if (most > kMostCompared)
    return invalidValue(beginMessage(name) + "expected at most " +
                        std::to_string(kMostCompared) +
                        " bytes to compare, found " + std::to_string(most));
  std::string padded(most, '\0'), all(most * size_t(size), '\0');
  if (bytes)
    memcpy(padded.data(), mine, bytes);
  if (Error error = links.exchange(what, padded.data(), most, all.data()))
    return error;
  auto valueOf = [&](int i) {
    return std::string_view(all).substr(size_t(i) * most, sizes[size_t(i)]);
  };
  for (int i = 1; i < size; ++i)
    if (valueOf(i) != valueOf(0))
      return {MX_ERROR_MISMATCH,
              beginMessage(name) + "the ranks differ in " + std::string(what) +
                  ": rank 0 has " + show(valueOf(0)) + ", rank " +
                  std::to_string(i) + " has " + show(valueOf(i))};
  return {};
}

Error Group::reserveWindows(Device &given, size_t bytes) {
  return runAlone([&] { return reserveAlone(given, bytes); });
}

Error Group::reserveAlone(Device &given, size_t bytes) {
  uint64_t own = bytes;
  std::vector<uint64_t> wanted(static_cast<size_t>(size));
  if (Error error = links.exchange("the bytes of windows", &own, sizeof(own),
                                   wanted.data()))
    return error;
  size_t most = size_t(*std::max_element(wanted.begin(), wanted.end()));
  reserved.reserve(reserved.size() + 1);
  void *made = nullptr;
  Error mine;
  if (&given != &device)
    mine = invalidValue("expected " + device.name() +
                        ", where the group was created, found " + given.name());
  else if (most > memoryBytes)
    mine = device.alloc(most, /*shared=*/false, made);
  Error error = links.agree("memory for windows", mine);
  if (!error && made)
    error = transport->setWindows(made, most);
  if (error && made && !mine)
    (void)device.free(made);
  if (error || !made)
    return error;
  reserved.push_back(made);
  memory = made;
  memoryBytes = most;
  return {};
}

Error Group::adoptWindows(void *given, size_t bytes) {
  Error mine;
  Device *owner = bytes ? findOwner(given) : nullptr;
  if (!given && bytes)
    mine = invalidValue("expected memory for windows, found a null pointer");
  else if (owner && owner != &device)
    mine = invalidValue("expected memory of " + device.name() +
                        ", where the group was created, found memory of " +
                        owner->name());
  std::string size = std::to_string(bytes) + " bytes";
  if (Error error = compare("the window size", size.data(), size.size()))
    return error;
  return runAlone([&]() -> Error {
    if (Error error = links.agree("memory for windows", mine))
      return error;
    if (Error error = transport->setWindows(given, bytes))
      return error;
    memory = given;
    memoryBytes = bytes;
    return {};
  });
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

static HandleTable<mxGroup, Group> &groups() {
  static auto *table = new HandleTable<mxGroup, Group>(HandleKind::Group);
  return *table;
}

static Error noGroup(mxGroup handle) {
  return invalidValue(std::string("expected a group, found ") +
                      (handle ? "an invalid handle" : "a null pointer"));
}

Error mx::runtime::findGroup(mxGroup handle, std::shared_ptr<Group> &group) {
  group = groups().find(handle);
  return group ? Error() : noGroup(handle);
}

mxGroup mx::runtime::addGroup(std::shared_ptr<Group> group) {
  return groups().add(std::move(group));
}

Error mx::runtime::findCollectives(mxGroup handle,
                                   std::shared_ptr<Collectives> &ranks) {
  std::shared_ptr<Group> group;
  Error error = findGroup(handle, group);
  ranks = std::move(group);
  return error;
}

Error mx::runtime::removeGroup(mxGroup handle) {
  return groups().remove(handle) ? Error() : noGroup(handle);
}
