//===- QuantizeLowering.cpp - Blocks and reductions in registers --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads access global memory directly, up to 16 bytes at a time. Lanes that
// share a block exchange its maximum. QuantizeMath computes scales and
// elements; ScaleLowering stores scales.
//===----------------------------------------------------------------------===//

#include "../Common/Lowering.h"
#include "QuantizeMath.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Maximum number of 32-bit words per memory access.
static constexpr int64_t kWordsAtOnce = 4;

static Value isInside(NVVMBuilder &builder, Value matrix, Value row,
                      Value column, Type type) {
  Value rows = memref::DimOp::create(builder, matrix, 0);
  Value bytes = memref::DimOp::create(builder, matrix, 1);
  Value columns = builder.mul(bytes, builder.index(getPacking(type)));
  Value isRow = builder.isBelow(row, rows);
  return builder.both(isRow, builder.isBelow(column, columns));
}

static Value getPlace(NVVMBuilder &builder, Value matrix, Value row,
                      Value column, Type type) {
  if (getPacking(type) > 1)
    column = builder.div(column, getPacking(type));
  int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
  return getGlobalAddress(builder, matrix, row, column, bytes);
}

/// Loads words, or zeros if the condition is false.
static Value load(NVVMBuilder &builder, Value place, int64_t offset,
                  int64_t size, Value condition) {
  auto type = VectorType::get(size, builder.getI32Type());
  if (!condition)
    return builder.loadGlobal(builder.offset(place, offset), type);
  auto ifOp = scf::IfOp::create(builder, type, condition, /*withElse=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  scf::YieldOp::create(builder,
                       builder.loadGlobal(builder.offset(place, offset), type));
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(
      builder, arith::ConstantOp::create(builder, builder.getZeroAttr(type))
                   .getResult());
  return ifOp.getResult(0);
}

static Values lowerLoadBlock(NVVMBuilder &builder, LoadBlockOp op,
                             LoadBlockOp::Adaptor adaptor,
                             const TypeConverter &converter) {
  auto type = cast<VectorType>(op.getType());
  Type element = type.getElementType();
  Value row = adaptor.getRow(), column = adaptor.getColumn();
  Value inside;
  if (!op.getInBounds())
    inside = isInside(builder, op.getSource(), row, column, element);
  Value place = getPlace(builder, op.getSource(), row, column, element);
  auto loaded = cast<VectorType>(converter.convertType(type));
  int64_t count =
      loaded.getNumElements() * loaded.getElementTypeBitWidth() / 32;
  SmallVector<Value> words;
  for (int64_t i = 0; i < count; i += kWordsAtOnce) {
    int64_t size = std::min(kWordsAtOnce, count - i);
    llvm::append_range(
        words, splitWords(builder, load(builder, place, 4 * i, size, inside)));
  }
  return {joinWords(builder, words, loaded)};
}

static Values lowerStoreBlock(NVVMBuilder &builder, StoreBlockOp op,
                              StoreBlockOp::Adaptor adaptor) {
  Type element = getElementTypeOrSelf(op.getValue().getType());
  Value row = adaptor.getRow(), column = adaptor.getColumn();
  Value inside = isInside(builder, op.getDest(), row, column, element);
  Value place = getPlace(builder, op.getDest(), row, column, element);
  SmallVector<Value> words = splitWords(builder, adaptor.getValue());
  auto ifOp = scf::IfOp::create(builder, inside, /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  for (size_t i = 0; i < words.size(); i += kWordsAtOnce) {
    ArrayRef<Value> some = ArrayRef(words).slice(
        i, std::min<size_t>(kWordsAtOnce, words.size() - i));
    auto type = VectorType::get(int64_t(some.size()), builder.getI32Type());
    LLVM::StoreOp::create(
        builder, vector::FromElementsOp::create(builder, type, some),
        builder.offset(place, 4 * i), /*alignment=*/4 * some.size());
  }
  return {};
}

/// Transposes 4 x 4 pairs of elements among four lanes, which hold the first
/// (or second) eight elements of each run. A pair is a word or two. Each of the
/// two butterfly steps exchanges one bit of the lane number with one bit of the
/// pair number.
static Values lowerPermuteBlock(NVVMBuilder &builder, PermuteBlockOp op,
                                PermuteBlockOp::Adaptor adaptor,
                                const TypeConverter &converter) {
  Values words = splitWords(builder, adaptor.getInput());
  Value lane = builder.laneId();
  size_t wordsOfPair = words.size() / 4;
  for (size_t bit : {1, 2}) {
    int64_t distance = op.getRun() / 8 * bit;
    Value isUpper =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                              builder.andBits(lane, distance), builder.i32(0));
    for (size_t i = 0; i < words.size(); ++i) {
      if (i / wordsOfPair & bit)
        continue;
      Value &low = words[i], &high = words[i + bit * wordsOfPair];
      Value sent = builder.select(isUpper, low, high);
      Value got = builder.shuffleXor(sent, distance);
      low = builder.select(isUpper, got, low);
      high = builder.select(isUpper, high, got);
    }
  }
  return {joinWords(builder, words,
                    cast<VectorType>(converter.convertType(op.getType())))};
}

