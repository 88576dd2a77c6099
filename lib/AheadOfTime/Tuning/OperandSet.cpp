//===- OperandSet.cpp - Operands on the device ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "mx/Execution/Program.h"

using namespace mlir;
using namespace mx;
using namespace mx::tuning;

llvm::Error mx::tuning::toError(int status) {
  return status == MX_SUCCESS ? llvm::Error::success() : takeRuntimeError();
}

llvm::Expected<DeviceBuffer> mx::tuning::makeDeviceBuffer(size_t bytes) {
  void *memory = nullptr;
  if (mxMemAlloc(&memory, bytes) != MX_SUCCESS)
    return takeRuntimeError();
  return DeviceBuffer(memory);
}

llvm::Error OperandSet::addArgument(const Slot &slot,
                                    llvm::function_ref<int(void *place)> fill) {
  llvm::Expected<DeviceBuffer> buffer = makeDeviceBuffer(slot.bytes);
  if (!buffer)
    return buffer.takeError();
  arguments.push_back({sizeof(mxArgument), buffer->get(), slot.shape.data()});
  buffers.push_back(std::move(*buffer));
  return toError(fill(arguments.back().data));
}

llvm::Error OperandSet::addResults(const Signature &signature) {
  for (const Slot &slot : signature.results) {
    llvm::Expected<DeviceBuffer> buffer = makeDeviceBuffer(slot.bytes);
    if (!buffer)
      return buffer.takeError();
    results.push_back(buffer->get());
    buffers.push_back(std::move(*buffer));
  }
  return llvm::Error::success();
}

llvm::Expected<OperandSet> OperandSet::make(const Signature &signature,
                                            Values values,
                                            const mxgpu::MatmulProblem &sizes) {
  OperandSet set;
  for (auto [index, slot] : llvm::enumerate(signature.arguments)) {
    std::vector<uint8_t> bytes = makeValues(slot, values, sizes, index + 1);
    if (slot.isNumber) {
      set.numbers.push_back(std::move(bytes));
      set.arguments.push_back(
          {sizeof(mxArgument), set.numbers.back().data(), nullptr});
    } else if (llvm::Error error = set.addArgument(slot, [&](void *place) {
                 return mxMemcpyToDevice(place, bytes.data(), bytes.size(),
                                         nullptr);
               })) {
      return error;
    }
  }
  if (llvm::Error error = set.addResults(signature))
    return error;
  return set;
}

llvm::Expected<OperandSet> OperandSet::copy(const Signature &signature) const {
  OperandSet set;
  for (auto [slot, from] : llvm::zip_equal(signature.arguments, arguments)) {
    if (slot.isNumber)
      set.arguments.push_back(from); // outlives the copy
    else if (llvm::Error error = set.addArgument(slot, [&](void *place) {
               return mxMemcpyOnDevice(place, from.data, slot.bytes, nullptr);
             }))
      return error;
  }
  if (llvm::Error error = set.addResults(signature))
    return error;
  return set;
}

llvm::Error OperandSet::reset(const Signature &signature,
                              const OperandSet &from) const {
  for (auto [slot, to, source] :
       llvm::zip_equal(signature.arguments, arguments, from.arguments))
    if (!slot.isNumber)
      if (llvm::Error error = toError(
              mxMemcpyOnDevice(to.data, source.data, slot.bytes, nullptr)))
        return error;
  for (auto [slot, place] : llvm::zip_equal(signature.results, results))
    if (llvm::Error error = toError(mxMemset(place, 0, slot.bytes, nullptr)))
      return error;
  return llvm::Error::success();
}
