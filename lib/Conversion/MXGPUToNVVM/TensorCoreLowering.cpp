//===- TensorCoreLowering.cpp - Loads, MMAs and accumulators --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers bulk copies into stages, copies of scales into tensor memory, and
// loads of accumulators into registers. MMA attributes emit the MMAs
// (lib/Dialect/MXGPU/IR/Mma).
//===----------------------------------------------------------------------===//

#include "Common/Lowering.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using namespace mx::mxbar;

//===----------------------------------------------------------------------===//
// Operands and MMAs
//===----------------------------------------------------------------------===//

static Values lowerLoadBox(NVVMBuilder &builder, LoadBoxOp op,
                           LoadBoxOp::Adaptor adaptor) {
  SmallVector<Value> coords;
  for (Value coord : adaptor.getCoords())
    coords.push_back(builder.toI32(coord));
  coords.resize(op.getMap().getType().getBox().size(), builder.i32(0));
  std::reverse(coords.begin(), coords.end());
  Value dest = adaptor.getBuffer();
  if (Value box = adaptor.getBox()) {
    Value bytes = builder.i32(op.getMap().getType().getSizeInBytes());
    Value offset = builder.mul(builder.toI32(box), bytes);
    dest = LLVM::GEPOp::create(builder, dest.getType(), builder.getI8Type(),
                               dest, ArrayRef<LLVM::GEPArg>{offset});
  }
  Value barrier = adaptor.getBarrier();
  Value policy = getCachePolicy(builder, op.getCache());
  if (op.getBarrier().getType().getScope() == Scope::Pair)
    builder.loadTensorOfPair(dest, adaptor.getMap(), coords, barrier, policy,
                             op.getMulticast());
  else if (op.getMulticast())
    builder.loadTensorToBoth(dest, adaptor.getMap(), coords, barrier, policy);
  else
    builder.loadTensor(dest, adaptor.getMap(), coords, barrier, policy);
  return {};
}

/// Copies scale tiles. A tile of 128 rows by 4 scales occupies 512 bytes of
/// shared memory and 4 columns of tensor memory. The MMA requires the tiles of
/// the same 4 blocks in adjacent columns.
static Values lowerCopyToColumns(NVVMBuilder &builder, CopyToColumnsOp op,
                                 CopyToColumnsOp::Adaptor adaptor) {
  uint64_t encoded = target::encode(target::scaleTileDescriptor());
  Value low = builder.lowWordOfDescriptor(encoded, adaptor.getBuffer());
  Value column =
      builder.add(adaptor.getTensorMemory(), builder.i32(op.getColumn()));
  if (Value place = adaptor.getPlace())
    column = builder.add(
        column, builder.mul(place, builder.i32(op.getType().getColumns())));
  int64_t tiles = op.getType().getTiles();
  int64_t groups = op.getType().getRows() / target::kScaleRowsPerGroup;
  for (int64_t tile = 0; tile < tiles; ++tile)
    for (int64_t group = 0; group < groups; ++group) {
      Value tileColumn =
          builder.add(column, builder.i32((tile * groups + group) *
                                          target::kScaleColumnsPerGroup));
      Value tileDescriptor = builder.matrixDescriptor(
          encoded, builder.add(low, builder.i32((group * tiles + tile) *
                                                kScaleTileBytes /
                                                target::kDescriptorUnit)));
      builder.copyScaleTile(tileColumn, tileDescriptor, op.getPair());
    }
  return {column};
}

/// Returns the register limit at the launch of the enclosing kernel, if any.
static std::optional<int64_t> getLaunchRegisters(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto bound = function ? function->getAttrOfType<IntegerAttr>(
                              NVVM::NVVMDialect::getMaxnregAttrName())
                        : IntegerAttr();
  return bound ? std::optional(bound.getInt()) : std::nullopt;
}

static Values lowerMma(NVVMBuilder &builder, MmaOp op, MmaOp::Adaptor adaptor) {
  Value accumulators = op.getKind().emit(
      builder, op,
      {adaptor.getA(), adaptor.getB(), adaptor.getAScales(),
       adaptor.getBScales(), adaptor.getD(), adaptor.getBOffset(),
       adaptor.getAccumulate(), adaptor.getExtent(), adaptor.getThread(),
       getLaunchRegisters(op)});
  return accumulators ? Values{accumulators} : Values();
}

