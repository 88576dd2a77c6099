//===- QuantizeInputLoader.cpp - Loads of quantizer inputs ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces are aligned to their length, so a piece is either entirely inside or
// entirely outside the tensor.
//===----------------------------------------------------------------------===//

#include "QuantizeInputLoader.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

int64_t mx::mxgpu::getBatchRank(FusedQuantizeOp op) {
  return op.getInput().getType().getRank() - 2;
}

Value mx::mxgpu::getQuantizedDim(KernelBuilder &host, FusedQuantizeOp op,
                                 int64_t dim) {
  if (dim == 0 && op.getGather())
    return host.dim(op.getGather(), 0);
  if (dim == 0)
    return host.dim(op.getInput(), getBatchRank(op));
  Value columns = host.dim(op.getInput(), getBatchRank(op) + 1);
  int64_t count = op.getNumConcatenated();
  return count == 1 ? columns : host.mul(columns, host.index(count));
}

SmallVector<Type> mx::mxgpu::getQuantizedTypes(FusedQuantizeOp op) {
  if (Block *block = op.getPrologueBlock())
    return SmallVector<Type>(block->getTerminator()->getOperandTypes());
  return {op.getSources()[0].numberType};
}

int64_t mx::mxgpu::getQuantizedBits(FusedQuantizeOp op) {
  int64_t bits = 0;
  for (Type type : getQuantizedTypes(op))
    bits += type.getIntOrFloatBitWidth();
  return bits;
}

int64_t mx::mxgpu::getInputBits(FusedQuantizeOp op) {
  int64_t bits = 0;
  for (const QuantizeSource &source : op.getSources())
    bits += source.numberType.getIntOrFloatBitWidth();
  return bits;
}

bool mx::mxgpu::isProduced(FusedQuantizeOp op) {
  return op.getPrologueBlock() || op.getGather() || op.isPassedOn();
}

bool mx::mxgpu::canCopyInputs(FusedQuantizeOp op) {
  return op.getPrologueBlock() && !op.getGather() && !op.getOffsets() &&
         op.getInputScales().empty();
}

Value mx::mxgpu::findThreadAmax(KernelBuilder &body, FusedQuantizeOp op,
                                Value vector, IntegerAttr column) {
  return ThreadAmaxOp::create(
      body, vector, /*as_integers=*/bool(op.getGlobalScale()), column);
}

static Value share(KernelBuilder &body, Value value, int64_t lanes) {
  if (lanes == 1)
    return value;
  return ReduceLanesOp::create(body, ReduceKind::Maximum, value, lanes);
}

Value mx::mxgpu::findRoleMaximum(KernelBuilder &body, Value value) {
  return gpu::AllReduceOp::create(
      body, value,
      gpu::AllReduceOperationAttr::get(body.getContext(),
                                       gpu::AllReduceOperation::MAXIMUMF),
      /*uniform=*/true);
}

/// Quantizes zeros and drops their elements.
Value mx::mxgpu::findScale(KernelBuilder &body, FusedQuantizeOp op,
                           unsigned index, Value amax) {
  constexpr int64_t kElements = 4; // fill words
  Value zeros = arith::ConstantOp::create(
      body, body.getZeroAttr(VectorType::get(kElements, body.getF32Type())));
  auto block = QuantizeBlockOp::create(
      body,
      TypeRange{VectorType::get(kElements, op.getElementType(index)),
                op.getScaleType(index)},
      zeros, /*encode=*/Value(), /*seed=*/Value(), /*first=*/Value(), amax,
      op.getRounding(), /*lanes=*/1);
  return block.getScale();
}

