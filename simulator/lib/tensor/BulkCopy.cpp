//===- BulkCopy.cpp - Bulk copies without a tensor map --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements cp.async.bulk and cp.reduce.async.bulk of the PTX ISA. Both copy
// contiguous multiples of 16 bytes.
//===----------------------------------------------------------------------===//

#include "TmaReduce.h"
#include "mxsim/tensor/Tma.h"

#include <cstring>

using namespace mx::sim;

namespace {

constexpr unsigned granule = 16;

std::string str(uint64_t value) { return std::to_string(value); }

Fault checkUnits(uint64_t source, uint64_t destination, uint32_t size) {
  struct {
    const char *what;
    uint64_t value;
  } const items[] = {{"size", size},
                     {"source address", source},
                     {"destination address", destination}};
  for (const auto &item : items)
    if (item.value % granule)
      return {FaultKind::Alignment, "bulk copy " + std::string(item.what) +
                                        " must be a multiple of 16, got " +
                                        str(item.value)};
  return {};
}

Fault checkShared(const SharedMemory &shared, uint32_t offset, uint32_t size) {
  if (shared.contains(offset, size))
    return {};
  return {FaultKind::Bounds, "bulk copy of " + str(size) +
                                 " bytes at shared offset " + str(offset) +
                                 " exceeds the " + str(shared.size) +
                                 " bytes of shared memory"};
}

Fault checkGlobal(const uint8_t *host, uint64_t address, uint32_t size) {
  if (host || size == 0)
    return {};
  return {FaultKind::Bounds, "bulk copy of " + str(size) +
                                 " bytes at global address " + str(address) +
                                 ", which is not accessible memory"};
}

void observeRead(const SharedMemory &shared, uint32_t offset, uint32_t size) {
  if (shared.observer)
    shared.observer->read(offset, size);
}

void observeWrite(const SharedMemory &shared, uint32_t offset, uint32_t size) {
  if (shared.observer)
    shared.observer->write(offset, size);
}

Fault findReduce(ReduceOp op, ReduceType type, bool toShared,
                 ReduceFunction &reduce) {
  reduce = findBulkReduce(op, type, toShared);
  if (reduce)
    return {};
  return {FaultKind::Descriptor, "bulk reduction " + std::string(name(op)) +
                                     "." + std::string(name(type)) + " to " +
                                     (toShared ? "shared" : "global") +
                                     " memory does not exist"};
}

} // namespace

TmaResult mx::sim::bulkLoad(GlobalAccess &global, uint64_t source,
                            const SharedMemory &shared, uint32_t destination,
                            uint32_t size) {
  if (Fault fault = checkUnits(source, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(shared, destination, size))
    return {fault, 0};
  const uint8_t *host =
      size ? global.translate(source, size, /*write=*/false) : nullptr;
  if (Fault fault = checkGlobal(host, source, size))
    return {fault, 0};
  if (size && !shared.isLeftOut)
    std::memcpy(shared.data + destination, host, size);
  observeWrite(shared, destination, size);
  return {{}, size};
}

TmaResult mx::sim::bulkStore(GlobalAccess &global, uint64_t destination,
                             const SharedMemory &shared, uint32_t source,
                             uint32_t size) {
  if (Fault fault = checkUnits(source, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(shared, source, size))
    return {fault, 0};
  uint8_t *host =
      size ? global.translate(destination, size, /*write=*/true) : nullptr;
  if (Fault fault = checkGlobal(host, destination, size))
    return {fault, 0};
  if (size && !shared.isLeftOut)
    std::memcpy(host, shared.data + source, size);
  observeRead(shared, source, size);
  return {{}, size};
}

TmaResult mx::sim::bulkShared(const SharedMemory &to, uint32_t destination,
                              const SharedMemory &from, uint32_t source,
                              uint32_t size) {
  if (Fault fault = checkUnits(source, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(to, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(from, source, size))
    return {fault, 0};
  if (size && !to.isLeftOut)
    std::memmove(to.data + destination, from.data + source, size);
  observeRead(from, source, size);
  observeWrite(to, destination, size);
  return {{}, size};
}

TmaResult mx::sim::bulkReduce(ReduceOp op, ReduceType type,
                              GlobalAccess &global, uint64_t destination,
                              const SharedMemory &shared, uint32_t source,
                              uint32_t size) {
  ReduceFunction reduce;
  if (Fault fault = findReduce(op, type, /*toShared=*/false, reduce))
    return {fault, 0};
  if (Fault fault = checkUnits(source, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(shared, source, size))
    return {fault, 0};
  uint8_t *host =
      size ? global.translate(destination, size, /*write=*/true) : nullptr;
  if (Fault fault = checkGlobal(host, destination, size))
    return {fault, 0};
  observeRead(shared, source, size);
  if (size && !shared.isLeftOut)
    reduce(host, shared.data + source, size);
  return {{}, size};
}

TmaResult mx::sim::bulkReduceShared(ReduceOp op, ReduceType type,
                                    const SharedMemory &to,
                                    uint32_t destination,
                                    const SharedMemory &from, uint32_t source,
                                    uint32_t size) {
  ReduceFunction reduce;
  if (Fault fault = findReduce(op, type, /*toShared=*/true, reduce))
    return {fault, 0};
  if (Fault fault = checkUnits(source, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(to, destination, size))
    return {fault, 0};
  if (Fault fault = checkShared(from, source, size))
    return {fault, 0};
  observeRead(from, source, size);
  if (!to.isLeftOut)
    reduce(to.data + destination, from.data + source, size);
  observeWrite(to, destination, size);
  return {{}, size};
}
