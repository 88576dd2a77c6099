//===- QuantizePackedKernel.cpp - Kernel that quantizes packed weights ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantizes weights along rows and stores them in #mxgpu.fragment_64x64, so
// unpacked elements need no memory. A thread holds 16 columns of two adjacent
// rows. These are a fourth of the fragments of four threads of a matmul
// (PackKernels.cpp). Eight lanes hold 128 columns, so their stores fill whole
// sectors and their scales are adjacent.
//===----------------------------------------------------------------------===//

#include "../Builder/Elementwise.h"
#include "../Builder/HostChecks.h"
#include "../Conversions.h"
#include "QuantizeChecks.h"
#include "QuantizeTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Support/OperandOrders.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/TargetInfo.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Columns of a thread, and rows and columns of the threads of a CTA.
static constexpr int64_t kPieceColumns = 16, kPackRows = kWeightTileRows,
                         kPackColumns = 2 * kWeightTileColumns;
static constexpr int64_t kPieceLanes = kPackColumns / kPieceColumns;
static constexpr int64_t kPackThreads = kPackRows / 2 * kPieceLanes;
/// CTAs of an SM, which limits a thread to 64 registers.
static constexpr int64_t kPackCtas = 4;

PackOperandOp mx::mxgpu::findPackedUse(FusedQuantizeOp op) {
  auto input = cast<MemRefType>(op.getInput().getType());
  if (op.getNumDestinations() != 1 || op.isDequantized(0) ||
      op.getAxis(0) == 0 || op->getNumOperands() != 3 ||
      !op.getPrologue().empty() || !input.getLayout().isIdentity() ||
      isMNMajor(op.getScales(0), input.getRank() - 2))
    return {};
  const BlockFormat &format =
      getBlockFormat(op.getScaleType(0), op.getBlockSize());
  int64_t columns = input.getShape().back();
  if (format.blockRows != 1 || format.blockSize < kPieceColumns ||
      format.blockSize > kPieceColumns * kPieceLanes / kScaleTileBlocks ||
      ShapedType::isDynamic(columns) || columns % format.blockSize)
    return {};
  // Nothing between the operations may access memory.
  Operation *next = op->getNextNode();
  while (next && (isa<memref::AllocOp>(next) || isMemoryEffectFree(next)))
    next = next->getNextNode();
  Value elements = op.getElements(0);
  auto pack = dyn_cast_or_null<PackOperandOp>(next);
  bool isOnlyPacked =
      pack && pack.getInput() == elements && !pack.getScales() &&
      elements.getDefiningOp<memref::AllocOp>() &&
      llvm::all_of(elements.getUsers(), [&](Operation *user) {
        return user == op || user == pack || isa<memref::DeallocOp>(user);
      });
  bool isFragments =
      isOnlyPacked && isa<Fragment64x64Attr>(pack.getOutOrder()) &&
      isContiguous(cast<MemRefType>(pack.getOuts()[0].getType()));
  return isFragments ? pack : PackOperandOp();
}

namespace {

class PackedQuantizer {
public:
  PackedQuantizer(FusedQuantizeOp op, KernelBuilder &body, KernelOp kernel)
      : op(op), body(body), lanes(op.getBlockSize() / kPieceColumns),
        hasTiles(hasLayout(op, ScaleLayoutKind::Sf128x4)),
        element(op.getElementType(0)), x(kernel.getBody().getArgument(0)),
        packed(kernel.getBody().getArgument(1)),
        scales(kernel.getBody().getArgument(2)),
        matrixRows(kernel.getBody().getArgument(3)) {}

  /// Returns the number of tiles of rows of a matrix. Tiles write all scales
  /// and their padding.
  static Value getTiles(KernelBuilder &builder, FusedQuantizeOp op,
                        Value matrixRows) {
    if (!hasLayout(op, ScaleLayoutKind::Sf128x4))
      return builder.ceilDiv(matrixRows, kPackRows);
    return builder.mul(builder.ceilDiv(matrixRows, kScaleTileRows),
                       builder.index(kScaleTileRows / kPackRows));
  }