/// NaN is not above 0, so groups of NaN do not count.
CodeRange mx::mxgpu::findCodeRange(KernelBuilder &body, FusedQuantizeOp op,
                                   unsigned index, Value amax, int64_t lanes) {
  auto f32 = [&](float number) -> Value {
    return arith::ConstantOp::create(body, body.getF32FloatAttr(number));
  };
  amax = share(body, amax, lanes);
  Value byte = arith::UIToFPOp::create(
      body, body.getF32Type(),
      body.bitcast(body.getI8Type(), findScale(body, op, index, amax)));
  Value zero = f32(0.0f);
  Value counts =
      arith::CmpFOp::create(body, arith::CmpFPredicate::OGT, amax, zero);
  Value rest = arith::SubFOp::create(body, f32(255.0f), byte);
  return {body.select(counts, byte, zero), body.select(counts, rest, zero)};
}

Value mx::mxgpu::findSpread(KernelBuilder &body, CodeRange range,
                            int64_t lanes) {
  auto [most, rest] = range;
  Value last = arith::ConstantOp::create(body, body.getF32FloatAttr(255.0f));
  Value sum = arith::AddFOp::create(body, share(body, most, lanes),
                                    share(body, rest, lanes));
  // Without any group the sum is 0.
  Value spread = arith::SubFOp::create(
      body, arith::MaximumFOp::create(body, sum, last), last);
  return arith::TruncIOp::create(
      body, body.getI8Type(),
      arith::FPToUIOp::create(body, body.getI32Type(), spread));
}

QuantizeInputLoader::QuantizeInputLoader(FusedQuantizeOp op,
                                         KernelBuilder &body, int64_t vector,
                                         ArrayRef<int64_t> tile, bool padded)
    : op(op), body(body), vector(vector), tile(tile), padded(padded),
      sources(op.getSources()), prologue(op.getPrologueBlock()) {}

Value QuantizeInputLoader::getRows() const { return rows; }
Value QuantizeInputLoader::getColumns() const { return columns; }

SmallVector<Value> QuantizeInputLoader::getArguments(KernelBuilder &host) {
  SmallVector<Value> arguments;
  for (const QuantizeSource &source : sources) {
    arguments.push_back(toBytes(host, source.tensor));
    if (source.scales)
      arguments.push_back(viewScales(host, source.scales, getBatchRank(op)));
  }
  if (op.getGather())
    arguments.push_back(op.getGather());
  llvm::append_range(arguments, prologue.getCaptures());
  return arguments;
}

void QuantizeInputLoader::takeArguments(Block::args_iterator &next) {
  for (const QuantizeSource &source : sources) {
    inputs.push_back(*next++);
    inputScales.push_back(source.scales ? *next++ : Value());
  }
  if (op.getGather())
    gather = *next++;
  for (Value value : prologue.getCaptures())
    prologue.capture(value, *next++);
}

QuantizeInputLoader QuantizeInputLoader::withVector(int64_t length) const {
  QuantizeInputLoader other = *this;
  other.vector = length;
  return other;
}

void QuantizeInputLoader::begin() {
  rows = body.dim(gather ? gather : inputs[0], 0);
  columns = body.dim(inputs[0], 1);
  if (isa<Float4E2M1FNType>(getElementTypeOrSelf(sources[0].tensor)))
    columns = body.mul(columns, body.index(2)); // bytes of two elements
}

/// Returns true if tiles divide a dimension evenly. Expert groups need not fill
/// their last tile.
bool QuantizeInputLoader::isCovered(int64_t dim) {
  int64_t extent =
      dim ? op.getInput().getType().getDimSize(1) : op.getQuantizedShape()[0];
  int64_t size = padded ? std::max(tile[dim], kScaleTileRows) : tile[dim];
  return !ShapedType::isDynamic(extent) && extent % size == 0 &&
         !op.getOffsets();
}

