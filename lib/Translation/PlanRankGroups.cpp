//===- PlanRankGroups.cpp - Windows and collectives of plans --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of an entry are consecutive in the memory of their rank group. Peers
// may write a window during the whole call, so windows do not share memory.
//===----------------------------------------------------------------------===//

#include "PlanBuilder.h"

using namespace mlir;
using namespace mx;
using plan::Buffer;
using plan::Step;

unsigned PlanBuilder::getGroup(StringRef name) const {
  return findNamed(manifest.groups, name);
}

LogicalResult PlanBuilder::translate(mxplan::RankOp op) {
  numbers.set(op, plan::Number(plan::Number::Rank, getGroup(op.getGroup())));
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::PeersOp op) {
  numbers.set(op, plan::Number(plan::Number::Peers, getGroup(op.getGroup())));
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::BarrierOp op) {
  numbers.addStep(Step::Barrier).group = getGroup(op.getGroup());
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::WindowOp op) {
  plan::Window window;
  window.group = getGroup(op.getGroup());
  window.bytes = op.getBytes();
  for (const plan::Window &other : entry.windows)
    if (other.group == window.group)
      window.offset =
          llvm::alignTo(other.offset + other.bytes, plan::kWorkspaceAlignment);
  constexpr int64_t kMost = int64_t(1) << 48;
  if (window.bytes > kMost || window.offset > kMost)
    return op.emitOpError("expected a window offset and size of at most ")
           << kMost << " bytes, found " << window.offset << " and "
           << window.bytes;
  buffers[op] = {Buffer::Window, unsigned(entry.windows.size())};
  entry.windows.push_back(window);
  return success();
}

/// Gives a collective with a token its number.
LogicalResult PlanBuilder::start(Operation *op, Step &step) {
  if (op->getNumResults() == 0)
    return success();
  step.token = running.start(step.group);
  tokens[op->getResult(0)] = {step.token, step.group};
  return step.token < plan::kMaxTokens
             ? success()
             : op->emitOpError("expected at most ")
                   << plan::kMaxTokens
                   << " collectives beside other steps, found more";
}

LogicalResult PlanBuilder::translate(mxplan::WaitOp op) {
  auto [token, group] = tokens.lookup(op.getToken());
  // A wait for a later collective may have ended this one.
  if (running.wait(token, group).empty())
    return success();
  Step &step = numbers.addStep(Step::Wait);
  step.token = token;
  step.group = group;
  return success();
}

LogicalResult PlanBuilder::translate(mxplan::AllGatherOp op) {
  Step &step = numbers.addStep(Step::AllGather);
  step.group = getGroup(op.getGroup());
  step.to = getOperand(op.getBuffer()).buffer;
  step.bytes = numbers.get(op.getBytes());
  return start(op, step);
}

LogicalResult PlanBuilder::translate(mxplan::AllToAllOp op) {
  Step &step = numbers.addStep(Step::AllToAll);
  step.group = getGroup(op.getGroup());
  step.from = getOperand(op.getSource()).buffer;
  step.to = getOperand(op.getTarget()).buffer;
  step.bytes = numbers.get(op.getBytes());
  return start(op, step);
}
