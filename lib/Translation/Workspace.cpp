//===- Workspace.cpp - Allocation of the workspace ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are expressions, so buffers cannot be packed by size. Instead, buffers
// with disjoint lifetimes share a slot, which is as large as its largest
// buffer. Slots never need more memory than separate buffers.
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"
#include <map>

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Number;
using plan::Operator;

namespace {

/// First and last step that use a buffer.
struct Lifetime {
  size_t first = ~size_t(0), last = 0;
  void use(size_t step) {
    first = std::min(first, step);
    last = std::max(last, step);
  }
};

/// Slot of the workspace that several buffers share.
struct Place {
  Number bytes;
  size_t lastUse;
  std::vector<size_t> buffers;
};

/// Computes buffer lifetimes. Nested steps have the time of the outermost step.
class LifetimeFinder {
public:
  LifetimeFinder(const plan::Entry &entry, ArrayRef<unsigned> tableMaps)
      : entry(entry), lifetimes(entry.workBuffers.size()) {
    for (auto [number, map] : llvm::zip_equal(tableMaps, entry.tensorMaps))
      mapBuffers[number] = map.buffer;
  }

  std::vector<Lifetime> run() {
    for (; time < entry.steps.size(); ++time)
      visit(entry.steps[time]);
    for (const plan::Result &result : entry.results)
      if (result.isTaken)
        use(result.buffer);
    return std::move(lifetimes);
  }

private:
  void use(const Buffer &buffer) {
    if (buffer.kind == Buffer::Work)
      lifetimes[buffer.index].use(time);
  }
  /// Extends the lifetime of a choosable buffer to all steps,
  /// because other names may refer to the buffer.
  void keep(const plan::Operand &operand) {
    if (operand.isBuffer && operand.buffer.kind == Buffer::Work)
      lifetimes[operand.buffer.index] = {0, entry.steps.size()};
  }

  /// Extends the lifetimes of the buffers of a collective to its wait.
  void visitCollective(const plan::Step &step) {
    if (step.token == plan::Step::kInOrder)
      return;
    if (step.kind == plan::Step::Wait) {
      for (unsigned token : running.wait(step.token, step.group))
        for (const Buffer &buffer : sent[token])
          use(buffer);
      return;
    }
    running.start(step.group);
    sent[step.token] = {step.to, step.from};
  }

  void visit(const plan::Step &step) {
    use(step.to);
    use(step.from);
    visitCollective(step);
    if (step.kind == plan::Step::Encode) {
      use(step.map.buffer);
      mapBuffers[step.index] = step.map.buffer;
    }
    for (const plan::Parameter &parameter : step.parameters) {
      use(parameter.buffer);
      if (parameter.kind == plan::Parameter::TensorMap)
        if (auto map = mapBuffers.find(parameter.index);
            map != mapBuffers.end())
          use(map->second);
    }
    for (const Buffer &buffer : step.among)
      keep(buffer);
    llvm::for_each(step.inits, [&](const auto &init) { keep(init); });
    for (const plan::Block &block : step.blocks) {
      auto outer = std::exchange(sent, {});
      plan::RunningCollectives outerRunning = std::exchange(running, {});
      llvm::for_each(block.yields, [&](const auto &yield) { keep(yield); });
      llvm::for_each(block.steps, [&](const auto &inner) { visit(inner); });
      sent = std::move(outer);
      running = std::move(outerRunning);
    }
  }

  const plan::Entry &entry;
  std::vector<Lifetime> lifetimes;
  /// Buffers of tensor maps, keyed by number.
  std::map<unsigned, Buffer> mapBuffers;
  plan::RunningCollectives running;
  std::map<unsigned, std::array<Buffer, 2>> sent;
  size_t time = 0;
};

} // namespace

void PlanBuilder::placeWorkBuffers() {
  std::vector<Lifetime> lifetimes = LifetimeFinder(entry, tableMaps).run();
  auto order = llvm::to_vector(llvm::seq<size_t>(lifetimes.size()));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return lifetimes[a].first < lifetimes[b].first;
  });
  std::vector<Place> places;
  for (size_t buffer : order) {
    const Lifetime &lifetime = lifetimes[buffer];
    Number bytes = entry.workBuffers[buffer].bytes;
    // Prefer a slot of the same size.
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
