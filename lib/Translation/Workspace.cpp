//===- Workspace.cpp - Where intermediate results lie ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sizes are expressions, so that buffers cannot be packed by size. They are put
// into places instead: a place is as large as the largest of its buffers, and
// takes the next one after the last step that used the one before. That is
// never more memory than without sharing.
//
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operator;

namespace {

/// The first and the last step that use a buffer.
struct Lifetime {
  size_t first = ~size_t(0), last = 0;
  void use(size_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

/// A part of the workspace that several buffers share.
struct Place {
  Number bytes;
  size_t lastUse;
  std::vector<size_t> buffers;
};

} // namespace

static std::vector<Lifetime> findLifetimes(const plan::Entry &entry) {
  std::vector<Lifetime> lifetimes(entry.workBuffers.size());
  for (auto [index, step] : llvm::enumerate(entry.steps)) {
    auto use = [&, index = index](Buffer buffer) {
      if (buffer.kind == Buffer::Work)
        lifetimes[buffer.index].use(index);
    };
    if (step.kind != plan::Step::Launch) {
      use(step.to);
      if (step.kind == plan::Step::Copy)
        use(step.from);
      continue;
    }
    for (const plan::Parameter &parameter : step.parameters) {
      if (parameter.kind == plan::Parameter::Pointer)
        use(parameter.buffer);
      if (parameter.kind == plan::Parameter::TensorMap)
        use(entry.tensorMaps[parameter.index].buffer);
    }
  }
  return lifetimes;
}

void PlanBuilder::placeWorkBuffers() {
  std::vector<Lifetime> lifetimes = findLifetimes(entry);
  std::vector<size_t> order;
  for (size_t i = 0; i < lifetimes.size(); ++i)
    order.push_back(i);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return lifetimes[a].first < lifetimes[b].first;
  });
  std::vector<Place> places;
  for (size_t buffer : order) {
    const Lifetime &lifetime = lifetimes[buffer];
    Number bytes = entry.workBuffers[buffer].bytes;
    // One of the same size if there is one.
    Place *best = nullptr;
    for (Place &place : places)
      if (place.lastUse < lifetime.first && (!best || place.bytes == bytes))
        best = &place;
    if (!best) {
      places.push_back({bytes, lifetime.last, {buffer}});
      continue;
    }
    best->bytes = numbers.apply(Operator::Max, best->bytes, bytes);
    best->lastUse = lifetime.last;
    best->buffers.push_back(buffer);
  }
  Number offset = 0;
  for (const Place &place : places) {
    for (size_t buffer : place.buffers)
      entry.workBuffers[buffer].offset = offset;
    Number units = numbers.ceilDiv(place.bytes, plan::kWorkspaceAlignment);
    offset = numbers.apply(Operator::Add, offset,
                           numbers.mul(units, plan::kWorkspaceAlignment));
  }
  entry.workspaceBytes = offset;
}