/// Returns true if the accumulator must be complete. Only MMAs, waits for MMAs
/// and loops accept an accumulator in progress.
static bool isRead(MmaWaitOp op) {
  return !op.getPending() || llvm::any_of(op->getUsers(), [](Operation *user) {
    return !isa<MmaOp, MmaWaitOp, scf::YieldOp>(user);
  });
}

/// Emits no wait for a fragment that threads computed. The result then only
/// orders this computation before later MMAs.
static Values lowerMmaWait(NVVMBuilder &builder, MmaWaitOp op,
                           MmaWaitOp::Adaptor adaptor) {
  std::optional<int64_t> pending = op.getPending();
  if (op.getAccumulator().getDefiningOp<FromRowsOp>())
    pending.reset();
  return {builder.waitWarpgroup(adaptor.getAccumulator(), pending, isRead(op))};
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

/// Emits loads in which each thread reads consecutive columns of its row. The
/// number of a warp modulo 4 determines the warp's accessible lanes (PTX ISA,
/// tcgen05 access restrictions). The number of the role's first warp is a
/// multiple of 4.
static Values lowerLoadAccumulator(NVVMBuilder &builder, LoadAccumulatorOp op,
                                   LoadAccumulatorOp::Adaptor adaptor,
                                   const TypeConverter &converter) {
  auto type = cast<VectorType>(converter.convertType(op.getType()));
  Value column = adaptor.getBuffer();
  Value warp = builder.warpInCta();
  Value quarter = builder.andBits(warp, mx::target::kWarpGroupWarps - 1);
  Value lane = builder.mul(quarter, builder.i32(mx::target::kWarpSize));
  Value start = builder.add(column, builder.toI32(adaptor.getColumn()));
  Value address =
      builder.add(start, builder.shiftLeft(lane, mx::target::kTmemLaneShift));
  auto load = [&] {
    Value words = builder.loadTensorMemory(address, type.getNumElements());
    return builder.bitcast(type, words);
  };
  if (!adaptor.getEmpty()) {
    return {load()};
  }
  // Do not read tensor memory that was never written. All warps of the role
  // take the same branch, because they share the work tile.
  auto ifOp =
      scf::IfOp::create(builder, type, adaptor.getEmpty(), /*withElse=*/true);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(type));
  scf::YieldOp::create(builder, zero);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  Value loaded = load();
  scf::YieldOp::create(builder, loaded);
  return {ifOp.getResult(0)};
}

/// Returns the column at a position of the read order. The shared columns of
/// both stages are first. They are the last columns of stage 0 and the first
/// columns of stage 1. With several matrices B, the shared columns belong to
/// the last matrix of stage 0 and to the first matrix of stage 1.
static Values lowerEpilogueColumn(NVVMBuilder &builder, EpilogueColumnOp op,
                                  EpilogueColumnOp::Adaptor adaptor) {
  RingType ring = op.getStage().getType().getRing();
  Value place =
      builder.add(adaptor.getPlace(), builder.index(op.getB() * op.getWidth()));
  Value isFirstStage = builder.isEqual(adaptor.getStage(), builder.i32(0));
  auto inFirst = [&](int64_t shift) -> Value {
    Value shiftInSlot =
        builder.select(isFirstStage, builder.index(shift), builder.index(0));
    return builder.add(place, shiftInSlot);
  };
  int64_t toShared = op.getWidth() - ring.getOverlap();
  int64_t toRest = -ring.getOverlap();
  if (op.isShared() || op.isRest()) {
    return {inFirst(op.isShared() ? toShared : toRest)};
  }
  Value isShared =
      builder.isBelow(adaptor.getPlace(), builder.index(ring.getOverlap()));
  return {builder.select(isShared, inFirst(toShared), inFirst(toRest))};
}

void mx::mxgpu::populateTensorCorePatterns(RewritePatternSet &patterns,
                                           const TypeConverter &converter) {
  addPatterns<lowerLoadBox, lowerCopyToColumns, lowerMma, lowerMmaWait,
              lowerEpilogueColumn, lowerLoadAccumulator>(converter, patterns);
}
