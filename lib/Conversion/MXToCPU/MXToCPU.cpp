//===- MXToCPU.cpp - Lowering of mx operations to loops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers the mx operations of a module, and converts arrays with sub-byte
// elements to their storage type.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mx/Conversion/MXToCPU/Passes.h"
#include "mx/Dialect/MX/IR/Place.h"

using namespace mlir;
using namespace mx;

namespace mx {
#define GEN_PASS_DEF_CONVERTMXTOCPU
#define GEN_PASS_DEF_MXREQUESTENTRYWRAPPERS
#define GEN_PASS_DEF_MXVERIFYLOWERED
#include "mx/Conversion/MXToCPU/Passes.h.inc"
} // namespace mx

//===----------------------------------------------------------------------===//
// Matmuls with several B matrices or quantized results
//===----------------------------------------------------------------------===//

// Each such matmul becomes an f32 matmul followed by an elementwise operation
// or a quantization.

namespace {
class Decomposition {
public:
  explicit Decomposition(GroupedMatmulOp op)
      : op(op), builder(op), loc(op.getLoc()) {}

  void run() {
    for (int64_t dim = 0; dim + 1 < getRank(); ++dim)
      rows.push_back(memref::DimOp::create(builder, loc, op.getA(), dim));
    columns = memref::DimOp::create(builder, loc, op.getOut(), getRank() - 1);
    accumulators = accumulate();
    if (op.getResultScales())
      quantize();
    else
      finishElements();
    op.erase();
  }

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  /// Computes the accumulators of all B matrices, side by side.
  Value accumulate() {
    Value all =
        arith::MulIOp::create(builder, loc, columns, index(op.getNumB()));
    auto type =
        MemRefType::get(SmallVector<int64_t>(getRank(), ShapedType::kDynamic),
                        builder.getF32Type());
    SmallVector<Value> sizes(rows);
    sizes.push_back(all);
    Value accumulators = memref::AllocOp::create(builder, loc, type, sizes);
    auto sums = GroupedMatmulOp::create(
        builder, loc, op.getA(), op.getAScales(), op.getB(), op.getBScales(),
        op.getOffsets(), accumulators, op.getRagged(), /*epilogue=*/nullptr,
        /*numB=*/1, op.getAlpha());
    sums.setMasked(op.getMasked());
    sums.copyReduction(op);
    copyOrders(op, sums);
    return accumulators;
  }

