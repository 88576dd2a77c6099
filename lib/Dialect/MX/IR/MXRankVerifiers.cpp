//===- MXRankVerifiers.cpp - Verifiers of rank group operations -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Comments such as "dispatch C1" cite constraints of docs/reference/Spec.md.
//
//===----------------------------------------------------------------------===//

#include "MXChecks.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "mx/Support/GroupLimits.h"

using namespace mlir;
using namespace mx;
using namespace mx::detail;

/// Maximum number of experts per token.
static constexpr int64_t kMostChoices = 32;

//===----------------------------------------------------------------------===//
// Groups and windows
//===----------------------------------------------------------------------===//

LogicalResult RankGroupOp::verify() {
  int64_t size = getSize(), tokens = getTokens();
  if (size < 1 || size > kMostRanks) // group C1
    return emitOpError("expected a size of 1 to ")
           << kMostRanks << ", found " << size;
  if (tokens < 1 || tokens > kMostGroupTokens / size) // group C2
    return emitOpError("expected at least 1 token per rank and at most ")
           << kMostGroupTokens << " tokens in total, found " << tokens
           << " for each of " << size << (size == 1 ? " rank" : " ranks");
  int64_t slots = getRowsOfRank();
  if (slots < 1 || slots > tokens) // group C3
    return emitOpError("expected 1 to ")
           << tokens << " slots, the tokens of a rank, found " << slots;
  return success();
}

/// Returns the referenced rank group, or null after an error.
static RankGroupOp findRankGroup(Operation *op, FlatSymbolRefAttr name,
                                 SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(op, name);
  auto group = dyn_cast_if_present<RankGroupOp>(symbol); // groups C1
  if (!group)
    op->emitOpError("expected an mx.group, found ")
        << (symbol ? symbol->getName().getStringRef() : "nothing") << " named "
        << name;
  return group;
}

/// Requires that a window has the group's number of rows, and that rows have a
/// static size and occupy whole bytes.
static LogicalResult verifyRows(Operation *op, RankGroupOp group,
                                const Named &window) {
  if (window.rank() < 2 || window.dim(0) != group.getRows()) // groups C2
    return errorAt(op, window)
           << "expected " << window.name << " with rank 2 or more and "
           << group.getRows() << " rows (" << group.getRowsOfRank()
           << " for each of " << group.getSize() << " ranks), found "
           << window.type();
  ArrayRef<int64_t> row = window.shape().drop_front(); // groups C3
  if (llvm::any_of(row, ShapedType::isDynamic))
    return errorAt(op, window) << "expected rows of static size in "
                               << window.name << ", found " << window.type();
  bool isNumber = window.elementType().isIntOrIndexOrFloat(); // groups C4
  int64_t bits = isNumber ? getMemoryBits(window.elementType()) % 8 : 1;
  for (int64_t extent : row)
    bits = isNumber ? bits * (extent % 8) % 8 : bits;
  if (bits)
    return errorAt(op, window) << "expected numeric rows of whole bytes in "
                               << window.name << ", found " << window.type();
  return verifyNoEncoding(op, window);
}

/// Returns the window that contains `array`, or null if unknown.
static WindowOp findWindow(Value array) {
  while (Operation *op = array.getDefiningOp()) {
    if (auto window = dyn_cast<WindowOp>(op))
      return window;
    if (auto structured = dyn_cast<DestinationStyleOpInterface>(op))
      array = structured.getTiedOpOperand(cast<OpResult>(array))->get();
    else if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      array = view.getViewSource();
    else if (isa<tensor::CastOp, tensor::ExtractSliceOp>(op))
      array = op->getOperand(0);
    else
      return {};
  }
  return {};
}

/// Requires that an operand has the shape of a window and, if the window is
/// known, that the window belongs to the same rank group.
static LogicalResult verifyWindow(Operation *op, RankGroupOp group,
                                  const Named &window) {
  if (failed(verifyRows(op, group, window)))
    return failure();
  WindowOp found = findWindow(window.value); // groups C9
  if (found && found.getGroup() != group.getSymName())
    return errorAt(op, window)
           << "expected " << window.name << " to belong to group @"
           << group.getSymName() << ", found group @" << found.getGroup();
  return success();
}

LogicalResult RankOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(findRankGroup(*this, getGroupAttr(), symbols));
}

LogicalResult PeersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(findRankGroup(*this, getGroupAttr(), symbols));
}

LogicalResult BarrierOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return success(findRankGroup(*this, getGroupAttr(), symbols));
}

LogicalResult ToPeersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  if (!group || failed(verifyWindow(*this, group, {getWindow(), "the window"})))
    return failure();
  auto type = cast<MemRefType>(getWindow().getType()),
       result = cast<MemRefType>(getType());
  if (type.getLayout().isIdentity() && result.getLayout().isIdentity() &&
      type.getElementType() == result.getElementType() &&
      type.getRank() == result.getRank() &&
      type.getShape().drop_front() == result.getShape().drop_front())
    return success();
  return emitOpError("expected rows of ")
         << type << " with identity layout, found " << result;
}

LogicalResult FromPeersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  return group ? verifyWindow(*this, group, {getWindow(), "the window"})
               : failure();
}

LogicalResult WindowOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  return group ? verifyRows(*this, group, {getResult(), "the window"})
               : failure();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Verifies a payload, a tensor with a row for each token, and its window.
