//===- PackKernels.cpp - Kernels that pack operands -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 6-bit elements are packed because tensor maps require packed rows. Other
// operands are packed to a kernel's read order.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx::mxgpu;
using namespace mx;

//===----------------------------------------------------------------------===//
// 6-bit elements
//===----------------------------------------------------------------------===//

static constexpr int64_t kTile = 128, kPackStep = 32,
                         kPackedTile = kTile * 6 / 8;

namespace {

/// Helpers for arithmetic on 32-bit words.
struct PackedRegs {
  KernelBuilder &body;

  Value word(int64_t value) const {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }
  Value bitOr(Value a, Value b) const { return body.orBits(a, b); }
  Value left(Value a, int64_t bits) const {
    return body.shiftLeft(a, word(bits));
  }
  Value right(Value a, int64_t bits) const {
    return body.shiftRight(a, word(bits));
  }
  Value field(Value a, int64_t bits, int64_t mask) const {
    return body.andBits(bits ? right(a, bits) : a, word(mask));
  }

  /// Packs four codes in the bytes of a word into 24 bits.
  Value packFour(Value codes) const {
    Value low = bitOr(field(codes, 0, 0x3F), field(codes, 2, 0x3F << 6));
    Value high =
        bitOr(field(codes, 4, 0x3F << 12), field(codes, 6, 0x3F << 18));
    return bitOr(low, high);
  }

  /// Packs 16 codes in four words into three words.
  void packSixteen(ArrayRef<Value> codes, SmallVectorImpl<Value> &out) const {
    Value w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = packFour(codes[i]);
    out.push_back(bitOr(w[0], left(w[1], 24)));
    out.push_back(bitOr(right(w[1], 8), left(w[2], 16)));
    out.push_back(bitOr(right(w[2], 16), left(w[3], 8)));
  }
};

} // namespace