  void quantize() {
    OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets(getRank(), zero),
        sizes(rows.begin(), rows.end());
    sizes.push_back(columns);
    SmallVector<Value> inputs;
    for (int64_t b = 0; b < int64_t(op.getNumB()); ++b) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(b));
      offsets.back() = first;
      inputs.push_back(
          memref::SubViewOp::create(builder, loc, accumulators, offsets, sizes,
                                    SmallVector<OpFoldResult>(getRank(), one)));
    }
    auto ragged = op.getMasked()
                      ? RaggedKindAttr()
                      : RaggedKindAttr::get(op.getContext(), RaggedKind::Rows);
    int64_t block =
        getBlockFormat(getElementTypeOrSelf(op.getResultScales().getType()))
            .blockSize;
    auto quantize = FusedQuantizeOp::create(
        builder, loc, TypeRange(), inputs, /*input_scales=*/ValueRange(),
        /*global_scale=*/Value(), /*decode_factors=*/ValueRange(),
        /*seed=*/Value(), /*gather=*/Value(),
        ragged ? op.getOffsets() : Value(), /*if_any=*/ValueRange(),
        op.getOuts(), ragged, builder.getDenseI64ArrayAttr({1}),
        BlockShape(block).getAttr(op.getContext()),
        /*spreads=*/UnitAttr(), /*square=*/UnitAttr(), /*amax=*/UnitAttr(),
        /*concat=*/UnitAttr(), /*dequantized=*/ArrayAttr(),
        op.getScaleRoundingAttr(),
        /*prologueCount=*/op.getEpilogue().size());
    if (!op.getEpilogue().empty())
      quantize.getPrologue().front().takeBody(op.getEpilogue().front());
  }

  void finishElements() {
    Block &region = *op.getEpilogueBlock();
    SmallVector<Value> place;
    for (Value size : llvm::concat<Value>(rows, MutableArrayRef(columns))) {
      auto loop = scf::ForOp::create(builder, loc, index(0), size, index(1));
      builder.setInsertionPointToStart(loop.getBody());
      place.push_back(loop.getInductionVar());
    }
    Value row = place[getRank() - 2], column = place.back();
    IRMapping mapping;
    SmallVector<Value> rowsOfB;
    for (int64_t b = 0; b < int64_t(op.getNumB()); ++b) {
      Value first = arith::MulIOp::create(builder, loc, columns, index(b));
      SmallVector<Value> inAccumulators(place);
      inAccumulators.back() = rowsOfB.emplace_back(
          arith::AddIOp::create(builder, loc, first, column));
      mapping.map(
          region.getArgument(b),
          memref::LoadOp::create(builder, loc, accumulators, inAccumulators));
    }
    mapping.map(region.getArgument(op.getNumB()), row);
    mapping.map(region.getArgument(op.getNumB() + 1), column);
    if (op.getWhere()) {
      Value group = op.getMasked() ? place.front() : findGroup(row);
      Value selected = cpu::isSelected(builder, loc, *op.getWhere(),
                                       op.getRowClasses(), group, row, rowsOfB);
      auto ifOp = scf::IfOp::create(builder, loc, selected, /*withElse=*/false);
      builder.setInsertionPointToStart(ifOp.thenBlock());
    }
    for (Operation &inside : region.without_terminator())
      builder.clone(inside, mapping);
    Value value = cast<YieldOp>(region.getTerminator()).getValue();
    memref::StoreOp::create(builder, loc, mapping.lookupOrDefault(value),
                            op.getOut(), place);
  }

  /// Returns the expert group of `row`, or the last group.
  Value findGroup(Value row) {
    Value groups = memref::DimOp::create(builder, loc, op.getOffsets(), 0);
    auto advance = [&](OpBuilder &b, Location loc, Value group,
                       ValueRange old) {
      Value end = memref::LoadOp::create(b, loc, op.getOffsets(), group);
      end = arith::IndexCastOp::create(b, loc, b.getIndexType(), end);
      Int isAfter = Int(b, loc, end) <= Int(b, loc, row);
      Int found = isAfter.select(Int(b, loc, group) + 1, {b, loc, old.front()});
      scf::YieldOp::create(b, loc, ValueRange(found));
    };
    return scf::ForOp::create(builder, loc, index(0),
                              Int(builder, loc, groups) - 1, index(1), index(0),
                              advance)
        .getResult(0);
  }

  int64_t getRank() { return op.getA().getType().getRank(); }

  GroupedMatmulOp op;
  OpBuilder builder;
  Location loc;
  SmallVector<Value> rows; // for masked groups: number of groups, rows
  Value columns, accumulators;
};
} // namespace

static void decomposeMatmuls(Operation *root) {
  SmallVector<GroupedMatmulOp> ops;
  root->walk([&](GroupedMatmulOp op) {
    if (op.getNumB() > 1 || op.getResultScales())
      ops.push_back(op);
  });
  for (GroupedMatmulOp op : ops)
    Decomposition(op).run();
}

namespace {

/// Rejects arithmetic on floats of at most 8 bits, and loads and stores of
/// floats narrower than 8 bits.
LogicalResult checkElements(Operation *op) {
  auto report = [&](StringRef expected, unsigned bits) -> LogicalResult {
    Type found = mx::findNarrowFloat(op, bits);
    if (!found)
      return success();
    return op->emitError() << "expected " << expected
                           << " on the CPU path, found " << found << "; "
                           << mx::adviseOnNarrowFloats(op);
  };
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return report("loads and stores of elements of at least 8 bits",
                  /*bits=*/7);
  bool computes =
      isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) &&
      !isa<arith::ConstantOp, arith::BitcastOp, arith::SelectOp>(op);
  return computes ? report("operands and results of f16, bf16, f32, f64, "
                           "integers or index in arithmetic",
                           /*bits=*/8)
                  : success();
}