static LogicalResult verifyPayload(Operation *op, RankGroupOp group,
                                   const Named &payload, const Named &window) {
  if (failed(verifyWindow(op, group, window)))
    return failure();
  if (payload.elementType() != window.elementType()) // groups C5
    return errorAt(op, window)
           << "expected " << window.name << " with the element type "
           << payload.elementType() << " of " << payload.name << ", found "
           << window.elementType();
  if (failed(verifyRank(op, payload, window.rank())))
    return failure();
  for (int64_t dim = 1; dim < window.rank(); ++dim)
    if (failed(verifyDim(op, payload, dim, window.dim(dim))))
      return failure();
  return verifyNoEncoding(op, payload);
}

/// Verifies the number of experts, and the ids of the experts of each token.
static LogicalResult verifyExperts(Operation *op, RankGroupOp group,
                                   int64_t experts, const Named &ids) {
  if (experts < 1 || experts % int64_t(group.getSize()) ||
      experts > std::numeric_limits<int32_t>::max()) // groups C6
    return op->emitOpError("expected a positive number of experts that is "
                           "divisible by the number of ranks, ")
           << group.getSize() << ", found " << experts;
  if (failed(verifyRank(op, ids, 2))) // groups C7
    return failure();
  if (ids.dim(1) < 1 || ids.dim(1) > kMostChoices) // kDynamic is negative
    return errorAt(op, ids) << "expected dimension 1 of ids, the number of "
                               "choices, to be static and from 1 to "
                            << kMostChoices << ", found " << ids.type();
  return verifyNoEncoding(op, ids);
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  Named ids{getIds(), "ids"};
  if (!group || failed(verifyExperts(*this, group, getExperts(), ids)))
    return failure();
  size_t windows = getPayloads().size() + 1;
  if (getOuts().size() < windows || getOuts().size() > windows + 1)
    return emitOpError("expected ") // dispatch C1
           << windows
           << " outs (a window for ids and for each payload) and at most a "
              "number, found "
           << getOuts().size();
  if (getOuts().size() > windows) { // dispatch C3
    Named needed{getOuts().back(), "the number of rows"};
    if (failed(verifyRank(*this, needed, 0)))
      return failure();
    if (!needed.elementType().isInteger(32))
      return errorAt(*this, needed)
             << "expected the number of rows as i32, found " << needed.type();
  }
  if (failed(verifyPayload(*this, group, ids,
                           {getOuts()[0], "the window of ids"})))
    return failure();
  for (auto [i, payload, out] :
       llvm::enumerate(getPayloads(), getOuts().slice(1, windows - 1))) {
    std::string name = "payload " + std::to_string(i);
    std::string window = "the window of payload " + std::to_string(i);
    Named rows{payload, name};
    if (failed(verifyPayload(*this, group, rows, {out, window})) ||
        failed(verifyDim(*this, rows, 0, ids.dim(0)))) // dispatch C2
      return failure();
  }
  return success();
}

/// Verifies the common constraints of mx.collect and mx.collect_pairs.
template <typename Op>
static LogicalResult verifyCollect(Op op, SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(op, op.getGroupAttr(), symbols);
  Named ids{op.getIds(), "ids"}, input{op.getInput(), "input"};
  Named slots{op.getSlots(), "slots"}, out{op.getOuts(), "outs"};
  if (!group || failed(verifyExperts(op, group, op.getExperts(), ids)))
    return failure();
  for (const Named &operand : {input, slots, out})
    if (failed(verifyNoEncoding(op, operand)))
      return failure();
  if (failed(verifyRank(op, slots, 1)) ||
      failed(verifyDim(op, slots, 0, input.dim(0)))) // collect C1
    return failure();
  if (failed(verifyRank(op, out, 2))) // collect C2
    return failure();
  return verifyDim(op, out, 0, ids.dim(0));
}

LogicalResult CollectOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Named input{getInput(), "input"};
  if (failed(verifyCollect(*this, symbols)) ||
      failed(verifyRank(*this, input, 2))) // collect C4
    return failure();
  if (!isa<Float32Type, BFloat16Type>(getWire())) // collect C3
    return emitOpError("expected wire = f32 or bf16, found ") << getWire();
  if (getParts() && int64_t(*getParts()) < 1) // collect C5
    return emitOpError("expected at least 1 part, found ")
           << int64_t(*getParts());
  if (ShapedType::isDynamic(input.dim(1)))
    return errorAt(*this, input)
           << "expected rows of static size in input, found " << input.type();
  return verifyDim(*this, {getOuts(), "outs"}, 1, input.dim(1));
}

LogicalResult CollectPairsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyCollect(*this, symbols)) ||
      failed(verifyRank(*this, {getInput(), "input"}, 1))) // collect_pairs C1
    return failure();
  return verifyDim(*this, {getOuts(), "outs"}, 1,
                   cast<ShapedType>(getIds().getType()).getDimSize(1));
}

LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  if (!group || failed(verifyForm(*this)) ||
      failed(verifyOneOut(*this, getOuts())))
    return failure();
  Named window{getOuts()[0], "the window"};
  if (!getInput())
    return verifyWindow(*this, group, window);
  return verifyPayload(*this, group, {getInput(), "input"}, window);
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbols) {
  RankGroupOp group = findRankGroup(*this, getGroupAttr(), symbols);
  if (!group || failed(verifyForm(*this)) ||
      failed(verifyOneOut(*this, getOuts())))
    return failure();
  Named input{getInput(), "input"};
  if (failed(verifyRows(*this, group, input)))
    return failure();
  return verifyPayload(*this, group, input, {getOuts()[0], "the window"});
}
