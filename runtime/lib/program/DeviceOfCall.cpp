//===- DeviceOfCall.cpp - Device of a call's arrays -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DeviceOfCall.h"

#include "../device/Owners.h"

using namespace mx;
using namespace mx::runtime;

namespace {

class DeviceOfCall {
public:
  DeviceOfCall(const plan::Entry &plan, const Call &call)
      : plan(plan), call(call) {}
  Error find(Device *&result) {
    result = soleDevice.load(std::memory_order_relaxed);
    if (result)
      return {};
    // GPUs map memory in 2 MiB pages, so adjacent small arrays need a single
    // driver query.
    constexpr unsigned kPageBits = 21;
    uintptr_t page = 0;
    forArrays([&](const void *memory, Place, size_t) {
      if (page && uintptr_t(memory) >> kPageBits == page)
        return;
      Device *owner = findOwner(memory);
      if (!owner)
        return;
      if (owner->kind == Device::Kind::Cuda)
        page = uintptr_t(memory) >> kPageBits;
      isMixed |= device && owner != device;
      device = owner;
    });
    result = device;
    if (isMixed)
      return refuseMixture();
    if (!device)
      return findStreamOwner(call.stream, result);
    return checkStream(*device, call.stream);
  }

private:
  enum Place { Argument, Result, Workspace };

  template <class Visit>
  void forArrays(Visit visit) const {
    for (size_t i = 0; i < plan.arguments.size(); ++i)
      if (!plan.arguments[i].isNumber)
        visit(call.arguments[int64_t(i)].data, Argument, i);
    for (size_t i = 0; i < size_t(call.resultCount); ++i)
      if (!plan.results[i].isNumber && !plan.results[i].isTaken)
        visit(call.results[i], Result, i);
    visit(call.workspace, Workspace, 0);
  }

  Error refuseMixture() const {
    Device *first = nullptr;
    std::string firstName, text;
    forArrays([&](const void *memory, Place place, size_t index) {
      Device *owner = findOwner(memory);
      if (!owner || !text.empty())
        return;
      if (!first) {
        first = owner;
        firstName = name(place, index);
      } else if (owner != first) {
        text = name(place, index) + ": expected memory of " + first->name() +
               ", the device of " + firstName + ", found memory of " +
               owner->name() + ": copy all arrays to one device";
      }
    });
    return invalidValue(text);
  }

  std::string name(Place place, size_t index) const {
    return place == Argument
               ? describe("argument", index, plan.arguments[index])
           : place == Result ? describe("result", index, plan.results[index])
                             : "the workspace";
  }

  const plan::Entry &plan;
  const Call &call;
  Device *device = nullptr;
  bool isMixed = false;
};

} // namespace

Error mx::runtime::findDevice(const plan::Entry &plan, const Call &call,
                              Device *&device) {
  return DeviceOfCall(plan, call).find(device);
}
