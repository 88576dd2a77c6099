//===- ConvertMXGPUToNVVM.cpp - Conversion of mxgpu and mxbar to NVVM -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a pattern to each operation. Earlier passes have lowered kernels to
// functions.
//===----------------------------------------------------------------------===//

#include "Common/Lowering.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mx/Conversion/MXGPUToNVVM/MXGPUToNVVM.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "mx/Dialect/Shared/VectorSizes.h"

using namespace mlir;
using namespace mx::mxgpu;

namespace mx::mxgpu {
#define GEN_PASS_DEF_CONVERTMXGPUTONVVM
#define GEN_PASS_DEF_MXGPURESOLVELOCATIONS
#include "mx/Conversion/MXGPUToNVVM/Passes.h.inc"
} // namespace mx::mxgpu

/// Without this layout NVPTX aligns i64 to 4 bytes.
static constexpr llvm::StringLiteral kDataLayout =
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

namespace {

struct ConvertMXGPUToNVVMPass final
    : mx::mxgpu::impl::ConvertMXGPUToNVVMBase<ConvertMXGPUToNVVMPass> {
  void runOnOperation() override {
    getOperation()->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                            StringAttr::get(&getContext(), kDataLayout));
    if (failed(mx::verifyVectorSizes(getOperation(), mx::kMaxKernelVector)) ||
        failed(verifyLowered()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (failed(convert(function)))
        return signalPassFailure();
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      lowerJoined(kernel);
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>()))
      if (function.isPrivate() && !function.isExternal())
        function.erase(); // only part of joined kernels
  }