  void build() {
    Value columns = body.dim(x, 1);
    Value tiles = getTiles(body, op, matrixRows);
    Value matrices = body.div(body.dim(x, 0), matrixRows);
    Value work = body.scheduleTiles(
        body.mul(body.mul(matrices, tiles), body.index(kPackRows)), columns,
        {kPackRows, kPackColumns});
    body.role("quantize", kPackThreads / target::kWarpSize, /*elected=*/false);
    Value thread = ThreadIdOp::create(body);
    Value lane = body.rem(thread, kPieceLanes),
          pair = body.div(thread, kPieceLanes);
    ForEachWorkTileOp workTile = body.forEachWorkTile(work);
    Value tile = body.div(workTile.getRow(), kPackRows);
    Value matrix = body.div(tile, tiles), inMatrix = body.rem(tile, tiles);
    Value column = body.add(workTile.getColumn(),
                            body.mul(lane, body.index(kPieceColumns)));
    Value first = body.add(body.mul(inMatrix, body.index(kPackRows)),
                           body.mul(pair, body.index(2)));
    Value loaded[2], rows[2];
    for (int64_t i : {0, 1}) {
      Value row = body.add(first, i), exists = body.isBelow(row, matrixRows);
      row = body.add(body.mul(matrix, matrixRows), row);
      rows[i] = body.select(exists, row, body.dim(x, 0));
      loaded[i] = LoadBlockOp::create(
          body,
          VectorType::get(kPieceColumns, getElementTypeOrSelf(x.getType())), x,
          rows[i], column);
    }
    SmallVector<Value> words[2];
    for (int64_t i : {0, 1})
      words[i] = quantize(loaded[i], rows[i], body.add(first, i), matrix,
                          matrices, column);
    // Rows of a packed tile are the fragments of threads; a pair of rows
    // belongs to four threads.
    Value rowTiles = body.ceilDiv(matrixRows, kWeightTileRows);
    Value columnTiles = body.ceilDiv(columns, kWeightTileColumns);
    Value columnTile = body.div(column, kWeightTileColumns);
    Value number = body.add(
        body.mul(body.add(body.mul(matrix, rowTiles), inMatrix), columnTiles),
        columnTile);
    Value out = body.add(body.mul(number, body.index(kWeightTileThreads)),
                         body.mul(pair, body.index(kReductionLanes)));
    Value isInside = body.both(body.isBelow(inMatrix, rowTiles),
                               body.isBelow(columnTile, columnTiles));
    out = body.select(isInside, out, body.dim(packed, 0));
    store(out, body.rem(lane, kPieceLanes / 2), words[0], words[1]);
  }

private:
  Value word(int64_t value) {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }

  /// Quantizes the columns of a row and stores their scale. Returns the
  /// elements in 32-bit words.
  SmallVector<Value> quantize(Value values, Value row, Value inMatrix,
                              Value matrix, Value matrices, Value column) {
    auto vector = VectorType::get(kPieceColumns, element);
    auto quantized = QuantizeBlockOp::create(
        body, TypeRange{vector, op.getScaleType(0)}, values, /*encode=*/Value(),
        /*seed=*/Value(), /*first=*/Value(), /*amax=*/Value(), op.getRounding(),
        lanes);
    Value blocks = body.div(body.dim(x, 1), op.getBlockSize());
    Value scaleRows = body.dim(x, 0);
    if (hasTiles) {
      Value padded = body.mul(body.ceilDiv(matrixRows, kScaleTileRows),
                              body.index(kScaleTileRows));
      row = body.add(body.mul(matrix, padded), inMatrix);
      scaleRows = body.mul(matrices, padded);
    }
    StoreScalesOp::create(body, quantized.getScale(), scales, row,
                          body.div(column, op.getBlockSize()), scaleRows,
                          blocks, lanes);
    int64_t count = kPieceColumns * getStoredBits(element) / 32;
    auto wordType = VectorType::get(count, body.getI32Type());
    Value words =
        element.getIntOrFloatBitWidth() < 8
            ? UnrealizedConversionCastOp::create(body, wordType,
                                                 quantized.getElements())
                  .getResult(0)
            : vector::BitCastOp::create(body, wordType, quantized.getElements())
                  .getResult();
    return llvm::map_to_vector(llvm::seq(count), [&](int64_t i) -> Value {
      return vector::ExtractOp::create(body, words, ArrayRef<int64_t>{i});
    });
  }

