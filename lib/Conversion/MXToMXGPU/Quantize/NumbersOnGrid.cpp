//===- NumbersOnGrid.cpp - What is dequantized as soon as it is quantized -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mx.dequantize of what mx.quantize has just written, and nothing else reads,
// are the numbers that the format has instead of those of the input. Threads
// that quantize have elements and scale in registers, so that they write the
// numbers at once and neither of the two.
//
// A quantizer may have several results, of which each is for itself. The kernel
// is where the quantizer was if all numbers go to memory of their own, which
// can be had there; if not, where the first result is dequantized.
//
//===----------------------------------------------------------------------===//

#include "NumbersOnGrid.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// What is dequantized
//===----------------------------------------------------------------------===//

/// The one operation that uses what `writer` writes to a buffer of its own.
static DequantizeOp getOnlyReader(QuantizeOp writer, Value buffer) {
  if (!buffer.getDefiningOp<memref::AllocOp>())
    return {};
  DequantizeOp reader;
  for (Operation *user : buffer.getUsers()) {
    if (user == writer || isa<memref::DeallocOp, memref::DimOp>(user))
      continue;
    auto dequantize = dyn_cast<DequantizeOp>(user);
    if (!dequantize || (reader && reader != dequantize))
      return {};
    reader = dequantize;
  }
  return reader;
}

/// Whether it takes the groups that the rows of the result have. A ragged
/// reduction is dequantized as the matrix that it is.
static bool hasGroupsOf(DequantizeOp reader, QuantizeOp op, int64_t axis) {
  bool hasGroups = op.getOffsets() && axis == 1;
  return reader.getOffsets() == (hasGroups ? op.getOffsets() : Value()) &&
         reader.getRaggedOrNone() ==
             (hasGroups ? op.getRaggedOrNone() : RaggedKind::None);
}

/// What dequantizes a destination, and nothing else reads it.
static DequantizeOp findReader(QuantizeOp op, unsigned index) {
  Value elements = op.getElements(index), scales = op.getScales(index);
  DequantizeOp reader = getOnlyReader(op, elements);
  if (!reader || reader != getOnlyReader(op, scales) ||
      reader.getInput() != elements || reader.getScales() != scales ||
      !hasGroupsOf(reader, op, op.getAxis(index)) ||
      reader.getBlockSize() != op.getBlockSize() ||
      !isContiguous(cast<MemRefType>(reader.getOuts()[0].getType())))
    return {};
  bool isLater =
      op->getBlock() == reader->getBlock() && op->isBeforeInBlock(reader);
  return isLater ? reader : DequantizeOp();
}

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

/// Whether nothing that `op` reads changes before `later`, and no operation
/// reads what it writes.
static bool canWait(QuantizeOp op, Operation *later) {
  for (Operation *next = op->getNextNode(); next != later;
       next = next->getNextNode()) {
    if (isMemoryEffectFree(next) || isa<memref::AllocOp>(next))
      continue;
    auto effects = dyn_cast<MemoryEffectOpInterface>(next);
    if (!effects || next->getNumRegions() ||
        effects.hasEffect<MemoryEffects::Write>() ||
        effects.hasEffect<MemoryEffects::Free>())
      return false;
    if (llvm::any_of(next->getOperands(), [&](Value operand) {
          return llvm::is_contained(op.getOuts(), operand);
        }))
      return false;
  }
  return true;
}

/// Whether a value is there before `place`, an operation of a block that uses
/// it.
static bool isBefore(Value value, Operation *place) {
  Operation *op = value.getDefiningOp();
  return !op || op->getBlock() != place->getBlock() ||
         op->isBeforeInBlock(place);
}

/// Whether `reader` can be done at `place` already: it writes to memory that
/// no operation uses before, and is available there.
static bool canBeEarly(DequantizeOp reader, Operation *place) {
  auto alloc = reader.getOuts()[0].getDefiningOp<memref::AllocOp>();
  if (!alloc || alloc->getBlock() != place->getBlock())
    return false;
  auto isThere = [&](Value value) { return isBefore(value, place); };
  if (!llvm::all_of(alloc.getOperands(), isThere) ||
      (reader.getGlobalScale() && !isThere(reader.getGlobalScale())))
    return false;
  return llvm::all_of(alloc->getUsers(), [&](Operation *user) {
    if (user == reader || isa<memref::DimOp>(user))
      return true;
    Operation *inBlock = place->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && reader->isBeforeInBlock(inBlock);
  });
}

DequantizeOp NumbersOnGrid::getFirst() const {
  DequantizeOp first;
  for (DequantizeOp reader : readers)
    if (reader && (!first || reader->isBeforeInBlock(first)))
      first = reader;
  return first;
}

NumbersOnGrid NumbersOnGrid::find(QuantizeOp op) {
  NumbersOnGrid numbers;
  for (unsigned i = 0; i < op.getNumDestinations(); ++i)
    numbers.readers.push_back(findReader(op, i));
  numbers.place = op;
  auto isLate = [&](DequantizeOp reader) {
    return reader && reader != numbers.place &&
           !canBeEarly(reader, numbers.place);
  };
  DequantizeOp first = numbers.getFirst();
  if (llvm::any_of(numbers.readers, isLate) && canWait(op, first))
    numbers.place = first;
  for (DequantizeOp &reader : numbers.readers)
    if (isLate(reader))
      reader = {};
  return numbers;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void NumbersOnGrid::moveTogether(QuantizeOp op,
                                 SmallPtrSetImpl<Operation *> &done) const {
  if (any() && place != op)
    op->moveBefore(place);
  for (DequantizeOp reader : readers) {
    if (!reader)
      continue;
    done.insert(reader);
    Operation *alloc = reader.getOuts()[0].getDefiningOp();
    if (alloc && alloc->getBlock() == op->getBlock() &&
        op->isBeforeInBlock(alloc))
      alloc->moveBefore(op);
  }
}

void NumbersOnGrid::checkSizes(KernelBuilder &host, QuantizeOp op) const {
  for (unsigned i = 0; i < readers.size(); ++i) {
    DequantizeOp reader = readers[i];
    if (!reader)
      continue;
    Value out = reader.getOuts()[0], elements = op.getElements(i);
    int64_t rank = cast<MemRefType>(out.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      host.requireSize(host.dim(out, dim), host.dim(elements, dim),
                       "dimension " + Twine(dim) + " of outs");
  }
}

void NumbersOnGrid::addArguments(unsigned destination,
                                 SmallVectorImpl<Value> &arguments) const {
  DequantizeOp reader = readers[destination];
  arguments.push_back(reader.getOuts()[0]);
  if (Value factor = reader.getGlobalScale())
    arguments.push_back(factor);
}

void NumbersOnGrid::erase() {
  for (DequantizeOp reader : readers)
    if (reader)
      reader.erase();
  readers.clear();
}

StringRef mx::mxgpu::getKernelName(const NumbersOnGrid &numbers) {
  return numbers.any() ? "quantize_dequantize" : "quantize";
}

bool mx::mxgpu::isBuiltByRows(QuantizeOp op, const NumbersOnGrid &numbers) {
  if (!isByTiles(op))
    return true;
  return op.getAxes() == ArrayRef<int64_t>{1} && !op.getSquare() &&
         op.getInput().getType().getRank() == 2 && numbers.all() &&
         op.getAmaxOuts().empty();
}
