//===- MatmulKernel.cpp - The kernel of mx.matmul -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Three roles: one thread loads tiles and scales by bulk tensor copies, one
// issues scale copies and MMAs, four warps move finished accumulators out. Two
// rings join them.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mx/Support/ScaleLayout.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Columns that an epilogue thread holds at a time.
static constexpr int64_t kFragmentColumns = 32;
/// Elements of the reduction that share a scale, and that a scale tile covers.
static constexpr int64_t kBlock = 32, kScaleTileK = kScaleTileBlocks * kBlock;

namespace {

/// Builds the kernel and launch of one matmul.
class MatmulBuilder {
public:
  MatmulBuilder(MatmulOp op, gpu::GPUModuleOp module, ScheduleAttr schedule)
      : op(op), module(module), schedule(schedule), host(op.getLoc(), op),
        body(op.getLoc(), op) {}

  void build() {
    checkSizes();
    SmallVector<Value> arguments = {
        encodeOperand(op.getA(), schedule.getTileM()),
        encodeOperand(op.getB(), schedule.getTileN()),
        encodeScales(op.getAScales(), schedule.getTileM()),
        encodeScales(op.getBScales(), schedule.getTileN()), getOut()};
    if (cast<MemRefType>(op.getA().getType()).isDynamicDim(1))
      arguments.push_back(host.dim(op.getA(), 1));
    buildKernel(ValueRange(arguments).getTypes());

    Value rowTiles = host.ceilDiv(host.dim(getOut(), 0), schedule.getTileM());
    Value columnTiles =
        host.ceilDiv(host.dim(getOut(), 1), schedule.getTileN());
    Value tiles = host.mul(rowTiles, columnTiles);
    Value grid = host.create<arith::MinUIOp>(tiles, host.create<SmCountOp>());
    host.launch(kernel, grid, arguments);
  }

private:
  Value getOut() { return op.getOuts().front(); }

  /// What the verifier could not see in dynamic shapes.
  void checkSizes() {
    Value m = host.dim(op.getA(), 0), n = host.dim(op.getB(), 0);
    Value k = host.dim(op.getA(), 1);
    host.requireMultiple(k, kBlock, "dimension 1 of a");
    host.requireSize(host.dim(op.getB(), 1), k, "dimension 1 of b");
    host.requireSize(host.dim(getOut(), 0), m, "dimension 0 of the result");
    host.requireSize(host.dim(getOut(), 1), n, "dimension 1 of the result");
    for (auto [scales, rows, name] : {std::tuple(op.getAScales(), m, "a"),
                                      std::tuple(op.getBScales(), n, "b")}) {
      Value rowTiles = host.ceilDiv(rows, kScaleTileRows);
      host.requireSize(host.dim(scales, 0), rowTiles,
                       Twine("tiles of rows of the scales of ") + name);
      Value blockTiles = host.ceilDiv(k, kScaleTileK);
      host.requireSize(host.dim(scales, 1), blockTiles,
                       Twine("tiles of blocks of the scales of ") + name);
    }
  }

  Value encodeOperand(Value operand, int64_t rows) {
    auto type = TensorMapType::get(
        op.getContext(), {rows, schedule.getTileK()},
        cast<MemRefType>(operand.getType()).getElementType(), Swizzle::Sw128);
    return host.create<EncodeTensorMapOp>(type, operand);
  }

  /// A tile of 32 x 4 x 4 bytes is two rows of 256, the longest that a box can
  /// have.
  Value encodeScales(Value scales, int64_t rows) {
    auto source = cast<MemRefType>(scales.getType());
    Value flat = host.create<memref::CollapseShapeOp>(
        scales, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
    SmallVector<int64_t> shape = {source.getDimSize(0), source.getDimSize(1), 2,
                                  256};
    SmallVector<OpFoldResult> sizes = {getAsOpFoldResult(host.dim(scales, 0)),
                                       getAsOpFoldResult(host.dim(scales, 1)),
                                       host.getIndexAttr(2),
                                       host.getIndexAttr(256)};
    Value split = host.create<memref::ExpandShapeOp>(
        shape, flat, ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}}, sizes);
    auto type =
        TensorMapType::get(op.getContext(), {rows / kScaleTileRows, 1, 2, 256},
                           source.getElementType(), Swizzle::None);
    return host.create<EncodeTensorMapOp>(type, split);
  }

