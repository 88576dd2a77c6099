//===- PackKernel.cpp - Pack 6-bit elements for the copy engine -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In memory an f6 has a byte, in the low bits. The copy engine takes them
// without gaps, 16 in 12 bytes, and spreads them over 16 bytes of shared
// memory, as the tensor core reads them (PTX ISA, cp.async.bulk.tensor:
// b6x16_p32). One pass over the operand packs it; rows are filled up with zeros
// to the 128 elements that a tensor map counts in, so that any K will do.
//
//===----------------------------------------------------------------------===//

#include "../KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mx::mxgpu;

static constexpr int64_t kTile = 128, kBlock = 32, kPackedTile = kTile * 6 / 8;

namespace {

/// The arithmetic of 32-bit words, spelled short.
struct PackedRegs {
  KernelBuilder &body;

  Value word(int64_t value) const {
    return arith::ConstantOp::create(body, body.getI32IntegerAttr(value));
  }
  Value bitOr(Value a, Value b) const {
    return arith::OrIOp::create(body, a, b);
  }
  Value left(Value a, int64_t bits) const {
    return arith::ShLIOp::create(body, a, word(bits));
  }
  Value right(Value a, int64_t bits) const {
    return arith::ShRUIOp::create(body, a, word(bits));
  }
  /// Bits `mask` of a >> bits.
  Value field(Value a, int64_t bits, int64_t mask) const {
    return arith::AndIOp::create(body, bits ? right(a, bits) : a, word(mask));
  }

  /// Four codes in the bytes of a word as 24 adjacent bits.
  Value packFour(Value codes) const {
    Value low = bitOr(field(codes, 0, 0x3F), field(codes, 2, 0x3F << 6));
    Value high =
        bitOr(field(codes, 4, 0x3F << 12), field(codes, 6, 0x3F << 18));
    return bitOr(low, high);
  }

  /// 16 codes in four words as three words.
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

/// A thread packs 128 elements of a row, 64 at a time: 48 bytes.
static void buildKernel(KernelOp kernel, Location loc) {
  KernelBuilder body(loc, kernel.getContext());
  body.setInsertionPointToStart(&kernel.getBody().front());
  Value bytes = kernel.getBody().getArgument(0);
  Value packed = kernel.getBody().getArgument(1);
  Value rows = body.dim(bytes, 0), columns = body.dim(bytes, 1);
  Value work = TileSchedulerOp::create(
      body, rows, columns, /*reduction=*/body.index(0),
      ArrayRef<int64_t>{kTile, kTile},
      RasterAttr::get(kernel.getContext(), RasterOrder::Linear, 1));
  body.role("pack", kTile / 32, /*elected=*/false);
  Value thread = ThreadIdOp::create(body);
  ForEachWorkTileOp unit = body.forEachWorkTile(work);
  Value row = body.add(unit.getRow(), thread);
  Value packedColumn =
      body.mul(body.div(unit.getColumn(), kTile), body.index(kPackedTile));
  auto byteVector = [&](int64_t size) {
    return VectorType::get(size, body.getI8Type());
  };
  auto wordVector = [&](int64_t size) {
    return VectorType::get(size, body.getI32Type());
  };
  SmallVector<Value> words;
  for (int64_t block = 0; block < kTile / kBlock; ++block) {
    Value loaded =
        LoadBlockOp::create(body, byteVector(kBlock), bytes, row,
                            body.add(unit.getColumn(), block * kBlock));
    Value codes =
        vector::BitCastOp::create(body, wordVector(kBlock / 4), loaded);
    SmallVector<Value> fours;
    for (int64_t i = 0; i < kBlock / 4; ++i)
      fours.push_back(
          vector::ExtractOp::create(body, codes, ArrayRef<int64_t>{i}));
    for (int64_t i = 0; i < kBlock / 4; i += 4)
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
  // The bytes that mx-store-as-bytes makes of the operand.
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
