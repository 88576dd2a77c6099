//===- GroupInterface.cpp - C interface of rank groups --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks arguments, forwards the call and records errors.
//===----------------------------------------------------------------------===//

#include "../Error.h"
#include "../group/Group.h"
#include "../group/Nccl.h"
#include "Calls.h"

#include "mx/Support/GroupLimits.h"

#include <algorithm>
#include <cstring>

using namespace mx;
using namespace mx::runtime;

static constexpr uint64_t kDefaultTimeout = 100'000'000'000;

/// Calls `call` with the group, which stays alive during the call.
template <class F>
static int onGroup(mxGroup group, F call,
                   const char *function = __builtin_FUNCTION()) {
  return attempt(
      [&]() -> Error {
        std::shared_ptr<Group> found;
        Error error = findGroup(group, found);
        if (!error)
          error = found->checkProcess();
        return error ? error : call(*found);
      },
      function);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static Error readConfig(const mxGroupConfig &given, GroupConfig &config) {
  mxGroupConfig read;
  std::string wrong = readStruct(&given, MX_SIZE_WITH(mxGroupConfig, size),
                                 "mxGroupConfig", read);
  if (!wrong.empty())
    return invalidValue(wrong);
  size_t length = read.name ? strlen(read.name) : 0;
  if (length < 1 || length > 63)
    return invalidValue(
        "expected a group name of 1 to 63 bytes, found " +
        (read.name ? std::to_string(length) : std::string("a null pointer")));
  if (read.size < 1 || read.size > kMostRanks)
    return invalidValue("group " + std::string(read.name) + ": expected 1 to " +
                        std::to_string(kMostRanks) + " ranks, found " +
                        std::to_string(read.size));
  if (read.rank < 0 || read.rank >= read.size)
    return invalidValue("group " + std::string(read.name) +
                        ": expected a rank below " + std::to_string(read.size) +
                        ", found " + std::to_string(read.rank));
  uint64_t timeout = read.timeoutNs ? read.timeoutNs : kDefaultTimeout;
  constexpr uint64_t kMost = 1'000'000'000'000'000; // eleven days
  config.name = read.name;
  config.rank = read.rank;
  config.size = read.size;
  config.timeout = std::chrono::nanoseconds(std::min(timeout, kMost));
  config.transport = read.transport ? read.transport : "auto";
  const char *known[] = {"auto", "host", "nccl", "peer"};
  if (std::find(std::begin(known), std::end(known), config.transport) ==
      std::end(known))
    return invalidValue("group " + config.name +
                        ": expected transport auto, host, nccl or peer, "
                        "found '" +
                        config.transport + "'");
  if (read.exchange)
    config.exchange = [read](const void *mine, size_t bytes,
                             void *all) -> Error {
      if (int status = read.exchange(read.user, mine, bytes, all))
        return invalidValue("group " + std::string(read.name) +
                            ": the caller's exchange function returned " +
                            std::to_string(status));
      return {};
    };
  return {};
}

/// Selects the transport. Errors of this rank are recorded for the other ranks.
static void chooseTransport(Device &device, GroupConfig &config) {
  bool isGpu = device.kind == Device::Kind::Cuda;
  if (config.transport == "auto" && !isGpu)
    config.transport = "host";
  if (config.transport == "host" || config.size == 1)
    return;
  if (!isGpu) {
    config.cannot = {MX_ERROR_UNSUPPORTED, "transport " + config.transport +
                                               " needs a GPU, and " +
                                               device.name() + " is in use"};
    return;
  }
  const nccl::Library *library = nullptr;
  config.cannot = nccl::getLibrary(library);
  if (library && !config.cannot)
    config.ncclVersion = library->version;
}

/// Creates a group; `complete` fills in settings that the caller left out.
template <class F>
static int make(mxGroup *group, const mxGroupConfig *given, F complete,
                const char *function) {
  if (!group)
    return reportNull("an address for the group", function);
  *group = nullptr;
  if (!given)
    return reportNull("a configuration", function);
  return attempt(
      [&]() -> Error {
        GroupConfig config;
        std::shared_ptr<Group> made;
        Device *device = nullptr;
        Error error = readConfig(*given, config);
        if (!error)
          error = complete(config);
        if (!error)
          error = getDevice(device);
        if (error)
          return error;
        chooseTransport(*device, config);
        error = Group::create(config, *device, made);
        if (!error)
          *group = addGroup(std::move(made));
        return error;
      },
      function);
}

int mxGroupCreate(mxGroup *group, const mxGroupConfig *config) {
  auto check = [](GroupConfig &read) {
    return read.exchange || read.size == 1
               ? Error()
               : invalidValue("group " + read.name +
                              ": expected an exchange, found a null pointer: "
                              "mxGroupConnect needs none");
  };
  return make(group, config, check, "mxGroupCreate");
}

int mxGroupConnect(mxGroup *group, const mxGroupConfig *config,
                   const char *address) {
  if (!address) {
    if (group)
      *group = nullptr;
    return reportNull("an address");
  }
  auto connect = [&](GroupConfig &read) {
    return makeExchange(read, address, read.exchange);
  };
  return make(group, config, connect, "mxGroupConnect");
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

int mxGroupGetInfo(mxGroup group, mxGroupInfo *info) {
  if (!info)
    return reportNull("an address for the answer");
  return onGroup(group, [&](Group &found) {
    return give(info, "mxGroupInfo", found.getInfo());
  });
}

int mxGroupReserveWindows(mxGroup group, size_t bytes) {
  return onGroup(group, [&](Group &found) {
    return found.reserveWindows(found.getDevice(), bytes);
  });
}

int mxGroupAdoptWindows(mxGroup group, void *memory, size_t bytes) {
  return onGroup(
      group, [&](Group &found) { return found.adoptWindows(memory, bytes); });
}

int mxGroupAllGather(mxGroup group, void *window, size_t bytes,
                     mxStream stream) {
  return onGroup(group, [&](Group &found) {
    return found.allGather(found.getDevice(), window, bytes, stream, nullptr,
                           -1);
  });
}

int mxGroupAllToAll(mxGroup group, const void *from, void *to, size_t bytes,
                    mxStream stream) {
  return onGroup(group, [&](Group &found) {
    return found.allToAll(found.getDevice(), from, to, bytes, stream, nullptr,
                          -1);
  });
}

int mxGroupGetStatus(mxGroup group, mxGroupReport *report) {
  if (!report)
    return reportNull("an address for the answer");
  return onGroup(group, [&](Group &found) {
    mxGroupReport answer = {sizeof(answer), MX_SUCCESS, -1, -1, "", ""};
    if (const Failure *failure = found.getFailure())
      answer = {sizeof(answer), failure->status,        failure->rank,
                failure->step,  failure->entry.c_str(), failure->text.c_str()};
    return give(report, "mxGroupReport", answer);
  });
}

int mxGroupAbort(mxGroup group, const char *why) {
  if (!why)
    return reportNull("a reason");
  return onGroup(group, [&](Group &found) { return found.abort(why); });
}

// Null is accepted, as in free().
int mxGroupDestroy(mxGroup group) {
  return group ? attempt([&] { return removeGroup(group); }) : int(MX_SUCCESS);
}