  void buildKernel(TypeRange arguments) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    kernel = host.kernel(module, (function.getName() + "_matmul").str(),
                         arguments, schedule);
    body.setInsertionPointToStart(&kernel.getBody().front());
    Value out = kernel.getBody().getArgument(4);
    Value reduction =
        arguments.size() > 5
            ? Value(kernel.getBody().getArgument(5))
            : body.index(cast<MemRefType>(op.getA().getType()).getDimSize(1));
    Value rows = body.dim(out, 0), columns = body.dim(out, 1);
    work = body.create<WorkSourceOp>(
        rows, columns, reduction,
        ArrayRef<int64_t>{schedule.getTileM(), schedule.getTileN()},
        schedule.getRaster());
    inputs = body.create<RingOp>(getInputRingType(), "in", DenseI64ArrayAttr(),
                                 IntegerAttr());
    accumulators = body.create<RingOp>(getAccumulatorRingType(), "acc",
                                       DenseI64ArrayAttr(), IntegerAttr());
    buildEpilogue(out);
    buildLoad();
    buildMma();
  }

  BufferType getBuffer(Space space, ArrayRef<int64_t> shape, Type elementType,
                       Swizzle swizzle = Swizzle::None) {
    return BufferType::get(op.getContext(), space, shape, elementType, swizzle);
  }

  RingType getInputRingType() {
    SmallVector<StringAttr> names;
    for (StringRef name : {"a", "b", "sfa", "sfb"})
      names.push_back(host.getStringAttr(name));
    SmallVector<BufferType> buffers;
    for (BlockArgument map : kernel.getBody().getArguments().take_front(4)) {
      auto type = cast<TensorMapType>(map.getType());
      buffers.push_back(getBuffer(Space::Smem, type.getBox(),
                                  type.getElementType(), type.getSwizzle()));
    }
    return RingType::get(op.getContext(), schedule.getStages(), names, buffers,
                         Agent::Tma, 1, Agent::Mma, 1);
  }

  RingType getAccumulatorRingType() {
    return RingType::get(
        op.getContext(), schedule.getAccumulators(), {host.getStringAttr("d")},
        {getBuffer(Space::Tmem, {schedule.getTileM(), schedule.getTileN()},
                   host.getF32Type())},
        Agent::Mma, 1, Agent::Threads, kEpilogueWarps * 32);
  }

  void buildEpilogue(Value out) {
    OpBuilder::InsertionGuard guard(body);
    Type outType = cast<MemRefType>(out.getType()).getElementType();
    auto getFragment = [&](Type elementType) {
      return FragmentType::get(op.getContext(), kFragmentColumns, elementType);
    };
    body.role("epilogue", kEpilogueWarps, /*elected=*/false);
    ForEachWorkOp unit = body.forEachWork(work);
    Value empty = isEmpty(unit);
    Value slot = body.create<ConsumeOp>(accumulators);
    Value zero = body.index(0), columns = body.index(schedule.getTileN());
    auto loop =
        body.create<scf::ForOp>(zero, columns, body.index(kFragmentColumns));
    body.create<ReleaseOp>(slot);
    body.setInsertionPointToStart(loop.getBody());
    Value column = loop.getInductionVar();
    Value fragment = body.create<LoadAccumulatorOp>(
        getFragment(body.getF32Type()), slot, "d", column, empty);
    if (!outType.isF32())
      fragment = body.create<CastFragmentOp>(getFragment(outType), fragment);
    body.create<StoreFragmentOp>(fragment, out, unit.getRow(),
                                 body.add(unit.getColumn(), column));
  }

  void buildLoad() {
    OpBuilder::InsertionGuard guard(body);
    auto maps = kernel.getBody().getArguments().take_front(4);
    body.role("load", 1, /*elected=*/true);
    ForEachWorkOp unit = body.forEachWork(work);
    Value rowTile = body.div(unit.getRow(), kScaleTileRows);
    Value columnTile = body.div(unit.getColumn(), kScaleTileRows);
    ForEachKOp step =
        body.forEachK(unit.getStart(), unit.getEnd(), schedule.getTileK());
    Value kTile = body.div(step.getK(), kScaleTileK);
    Value slot = body.create<AcquireOp>(inputs);
    for (auto [map, field, row, k] :
         {std::tuple(maps[0], "a", unit.getRow(), Value(step.getK())),
          std::tuple(maps[1], "b", unit.getColumn(), Value(step.getK()))})
      body.create<TmaLoadOp>(map, ValueRange{row, k}, slot, field);
    body.create<TmaLoadOp>(maps[2], ValueRange{rowTile, kTile}, slot, "sfa");
    body.create<TmaLoadOp>(maps[3], ValueRange{columnTile, kTile}, slot, "sfb");
    body.create<PublishOp>(slot, Value());
  }

  void buildMma() {
    OpBuilder::InsertionGuard guard(body);
    body.role("mma", 1, /*elected=*/true);
    ForEachWorkOp unit = body.forEachWork(work);
    Value empty = isEmpty(unit);
    Value accumulator = body.create<AcquireOp>(accumulators);
    ForEachKOp step =
        body.forEachK(unit.getStart(), unit.getEnd(), schedule.getTileK());
    Value yes = body.create<arith::ConstantOp>(body.getBoolAttr(true));
    Value accumulate = body.create<arith::XOrIOp>(step.getFirst(), yes);
    Value slot = body.create<ConsumeOp>(inputs);
    auto getScales = [&](StringRef field, int64_t rows) -> Value {
      return body.create<CopyScalesOp>(ScalesType::get(op.getContext(), rows),
                                       slot, field, IntegerAttr());
    };
    Value aScales = getScales("sfa", schedule.getTileM());
    Value bScales = getScales("sfb", schedule.getTileN());
    body.create<MmaOp>(slot, "a", "b", aScales, bScales, accumulator, "d",
                       accumulate, step.getExtent());
    body.create<ReleaseOp>(slot);
    body.setInsertionPointAfter(step);
    body.create<PublishOp>(accumulator, empty);
  }

  /// Whether a unit has nothing to multiply.
  Value isEmpty(ForEachWorkOp unit) {
    return body.create<arith::CmpIOp>(arith::CmpIPredicate::eq, unit.getStart(),
                                      unit.getEnd());
  }

  /// A warp reads the lanes of its quarter of tensor memory.
  static constexpr int64_t kEpilogueWarps = 4;

  MatmulOp op;
  gpu::GPUModuleOp module;
  ScheduleAttr schedule;
  KernelBuilder host, body;
  KernelOp kernel;
  Value work, inputs, accumulators;
};

} // namespace