static Values lowerQuantizeBlock(NVVMBuilder &builder, QuantizeBlockOp op,
                                 QuantizeBlockOp::Adaptor adaptor,
                                 const TypeConverter &converter) {
  auto type = cast<VectorType>(op.getElements().getType());
  QuantizeRecipe recipe = QuantizeRecipe::get(
      op, getElementTypeOrSelf(op.getInput().getType()), type.getElementType(),
      op.getScale().getType(), op.getScaleRounding());
  QuantizeMath math(builder, recipe);
  SmallVector<Value> words = splitWords(builder, adaptor.getInput());
  Value maximum = op.getAmax()
                      ? arith::BitcastOp::create(builder, builder.getI32Type(),
                                                 adaptor.getAmax())
                            .getResult()
                      : math.getRowMaximum(math.shareMaximum(
                            math.getMaximum(words), op.getLanes()));
  BlockScale scale = math.getScale(maximum, adaptor.getEncode());
  auto converted = cast<VectorType>(converter.convertType(type));
  std::optional<RandomNumbers> random;
  if (op.getSeed())
    random = {adaptor.getSeed(),
              arith::IndexCastUIOp::create(builder, builder.getI64Type(),
                                           adaptor.getFirst()),
              builder.i64(1)};
  Value elements =
      joinWords(builder, math.convertRow(words, scale, random), converted);
  return {elements, toScale(builder, scale.bits, op.getScale().getType())};
}

//===----------------------------------------------------------------------===//
// Maxima and sums over lanes, warps and tensors
//===----------------------------------------------------------------------===//

static Value combine(NVVMBuilder &builder, ReduceKind kind, Value a, Value b) {
  switch (kind) {
  case ReduceKind::Add:
    return LLVM::FAddOp::create(builder, a, b);
  case ReduceKind::Maximum:
    return LLVM::MaximumOp::create(builder, a, b);
  case ReduceKind::Minimum:
    return LLVM::MinimumOp::create(builder, a, b);
  }
  llvm_unreachable("all kinds are listed");
}

/// Reduces over a warp or a part in butterfly steps. Addition commutes, so all
/// lanes compute the same bits.
static Value reduceLanes(NVVMBuilder &builder, ReduceKind kind, Value value,
                         int64_t lanes = mx::target::kWarpSize) {
  for (lanes /= 2; lanes > 0; lanes /= 2) {
    Value bits = builder.bitcast(builder.getI32Type(), value);
    Value other =
        builder.bitcast(builder.getF32Type(), builder.shuffleXor(bits, lanes));
    value = combine(builder, kind, value, other);
  }
  return value;
}

static Values lowerReduceLanes(NVVMBuilder &builder, ReduceLanesOp op,
                               ReduceLanesOp::Adaptor adaptor) {
  return {
      reduceLanes(builder, op.getKind(), adaptor.getValue(), op.getLanes())};
}

/// Returns the static shared memory for the maxima of all warps of a CTA.
static Value getWarpMaxima(NVVMBuilder &builder) {
  constexpr llvm::StringLiteral kName = "mx_warp_maxima";
  auto module = builder.getBlock()->getParentOp();
  auto ofDevice = module->getParentOfType<gpu::GPUModuleOp>();
  auto words =
      LLVM::LLVMArrayType::get(builder.getI32Type(), mx::target::kWarpSize);
  if (!ofDevice.lookupSymbol(kName)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ofDevice.getBody());
    LLVM::GlobalOp::create(builder, words, /*isConstant=*/false,
                           LLVM::Linkage::Internal, kName,
                           /*value=*/Attribute(), /*alignment=*/16,
                           /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext(), 3), kName);
}

