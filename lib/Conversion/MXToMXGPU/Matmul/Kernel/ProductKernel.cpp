//===- ProductKernel.cpp - The kernel of a product, being built -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//

#include "ProductKernel.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

void KernelArguments::add(Arg name, OpFoldResult value) {
  assert(llvm::none_of(entries, [&](Entry &e) { return e.name == name; }) &&
         "expected each argument once");
  if (value)
    entries.push_back({name, {value}, {}});
}

void KernelArguments::addAll(Arg name, ValueRange values) {
  entries.push_back({name, {}, {}});
  llvm::append_range(entries.back().onHost, values);
}

SmallVector<Value> KernelArguments::getHostValues() const {
  SmallVector<Value> values;
  for (const Entry &entry : entries)
    for (OpFoldResult value : entry.onHost)
      if (auto passed = dyn_cast<Value>(value))
        values.push_back(passed);
  return values;
}

void KernelArguments::enter(KernelOp kernel, KernelBuilder &body) {
  auto arguments = kernel.getBody().getArguments();
  for (Entry &entry : entries)
    for (OpFoldResult value : entry.onHost) {
      if (auto size = dyn_cast<Attribute>(value)) {
        entry.inKernel.push_back(body.index(cast<IntegerAttr>(size).getInt()));
        continue;
      }
      entry.inKernel.push_back(arguments.front());
      arguments = arguments.drop_front();
    }
}

ArrayRef<Value> KernelArguments::getAll(Arg name) const {
  const Entry *entry =
      llvm::find_if(entries, [&](const Entry &e) { return e.name == name; });
  return entry == entries.end() ? ArrayRef<Value>() : entry->inKernel;
}

Value KernelArguments::get(Arg name) const {
  ArrayRef<Value> values = getAll(name);
  return values.empty() ? Value() : values.front();
}

OpFoldResult mx::mxgpu::getSize(KernelBuilder &host, Value memref,
                                int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.isDynamicDim(dim))
    return host.dim(memref, dim);
  return host.getIndexAttr(type.getDimSize(dim));
}