/// Builds a kernel in which each thread packs 128 elements of a row, in steps
/// of 64 elements (48 bytes).
static void buildKernel(KernelOp kernel, Location loc) {
  KernelBuilder body(loc, kernel.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  Value bytes = kernel.getBody().getArgument(0);
  Value packed = kernel.getBody().getArgument(1);
  Value rows = body.dim(bytes, 0), columns = body.dim(bytes, 1);
  Value work = body.scheduleTiles(rows, columns, {kTile, kTile});
  body.role("pack", kTile / 32, /*elected=*/false);
  Value thread = ThreadIdOp::create(body);
  ForEachWorkTileOp workTile = body.forEachWorkTile(work);
  Value row = body.add(workTile.getRow(), thread);
  Value packedColumn =
      body.mul(body.div(workTile.getColumn(), kTile), body.index(kPackedTile));
  auto byteVector = [&](int64_t size) {
    return VectorType::get(size, body.getI8Type());
  };
  auto wordVector = [&](int64_t size) {
    return VectorType::get(size, body.getI32Type());
  };
  SmallVector<Value> words;
  for (int64_t block = 0; block < kTile / kPackStep; ++block) {
    Value loaded =
        LoadBlockOp::create(body, byteVector(kPackStep), bytes, row,
                            body.add(workTile.getColumn(), block * kPackStep));
    Value codes =
        vector::BitCastOp::create(body, wordVector(kPackStep / 4), loaded);
    SmallVector<Value> fours;
    for (int64_t i = 0; i < kPackStep / 4; ++i)
      fours.push_back(
          vector::ExtractOp::create(body, codes, ArrayRef<int64_t>{i}));
    for (int64_t i = 0; i < kPackStep / 4; i += 4)
      PackedRegs{body}.packSixteen(ArrayRef(fours).slice(i, 4), words);
  }
  for (int64_t i = 0; i < kPackedTile / 4; i += 4) {
    Value four = vector::FromElementsOp::create(body, wordVector(4),
                                                ArrayRef(words).slice(i, 4));
    Value sixteen = vector::BitCastOp::create(body, byteVector(16), four);
    StoreBlockOp::create(body, sixteen, packed, row,
                         body.add(packedColumn, 4 * i));
  }
}

Value mx::mxgpu::packSixBits(KernelBuilder &host, Value operand,
                             gpu::GPUModuleOp module) {
  auto type = cast<MemRefType>(operand.getType());
  Type byte = host.getI8Type();
  Value rows = host.dim(operand, 0), columns = host.dim(operand, 1);
  Value columnTiles = host.ceilDiv(columns, kTile);
  // mx-store-as-bytes replaces this cast with the bytes of the operand.
  Value bytes = UnrealizedConversionCastOp::create(
                    host, MemRefType::get(type.getShape(), byte), operand)
                    .getResult(0);
  SmallVector<int64_t> shape(2, ShapedType::kDynamic);
  Value packed = memref::AllocOp::create(
      host, MemRefType::get(shape, byte),
      ValueRange{rows, host.mul(columnTiles, host.index(kPackedTile))});
  SmallVector<Value> arguments = {bytes, packed};
  KernelOp kernel =
      host.kernel(module, "pack", ValueRange(arguments).getTypes());
  buildKernel(kernel, host.getLoc());
  Value tiles = host.mul(host.ceilDiv(rows, kTile), columnTiles);
  host.launch(kernel, tiles, arguments);
  return packed;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Bytes per load. Row lengths are multiples of this size.
static constexpr int64_t kWordBytes = 4;
/// A thread owns a pair of columns in every kPairColumns columns.
static constexpr int64_t kPairColumns = 8;
static constexpr int64_t kPairs = kWeightTileColumns / kPairColumns;

namespace {

/// Packs a thread's part of a tile.
class WeightPacker {
public:
  WeightPacker(KernelBuilder &body, KernelOp kernel, Type element)
      : body(body), bits(getStoredBits(element)),
        bytes(kernel.getBody().getArgument(0)),
        packed(kernel.getBody().getArgument(1)),
        matrixRows(kernel.getBody().getArgument(2)),
        rowTiles(body.ceilDiv(matrixRows, kWeightTileRows)) {}

  void build() {
    Value matrices = body.div(body.dim(bytes, 0), matrixRows);
    Value rows =
        body.mul(body.mul(matrices, rowTiles), body.index(kWeightTileRows));
    Value work = body.scheduleTiles(rows, body.dim(bytes, 1),
                                    {kWeightTileRows, getTileBytes()});
    body.role("pack", kWeightTileThreads / target::kWarpSize,
              /*elected=*/false);
    Value thread = ThreadIdOp::create(body);
    findPlaceInRow(thread);
    ForEachWorkTileOp workTile = body.forEachWorkTile(work);
    Value tile = body.div(workTile.getRow(), kWeightTileRows);
    Value first = getFirstRow(thread, tile);
    SmallVector<Value> pairs[2];
    for (int64_t row : {0, 1})
      pairs[row] =
          loadPairs(getRow(tile, body.add(first, row)), workTile.getColumn());
    Value columnTiles = body.ceilDiv(body.dim(bytes, 1), getTileBytes());
    Value number = body.add(body.mul(tile, columnTiles),
                            body.div(workTile.getColumn(), getTileBytes()));
    Value out =
        body.add(body.mul(number, body.index(kWeightTileThreads)), thread);
    store(out, pairs[0], pairs[1]);
  }

private:
  int64_t getTileBytes() const { return kWeightTileColumns * bits / 8; }

  Value word(int64_t value) {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }

  /// Computes the position of the thread's pair, which is the first bit in a
  /// 4-byte word. For 8-bit elements, also computes the index of this word in a
  /// word pair.
  void findPlaceInRow(Value thread) {
    Value pair = body.rem(thread, 4);
    Value inWord = bits == 4 ? pair : Value(body.rem(pair, 2));
    Value shift = body.mul(inWord, body.index(2 * bits));
    low = arith::IndexCastUIOp::create(body, body.getI32Type(), shift);
    isUpper = arith::CmpIOp::create(body, arith::CmpIPredicate::uge, pair,
                                    body.index(2));
  }

  /// Returns the thread's first row in the matrix of `tile`.
  Value getFirstRow(Value thread, Value tile) {
    Value inMatrix = body.rem(tile, rowTiles);
    Value warp = body.div(thread, target::kWarpSize);
    Value lane = body.rem(thread, target::kWarpSize);
    Value inTile = body.add(body.mul(warp, body.index(16)),
                            body.mul(body.div(lane, 4), body.index(2)));
    return body.add(body.mul(inMatrix, body.index(kWeightTileRows)), inTile);
  }

  /// Converts a row of a matrix to a row of the batch. Missing rows are mapped
  /// past the end of the batch.
  Value getRow(Value tile, Value inMatrix) {
    Value matrix = body.div(tile, rowTiles);
    Value row = body.add(body.mul(matrix, matrixRows), inMatrix);
    Value exists = body.isBelow(inMatrix, matrixRows);
    return body.select(exists, row, body.dim(bytes, 0));
  }

  Value loadWord(Value row, Value column) {
    Type byte = getElementTypeOrSelf(bytes.getType());
    Value loaded = LoadBlockOp::create(body, VectorType::get(kWordBytes, byte),
                                       bytes, row, column);
    Value words = vector::BitCastOp::create(
        body, VectorType::get(1, body.getI32Type()), loaded);
    return vector::ExtractOp::create(body, words, ArrayRef<int64_t>{0});
  }

  /// Loads the thread's pairs of a row, each into the low bits of a word.
  SmallVector<Value> loadPairs(Value row, Value column) {
    SmallVector<Value> pairs;
    for (int64_t i = 0; i < kPairs; ++i) {
      Value start = body.add(column, i * kPairColumns * bits / 8);
      Value loaded = loadWord(row, start);
      if (bits == 8)
        loaded = body.select(
            isUpper, loadWord(row, body.add(start, kWordBytes)), loaded);
      Value shifted = body.shiftRight(loaded, low);
      pairs.push_back(body.andBits(shifted, word((1 << (2 * bits)) - 1)));
    }
    return pairs;
  }

  /// Stores the pairs of two rows alternately.
  void store(Value row, ArrayRef<Value> even, ArrayRef<Value> odd) {
    int64_t perWord = 32 / (4 * bits);
    SmallVector<Value> words;
    for (int64_t i = 0; i < kPairs; i += perWord) {
      Value whole;
      for (int64_t k = 0; k < 2 * perWord; ++k) {
        Value pair = (k % 2 ? odd : even)[i + k / 2];
        Value placed = body.shiftLeft(pair, word(2 * bits * k));
        whole = whole ? Value(body.orBits(whole, placed)) : placed;
      }
      words.push_back(whole);
    }
    auto count = static_cast<int64_t>(words.size());
    Value vector = vector::FromElementsOp::create(
        body, VectorType::get(count, body.getI32Type()), words);
    Type byte = getElementTypeOrSelf(packed.getType());
    Value stored = vector::BitCastOp::create(
        body, VectorType::get(kWordBytes * count, byte), vector);
    StoreBlockOp::create(body, stored, packed, row, body.index(0));
  }

  KernelBuilder &body;
  int64_t bits;
  Value bytes, packed, matrixRows, rowTiles;
  Value low, isUpper;
};

} // namespace

void mx::mxgpu::requirePackedShape(KernelBuilder &host, PackOperandOp op) {
  OperandOrderAttrInterface order = op.getOutOrder();
  Value input = op.getInput(), out = op.getOuts()[0];
  int64_t batch = cast<MemRefType>(input.getType()).getRank() - 2;
  OperandTiles tiles = order.getTiles();
  for (int64_t dim = 0; dim < batch + 2; ++dim) {
    Value size = host.dim(input, dim);
    int64_t tile = dim < batch ? 1 : dim == batch ? tiles.rows : tiles.columns;
    if (order.keepsShape() && tile > 1)
      requireMultiple(host, size, tile,
                      "dimension " + Twine(dim) + " of input");
    else if (tile > 1)
      size = host.ceilDiv(size, tile);
    requireSize(host, host.dim(out, dim), size,
                "dimension " + Twine(dim) + " of outs");
  }
}

/// Requires at run time that the row length is a multiple of `elements`.
static void requireWords(KernelBuilder &host, Value input, int64_t elements) {
  int64_t last = cast<MemRefType>(input.getType()).getRank() - 1;
  requireMultiple(host, host.dim(input, last), elements,
                  "dimension " + Twine(last) + " of input");
}

/// Fails unless the static row length is a multiple of a word.
static LogicalResult verifyWords(PackOperandOp op) {
  auto type = cast<MemRefType>(op.getInput().getType());
  int64_t inWord = kWordBytes * 8 / getStoredBits(type.getElementType());
  int64_t columns = type.getShape().back();
  if (ShapedType::isDynamic(columns) || columns % inWord == 0)
    return success();
  int64_t below = columns / inWord * inWord;
  return op.emitOpError("expected the row length to be a multiple of ")
         << inWord << " weights of " << type.getElementType()
         << " on the GPU, found " << columns << "; the nearest are " << below
         << " and " << below + inWord;
}

static LogicalResult packFragments(PackOperandOp op, KernelBuilder &host,
                                   gpu::GPUModuleOp module) {
  if (failed(verifyWords(op)))
    return failure();
  Value input = op.getInput(), out = op.getOuts()[0];
  Type element = getElementTypeOrSelf(input.getType());
  int64_t rank = cast<MemRefType>(input.getType()).getRank();
  requireWords(host, input, kWordBytes * 8 / getStoredBits(element));
  requirePackedShape(host, op);
  Value matrixRows = host.dim(input, rank - 2);
  Value rows = collapseLeading(host, input, rank - 1);
  Value tiles = collapseLeading(host, out, rank + 1);
  Value count = host.div(host.dim(tiles, 0), kWeightTileThreads);
  SmallVector<Value> arguments = {toBytes(host, rows), toBytes(host, tiles),
                                  matrixRows};
  KernelOp kernel =
      host.kernel(module, "pack_weights", ValueRange(arguments).getTypes());
  KernelBuilder body(op.getLoc(), kernel.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  WeightPacker(body, kernel, element).build();
  host.launch(kernel, count, arguments);
  return success();
}

//===----------------------------------------------------------------------===//
// Generic orders
//===----------------------------------------------------------------------===//

namespace {

/// Gathers elements for orders without a dedicated kernel. Pairs of 4-bit
/// elements are gathered as bytes.
class Gather {
public:
  Gather(PackOperandOp op, KernelBuilder &host)
      : op(op), host(host), body(op.getLoc(), op.getContext()),
        order(op.getOutOrder()),
        batch(cast<MemRefType>(op.getInput().getType()).getRank() - 2),
        inByte(getStoredBits(getElementTypeOrSelf(op.getInput())) == 4 ? 2
                                                                       : 1) {}

  LogicalResult build(gpu::GPUModuleOp module) {
    if (inByte > 1 && !keepsPairs())
      return op.emitOpError("expected an order that keeps pairs of columns "
                            "with 4-bit elements on the GPU, found ")
             << order;
    Value input = op.getInput(), out = op.getOuts()[0];
    requirePackedShape(host, op);
    requireWords(host, input, inByte);
    if (!order.keepsShape())
      clearMemory(host, toBytes(host, out));
    Value stored = toBytes(host, toRow(host, out));
    SmallVector<Value> arguments = {
        toBytes(host, collapseLeading(host, input, batch + 1)), stored};
    for (Value sized : {input, out})
      for (int64_t dim : {batch, batch + 1})
        arguments.push_back(host.dim(sized, dim));
    launchForEachElement(host, body, module, "pack_operand",
                         host.dim(stored, 1), arguments,
                         [&](Block::BlockArgListType arguments, Value place) {
                           gather(arguments, place);
                         });
    return success();
  }

private:
  bool keepsPairs() {
    OperandTiles tiles = order.getTiles();
    int64_t last = tiles.stored.empty() ? tiles.columns : tiles.stored.back();
    for (int64_t place = 0; place < tiles.rows * tiles.columns; place += 2) {
      auto even = tiles.map.compose({place / last, place % last});
      auto odd = tiles.map.compose({place / last, place % last + 1});
      if (last % 2 || even[1] % 2 || odd[0] != even[0] || odd[1] != even[1] + 1)
        return false;
    }
    return true;
  }

  void gather(Block::BlockArgListType arguments, Value place) {
    Value to = place, rows = arguments[2], columns = arguments[3];
    place = body.mul(place, inByte);
    SmallVector<Value> sizes = {arguments[4], arguments[5]}, dims;
    for (int64_t size : order.getTiles().stored)
      sizes.push_back(body.index(size));
    for (Value size : llvm::reverse(sizes)) {
      dims.push_back(body.rem(place, size));
      place = body.div(place, size);
    }
    std::reverse(dims.begin(), dims.end());
    SmallVector<Value> element =
        *affine::expandAffineMap(body, body.getLoc(), order.getMap(), dims);
    body.beginIf(body.both(body.isBelow(element[0], rows),
                           body.isBelow(element[1], columns)));
    Value row = body.add(body.mul(place, rows), element[0]);
    Value found = memref::LoadOp::create(
        body, arguments[0], ValueRange{row, body.div(element[1], inByte)});
    memref::StoreOp::create(body, found, arguments[1],
                            ValueRange{body.index(0), to});
  }

  PackOperandOp op;
  KernelBuilder &host;
  KernelBuilder body;
  OperandOrderAttrInterface order;
  int64_t batch, inByte;
};

} // namespace

LogicalResult mx::mxgpu::convertPackOperand(PackOperandOp op,
                                            gpu::GPUModuleOp module) {
  if (op.getScales())
    return op.emitOpError("expected no scales in order ")
           << op.getOutOrder()
           << " on the GPU: dequantize the operand first with mx.dequantize";
  for (Value operand : op->getOperands())
    if (auto type = cast<MemRefType>(operand.getType()); !isContiguous(type))
      return op.emitOpError("expected operands with identity layout on the "
                            "GPU, found ")
             << type << ": pack a whole argument or result, not a view";
  KernelBuilder host(op.getLoc(), op);
  if (failed(isa<Fragment64x64Attr>(op.getOutOrder())
                 ? packFragments(op, host, module)
                 : Gather(op, host).build(module)))
    return failure();
  op.erase();
  return success();
}