  static bool areFunctions(KernelOp joined) {
    return llvm::all_of(*joined.getJoined(), [&](Attribute name) {
      return SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
          joined, cast<SymbolRefAttr>(name));
    });
  }

  LogicalResult verifyLowered() {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (!kernel.getJoinedAttr() || !areFunctions(kernel))
        return kernel.emitOpError("expected kernels to be lowered to "
                                  "functions: run mxgpu-lower-kernels first");
    WalkResult columns = getOperation().walk([](ExtractColumnsOp extract)
                                                 -> WalkResult {
      if (matchPattern(extract.getColumn(), m_Constant()))
        return success();
      return extract.emitOpError(
          "expected a constant column, because registers have no addresses: "
          "run mxgpu-unroll-fragments on a loop with a constant trip count");
    });
    WalkResult fragments = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa_and_present<MXGPUDialect, mx::mxbar::MXBarDialect,
                          scf::SCFDialect>(op->getDialect()) ||
          isa<arith::SelectOp>(op) || !op->isRegistered() ||
          llvm::none_of(op->getResultTypes(), llvm::IsaPred<FragmentType>))
        return success();
      return op->emitOpError("expected fragments from mxgpu operations, scf "
                             "operations or arith.select: convert fragments "
                             "with mxgpu.to_rows for other operations");
    });
    return failure(columns.wasInterrupted() || fragments.wasInterrupted());
  }

  static LogicalResult convert(LLVM::LLVMFuncOp function) {
    MLIRContext *context = function.getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion([](TensorMapType type) {
      return LLVM::LLVMPointerType::get(type.getContext());
    });
    converter.addConversion(
        [](StageType type) { return convertStageType(type); });
    converter.addConversion([](mx::mxbar::BarrierType type) {
      return LLVM::LLVMPointerType::get(type.getContext(), 3);
    });
    converter.addConversion([](BufferType type) -> Type {
      MLIRContext *context = type.getContext();
      if (type.getSpace() == Space::Smem)
        return LLVM::LLVMPointerType::get(context, 3);
      return IntegerType::get(context, 32);
    });
    converter.addConversion([](ScalesType type) {
      return IntegerType::get(type.getContext(), 32);
    });
    // Vector of a thread's registers.
    converter.addConversion([&](FragmentType type) -> Type {
      return converter.convertType(VectorType::get(
          {type.getLayout().getNumValues()}, type.getElementType()));
    });
    addNarrowVectorConversions(converter);
    auto materialize = [](OpBuilder &builder, Type type, ValueRange inputs,
                          Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
          .getResult(0);
    };
    converter.addSourceMaterialization(materialize);
    converter.addTargetMaterialization(materialize);

    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<MXGPUDialect, mx::mxbar::MXBarDialect>();
    target.addLegalOp<mx::mxbar::PlacedRingOp>();
    target.addDynamicallyLegalOp<arith::SelectOp>(
        [](arith::SelectOp op) { return !isa<FragmentType>(op.getType()); });
    // Upstream patterns lower all other reductions.
    target.addDynamicallyLegalOp<gpu::SubgroupReduceOp>(
        [](gpu::SubgroupReduceOp op) {
          bool isKnown = op.getOp() == gpu::AllReduceOperation::MAXUI ||
                         op.getOp() == gpu::AllReduceOperation::OR;
          return !isKnown || !op.getType().isInteger(32) || op.getClusterSize();
        });
    target.addIllegalOp<gpu::AllReduceOp, gpu::LaneIdOp>();
    target.addDynamicallyLegalOp<memref::AtomicRMWOp>(
        [](memref::AtomicRMWOp op) {
          MemRefType type = op.getMemRefType();
          return op.getKind() != arith::AtomicRMWKind::addi ||
                 !op.getType().isInteger(32) || type.getRank() != 1 ||
                 !type.getLayout().isIdentity() || type.getMemorySpace();
        });
    RewritePatternSet patterns(context);
    populateClusterPatterns(patterns, converter);
    populateBarrierPatterns(patterns, converter);
    populateTensorCorePatterns(patterns, converter);
    populateFragmentPatterns(patterns, converter);
    populateSharedFragmentPatterns(patterns, converter);
    populateStorePatterns(patterns, converter);
    populateTilePatterns(patterns, converter);
    populateQuantizePatterns(patterns, converter);
    populateDequantizePatterns(patterns, converter);
    populateDequantizeFragmentPatterns(patterns, converter);
    populatePeerPatterns(patterns, converter);
    populateScalePatterns(patterns, converter);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    if (failed(applyPartialConversion(function, target, std::move(patterns))))
      return failure();
    // Placed rings are unused after the conversion.
    function->walk([](mx::mxbar::PlacedRingOp ring) { ring.erase(); });
    return success();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

// The body of a named linalg operation has an unknown location, so inlining
// creates callsite(unknown at X), and ensure-debug-info-scope-on-llvm-func
// crashes on this location. Other call sites would get no .loc directive, since
// the inlined caller has no scope.

/// Appends the file and line of each part of `location` to `lines`. For an
/// inlined operation, appends the innermost location with a file.
static void collectLines(Location location, SetVector<Location> &lines) {
  if (auto line = dyn_cast<FileLineColLoc>(location)) {
    lines.insert(line);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    collectLines(name.getChildLoc(), lines);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collectLines(part, lines);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    size_t before = lines.size();
    collectLines(call.getCallee(), lines);
    if (lines.size() == before)
      collectLines(call.getCaller(), lines);
  }
}

namespace {
/// Maps the source line of each .loc directive to the other lines that produced
/// the same code.
using SharedLines = llvm::MapVector<Location, SetVector<Location>>;
} // namespace

/// Sets the location of each operation of `function` to its first source line
/// and returns its other source lines.
static SharedLines resolveLocations(LLVM::LLVMFuncOp function) {
  SharedLines shared;
  DenseMap<Location, Location> resolved;
  function->walk([&](Operation *op) {
    Location from = op->getLoc();
    auto [at, isNew] = resolved.try_emplace(from, from);
    if (isNew) {
      SetVector<Location> lines;
      collectLines(from, lines);
      at->second = lines.empty() ? Location(UnknownLoc::get(op->getContext()))
                                 : Location(lines.front());
      if (lines.size() > 1)
        shared[lines.front()].insert(lines.begin() + 1, lines.end());
    }
    op->setLoc(at->second);
  });
  return shared;
}

/// Prints `location` in the simulator's format: `"a.mlir" 3 5`.
static void print(raw_ostream &os, Location location) {
  auto line = cast<FileLineColLoc>(location);
  os << '"';
  llvm::printEscapedString(line.getFilename(), os);
  os << "\" " << line.getLine() << ' ' << line.getColumn();
}

namespace {
struct ResolveLocations final
    : mx::mxgpu::impl::MXGPUResolveLocationsBase<ResolveLocations> {
  void runOnOperation() override {
    StringAttr name = StringAttr::get(
        &getContext(), LLVM::LLVMDialect::getModuleLevelAsmAttrName());
    // Emit comments, because PTX has no directive for several source lines and
    // ptxas rejects unknown directives.
    SmallVector<Attribute> comments;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      for (auto &[line, others] : resolveLocations(function)) {
        std::string comment;
        llvm::raw_string_ostream os(comment);
        os << "// .loc ";
        print(os, line);
        os << " in " << function.getSymName() << " is also ";
        llvm::interleaveComma(others, os,
                              [&](Location other) { print(os, other); });
        comments.push_back(StringAttr::get(&getContext(), comment));
      }
    if (comments.empty())
      return;
    if (auto before = getOperation()->getAttrOfType<ArrayAttr>(name))
      comments.insert(comments.begin(), before.begin(), before.end());
    getOperation()->setAttr(name, ArrayAttr::get(&getContext(), comments));
  }
};
} // namespace

namespace {
struct FloatsToLLVM final : ConvertToLLVMPatternInterface {
  using ConvertToLLVMPatternInterface::ConvertToLLVMPatternInterface;

  void
  populateConvertToLLVMConversionPatterns(ConversionTarget &,
                                          LLVMTypeConverter &converter,
                                          RewritePatternSet &) const override {
    converter.addConversion([](FloatType type) -> std::optional<Type> {
      if (Type bits = mx::getBitsOfForeignFloat(type))
        return bits;
      return std::nullopt;
    });
  }
};
} // namespace

void mx::mxgpu::registerConvertFloatsToLLVMInterface(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, MXGPUDialect *dialect) {
    dialect->addInterfaces<FloatsToLLVM>();
  });
}