  /// Returns pair `pair` of eight pairs of columns, in the low bits of a word.
  Value getPair(ArrayRef<Value> words, int64_t pair) {
    int64_t bits = 2 * getStoredBits(element), inWord = 32 / bits;
    Value shifted =
        body.shiftRight(words[pair / inWord], word(pair % inWord * bits));
    return body.andBits(shifted, word((1 << bits) - 1));
  }

  /// Stores the columns of two rows, which are part `part` of the fragments of
  /// four threads: pairs t and t + 4 of both rows for thread t.
  void store(Value row, Value part, ArrayRef<Value> even, ArrayRef<Value> odd) {
    int64_t bits = 2 * getStoredBits(element), inWord = 32 / bits;
    int64_t bytes = 4 * bits / 8;
    Value column = body.mul(part, body.index(bytes));
    for (int64_t thread = 0; thread < kReductionLanes; ++thread) {
      Value pairs[] = {getPair(even, thread), getPair(odd, thread),
                       getPair(even, thread + 4), getPair(odd, thread + 4)};
      SmallVector<Value> words;
      for (int64_t i = 0; i < 4; i += inWord) {
        Value whole = pairs[i];
        for (int64_t k = 1; k < inWord; ++k)
          whole =
              body.orBits(whole, body.shiftLeft(pairs[i + k], word(k * bits)));
        words.push_back(whole);
      }
      auto count = static_cast<int64_t>(words.size());
      Value vector = vector::FromElementsOp::create(
          body, VectorType::get(count, body.getI32Type()), words);
      Value stored = vector::BitCastOp::create(
          body, VectorType::get(bytes, getElementTypeOrSelf(packed.getType())),
          vector);
      StoreBlockOp::create(body, stored, packed, body.add(row, thread), column);
    }
  }

  FusedQuantizeOp op;
  KernelBuilder &body;
  int64_t lanes;
  bool hasTiles;
  Type element;
  Value x, packed, scales, matrixRows;
};

} // namespace

void mx::mxgpu::buildPackedQuantizer(FusedQuantizeOp op, PackOperandOp pack,
                                     gpu::GPUModuleOp module) {
  KernelBuilder host(op.getLoc(), pack);
  Value input = op.getInput(), out = pack.getOuts()[0];
  int64_t rank = cast<MemRefType>(input.getType()).getRank();
  requirePackedShape(host, pack);
  Value matrixRows = host.dim(input, rank - 2);
  Value x = collapseLeading(host, input, rank - 1);
  Value packed = toBytes(host, collapseLeading(host, out, rank + 1));
  SmallVector<Value> arguments = {
      x, packed, viewScales(host, op.getScales(0), rank - 2), matrixRows};
  KernelOp kernel =
      host.kernel(module, "quantize_packed", ValueRange(arguments).getTypes());
  kernel.setMinCtas(kPackCtas);
  KernelBuilder body(op.getLoc(), kernel.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  isRequested(body, kernel, op);
  PackedQuantizer(op, body, kernel).build();
  Value tiles = PackedQuantizer::getTiles(host, op, matrixRows);
  Value grid = host.mul(host.mul(host.div(host.dim(x, 0), matrixRows), tiles),
                        host.ceilDiv(host.dim(x, 1), kPackColumns));
  host.launch(kernel, grid, arguments);
  op.erase();
  pack.erase();
}