/// Reports unsupported input with a message that names the cause.
LogicalResult checkInput(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) -> WalkResult {
    if (isa_and_present<mx::MXDialect>(op->getDialect()) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
      return op->emitOpError("expected operands on memrefs, found tensors; "
                             "bufferize before lowering to the CPU");
    return checkElements(op);
  });
  return failure(result.wasInterrupted() || failed(mx::verifyStorage(module)));
}

struct ConvertMXToCPUPass final
    : mx::impl::ConvertMXToCPUBase<ConvertMXToCPUPass> {
  void runOnOperation() override {
    if (failed(checkInput(getOperation())))
      return signalPassFailure();
    mx::generalizeQuantizations(getOperation());
    decomposeMatmuls(getOperation());
    mx::cpu::decomposeQuantizations(getOperation());
    mx::cpu::decomposePackings(getOperation());
    TypeConverter converter;
    mx::addStorageConversions(converter);
    converter.addConversion([](MemRefType type) -> std::optional<Type> {
      if (Type bits = mx::getBitsOfForeignFloat(type.getElementType()))
        return MemRefType::Builder(type).setElementType(bits);
      return std::nullopt;
    });
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, LLVM::LLVMDialect,
                           math::MathDialect, vector::VectorDialect>();
    target.addIllegalDialect<mx::MXDialect>();
    // The terminator of an epilogue is erased together with the operation.
    target.addLegalOp<mx::YieldOp>();
    target.addLegalOp<mx::RankGroupOp>();
    mx::cpu::populateQuantizePatterns(converter, patterns);
    mx::cpu::populateDequantizePatterns(converter, patterns);
    mx::cpu::populatePackOperandPatterns(converter, patterns);
    mx::cpu::populateMatmulPatterns(converter, patterns);
    mx::cpu::populateGroupRowsPatterns(converter, patterns);
    mx::cpu::populateCombinePatterns(converter, patterns);
    mx::cpu::populateRowClassesPatterns(converter, patterns);
    mx::cpu::populateRankGroupPatterns(converter, patterns);
    mx::populateStoragePatterns(converter, patterns, target);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      return signalPassFailure();
    for (auto group :
         llvm::make_early_inc_range(getOperation().getOps<mx::RankGroupOp>()))
      group.erase();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// C interfaces of public functions
//
// llvm-request-c-wrappers would also wrap declarations, and external C
// functions would need _mlir_ciface_ symbols.
//===----------------------------------------------------------------------===//

namespace {

struct RequestEntryWrappersPass final
    : mx::impl::MXRequestEntryWrappersBase<RequestEntryWrappersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration())
        function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                          UnitAttr::get(&getContext()));
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Verification of the result
//
// Without this pass, the tool that runs the module would report an unconverted
// operation as a missing dialect.
//===----------------------------------------------------------------------===//

namespace {

struct VerifyLoweredPass final
    : mx::impl::MXVerifyLoweredBase<VerifyLoweredPass> {
  void runOnOperation() override {
    bool failed = false;
    auto report = [&](Operation *op) {
      op->emitError() << "expected an operation of the LLVM dialect after "
                         "lowering, found '"
                      << op->getName() << "', which has no lowering to the CPU";
      failed = true;
    };
    getOperation().walk([&](Operation *op) {
      if (!isa<ModuleOp, UnrealizedConversionCastOp>(op) &&
          !isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
        report(op);
    });
    // Unconverted operations leave casts, so report a cast only if no other
    // operation was reported.
    if (!failed)
      getOperation().walk([&](UnrealizedConversionCastOp op) { report(op); });
    if (failed)
      signalPassFailure();
  }
};

} // namespace
