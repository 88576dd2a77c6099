//===- MatmulKernel.cpp - State of a matmul kernel under construction -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MatmulKernel.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

ScheduledMatmul::ScheduledMatmul(MatmulOpInterface op, ScheduleAttr schedule,
                                 const target::TargetInfo &target)
    : op(op), schedule(schedule), target(target),
      problem(*getMatmulProblem(op, target)),
      strategy(getStrategy(problem, schedule.getFields())),
      buffers(getBuffers(problem, schedule.getFields())) {}

int64_t ScheduledMatmul::getTileColumns() const {
  return schedule.getTileN() / problem.numB;
}
int64_t ScheduledMatmul::getARows() const {
  return schedule.getTileM() / getCtas();
}
int64_t ScheduledMatmul::getBRows() const {
  return schedule.getTileN() / getCtas();
}
int64_t ScheduledMatmul::getCtas() const {
  return schedule.getStrategy().getCtas();
}

Matrices::Matrices(MatmulOpInterface op)
    : a(op.getA()), aScales(op.getAScales()), b(op.getB()),
      bScales(op.getBScales()), out(op.getOut()),
      outScales(op.getResultScales()) {}

MatmulKernel::MatmulKernel(const ScheduledMatmul &matmul,
                           gpu::GPUModuleOp module)
    : matmul(matmul), module(module), host(matmul.op->getLoc(), matmul.op),
      body(host), matrices(matmul.op) {}

KernelComponent::KernelComponent(MatmulKernel &kernel)
    : kernel(kernel), matmul(kernel.matmul), op(matmul.op),
      schedule(matmul.schedule), host(kernel.host), body(kernel.body),
      matrices(kernel.matrices), arguments(kernel.arguments) {}

KernelComponent::~KernelComponent() = default;

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