/// Computes the maximum, or whether a condition holds for any thread, over a
/// CTA or, with several roles, over the threads of a role. Every thread reads
/// the maxima of all warps. The first barrier protects maxima of an earlier
/// reduction.
static LogicalResult lowerAllReduce(gpu::AllReduceOp op,
                                    gpu::AllReduceOp::Adaptor adaptor,
                                    ConversionPatternRewriter &rewriter) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  auto shape = function ? function->getAttrOfType<DenseI32ArrayAttr>(
                              NVVM::NVVMDialect::getReqntidAttrName())
                        : DenseI32ArrayAttr();
  bool isAny =
      op.getOp() == gpu::AllReduceOperation::OR && op.getType().isInteger(1);
  if (!shape || !(isAny || op.getOp() == gpu::AllReduceOperation::MAXIMUMF))
    return rewriter.notifyMatchFailure(
        op, "not a maximum or condition in a lowered kernel");
  NVVMBuilder builder(op.getLoc(), rewriter);
  int64_t barrier = 0, first = 0, warps = shape[0] / mx::target::kWarpSize;
  if (auto role = op->getAttrOfType<DenseI32ArrayAttr>(kReducingRoleAttrName))
    std::tie(barrier, first, warps) = std::tuple(role[0], role[1], role[2]);
  int64_t threads = warps * mx::target::kWarpSize;
  if (isAny) {
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, op.getType(),
        builder.getStringAttr("llvm.nvvm.barrier.cta.red.or.aligned.count"),
        ValueRange{builder.i32(barrier), builder.i32(threads),
                   adaptor.getValue()});
    return success();
  }
  Value value = reduceLanes(builder, ReduceKind::Maximum, adaptor.getValue());
  Value maxima = getWarpMaxima(builder);
  builder.syncThreads(barrier, threads);
  auto ifOp = scf::IfOp::create(builder, builder.isFirstLane(),
                                /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value bytes = builder.mul(builder.warpInCta(), builder.i32(4));
    builder.storeShared(builder.offset(maxima, bytes),
                        builder.bitcast(builder.getI32Type(), value));
  }
  builder.syncThreads(barrier, threads);
  value = Value();
  for (int64_t warp = first; warp < first + warps; ++warp) {
    Value word =
        builder.loadShared(builder.offset(maxima, builder.i32(4 * warp)), 1)[0];
    Value next = builder.bitcast(builder.getF32Type(), word);
    value = value ? combine(builder, ReduceKind::Maximum, value, next) : next;
  }
  rewriter.replaceOp(op, value);
  return success();
}

static Values lowerSubgroupReduce(NVVMBuilder &builder,
                                  gpu::SubgroupReduceOp op,
                                  gpu::SubgroupReduceOp::Adaptor adaptor) {
  if (op.getOp() == gpu::AllReduceOperation::OR)
    return {builder.joinBitsInWarp(adaptor.getValue())};
  return {builder.largestInWarp(adaptor.getValue())};
}

/// Computes the maximum of a thread's values as a quantizer does.
static Values lowerThreadAmax(NVVMBuilder &builder, ThreadAmaxOp op,
                              ThreadAmaxOp::Adaptor adaptor) {
  QuantizeRecipe recipe;
  recipe.input = getElementTypeOrSelf(op.getValues()[0]);
  recipe.isRelative = op.getAsIntegers();
  QuantizeMath math(builder, recipe);
  SmallVector<Value> words;
  for (Value value : adaptor.getValues()) {
    auto type = cast<VectorType>(value.getType());
    if (type.getRank() != 1)
      value = vector::ShapeCastOp::create(
          builder,
          VectorType::get(type.getNumElements(), type.getElementType()), value);
    llvm::append_range(words, splitWords(builder, value));
  }
  Value maximum = math.getMaximum(words);
  Value bits = op.getColumn() ? math.getColumnMaximum(maximum, *op.getColumn())
                              : math.getRowMaximum(maximum);
  Value isNaN = arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt, bits,
                                      builder.i32(0x7F800000));
  bits = builder.select(isNaN, builder.i32(kF32CanonicalNaN), bits);
  return {builder.bitcast(builder.getF32Type(), bits)};
}

static Values lowerLoadRelaxed(NVVMBuilder &builder, LoadRelaxedOp op,
                               LoadRelaxedOp::Adaptor adaptor) {
  Value bits = builder.loadRelaxed(
      getGlobalAddress(builder, op.getSource(), builder.index(0)));
  return {builder.bitcast(builder.getF32Type(), bits)};
}

static Values lowerAtomicMax(NVVMBuilder &builder, AtomicMaxOp op,
                             AtomicMaxOp::Adaptor adaptor) {
  auto toBits = [&](Value f32) -> Value {
    return builder.bitcast(builder.getI32Type(), f32);
  };
  Value largest = builder.largestInWarp(toBits(adaptor.getValue()));
  Value isHigher = builder.isBelow(toBits(adaptor.getKnown()), largest);
  auto ifOp =
      scf::IfOp::create(builder, builder.both(builder.isFirstLane(), isHigher),
                        /*withElse=*/false);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  builder.raiseGlobal(getGlobalAddress(builder, op.getDest(), builder.index(0)),
                      largest);
  return {};
}

/// Emits a relaxed atomic addition. Upstream's lowering would also order other
/// accesses and use system scope, which LLVM drops for this target.
static Values lowerAtomicAdd(NVVMBuilder &builder, memref::AtomicRMWOp op,
                             memref::AtomicRMWOp::Adaptor adaptor) {
  Value bytes =
      builder.mul(adaptor.getIndices()[0], builder.index(sizeof(int32_t)));
  return {builder.addAndFetchBefore(
      getGlobalAddress(builder, op.getMemref(), bytes), adaptor.getValue())};
}

void mx::mxgpu::populateQuantizePatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter) {
  addPatterns<lowerLoadBlock, lowerStoreBlock, lowerPermuteBlock,
              lowerQuantizeBlock, lowerReduceLanes, lowerAllReduce,
              lowerSubgroupReduce, lowerThreadAmax, lowerLoadRelaxed,
              lowerAtomicMax, lowerAtomicAdd>(converter, patterns);
}