/// Says what is supported where `op` asks for more.
static LogicalResult checkSupport(MatmulOp op) {
  if (op.getAlpha())
    return op.emitOpError("expected no alpha on the GPU, found one");
  if (op.getAccumulate())
    return op.emitOpError("expected no accumulate on the GPU, found it");
  if (op.getEpilogueBlock())
    return op.emitOpError("expected no epilogue region on the GPU, found one");
  for (auto [operand, scales, name] :
       {std::tuple(op.getA(), op.getAScales(), "a"),
        std::tuple(op.getB(), op.getBScales(), "b")}) {
    auto type = cast<MemRefType>(operand.getType());
    auto scaleType = cast<MemRefType>(scales.getType());
    if (!isa<Float8E4M3FNType>(type.getElementType()) ||
        !type.getLayout().isIdentity())
      return op.emitOpError("expected ")
             << name << " of f8E4M3FN with identity layout on the GPU, found "
             << type;
    if (scaleType.getRank() != 5 || !scaleType.getLayout().isIdentity() ||
        !isa<Float8E8M0FNUType>(scaleType.getElementType()))
      return op.emitOpError("expected scales of ")
             << name << " as f8E8M0FNU in layout tcgen05 on the GPU, found "
             << scaleType;
  }
  auto out = cast<MemRefType>(op.getOuts().front().getType());
  if (!isa<Float32Type, BFloat16Type>(out.getElementType()) ||
      !out.getLayout().isIdentity())
    return op.emitOpError("expected a result of f32 or bf16 with identity "
                          "layout on the GPU, found ")
           << out;
  return success();
}

LogicalResult mx::mxgpu::convertMatmul(MatmulOp op, gpu::GPUModuleOp module) {
  if (failed(checkSupport(op)))
    return failure();
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  if (!schedule)
    return op.emitOpError("expected a schedule: run mx-select-schedule first");
  MatmulBuilder(op, module, schedule).build();
  op.erase();
  return success();
}