QuantizeInputLoader::Piece QuantizeInputLoader::load(Value row, Value column,
                                                     Value end) {
  Piece piece{row, row, column, {}};
  if (gather) {
    // As unsigned numbers, negative indices are past the last row.
    Value last = body.sub(rows, 1);
    Value number =
        memref::LoadOp::create(body, gather, ValueRange(body.min(row, last)));
    piece.sourceRow =
        arith::IndexCastOp::create(body, body.getIndexType(), number);
  }
  if (end) {
    // Tiles of scales may extend past the last column.
    Value isInside =
        body.andBits(body.isBelow(row, end), body.isBelow(column, columns));
    piece.sourceRow = body.select(isInside, piece.sourceRow, body.index(-1));
  }
  // With a prologue, clamp reads to the tensor. This is correct because
  // `produce` zeroes the prologue's results past the end, and avoids a
  // comparison for each read. The input has at least one row if a CTA runs, but
  // the source of a gather may be empty.
  bool inBounds = bool(prologue) && !gather;
  Value readRow = piece.sourceRow, readColumn = column;
  if (inBounds) {
    if (!isCovered(0))
      readRow = body.min(readRow, body.sub(rows, 1));
    if (!isCovered(1))
      readColumn = body.min(readColumn, body.sub(columns, vector));
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    piece.inputs.push_back(loadInput(i, readRow, readColumn, inBounds));
  return piece;
}

QuantizeInputLoader::Piece QuantizeInputLoader::take(Value row, Value column,
                                                     ArrayRef<Value> elements) {
  Piece piece{row, row, column, {}};
  for (Value vector : elements)
    piece.inputs.push_back({vector, Value()});
  return piece;
}

/// Loads a piece. Pieces never span two blocks.
QuantizeInputLoader::Loaded QuantizeInputLoader::loadInput(size_t number,
                                                           Value row,
                                                           Value column,
                                                           bool inBounds) {
  const QuantizeSource &source = sources[number];
  auto type = VectorType::get(vector, getElementTypeOrSelf(source.tensor));
  Value elements =
      LoadBlockOp::create(body, type, inputs[number], row, column, inBounds);
  if (!source.scales)
    return {elements, Value()};
  BlockShape block = source.getBlockSize();
  return {elements,
          loadScale(body, inputScales[number], row, body.div(column, block),
                    block, isMNMajor(source.scales, getBatchRank(op)))};
}

Value QuantizeInputLoader::getNumbers(size_t number, const Loaded &loaded) {
  if (!loaded.scale)
    return loaded.elements;
  return DequantizeBlockOp::create(
      body, VectorType::get(vector, sources[number].numberType),
      loaded.elements, loaded.scale, /*decode=*/Value());
}

/// Tests whether a piece is inside the tensor, or returns null if always.
Value QuantizeInputLoader::getPresence(const Piece &piece) {
  Value present;
  auto require = [&](Value place, Value end) {
    Value isBelow = body.isBelow(place, end);
    present = present ? body.andBits(present, isBelow) : isBelow;
  };
  if (gather)
    require(piece.sourceRow, body.dim(inputs[0], 0));
  if (!isCovered(0))
    require(piece.row, rows);
  if (!isCovered(1))
    require(piece.column, columns);
  return present;
}

SmallVector<Value> QuantizeInputLoader::emitPrologue(const Piece &piece) {
  Value one = body.index(1);
  Value lastRow = body.sub(rows, one);
  prologue.emitScalars(body, body.min(piece.row, lastRow));
  Columns place{piece.column, vector, /*last=*/Value(), /*isPresent=*/Value()};
  if (prologue.usesColumns())
    place.last = body.sub(columns, one);
  SmallVector<Value> numbers;
  for (auto [i, loaded] : llvm::enumerate(piece.inputs))
    numbers.push_back(getNumbers(i, loaded));
  return prologue.emit(body, numbers, place);
}

SmallVector<Value> QuantizeInputLoader::produce(const Piece &piece) {
  // Reads outside the tensor return 0, but a row past the end of the gather
  // reads an existing row.
  SmallVector<Value> values =
      prologue ? emitPrologue(piece)
               : SmallVector<Value>{getNumbers(0, piece.inputs[0])};
  if (!prologue && !(gather && padded))
    return values;
  Value present = getPresence(piece);
  if (!present)
    return values;
  for (Value &value : values) {
    Value zero =
        arith::ConstantOp::create(body, body.getZeroAttr(value.getType()));
    value = body.select(present, value, zero);
  }
  return values;
}
