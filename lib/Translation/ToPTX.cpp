//===- ToPTX.cpp - Translation of kernels to PTX --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's NVPTX back end emits the text.
//===----------------------------------------------------------------------===//

#include "mx/Translation/ToPTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mx/InitAll.h"
#include "mx/Target/MmaFamilies.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

/// Returns true for scopes within .gpu, the default scope of atom.
static bool isWithinDevice(std::optional<StringRef> scope) {
  return llvm::StringSwitch<bool>(scope.value_or(""))
      .Cases({"singlethread", "block", "cluster", "device"}, true)
      .Default(false);
}

/// Rejects an atomicrmw with a memory order or scope that LLVM 22 would
/// silently weaken. LLVM prints atom without an order and scope, which means
/// .relaxed.gpu. cmpxchg, loads, stores and fences keep their order and scope.
static LogicalResult checkAtomic(LLVM::AtomicRMWOp op) {
  bool isRelaxed = op.getOrdering() <= LLVM::AtomicOrdering::monotonic;
  if (isRelaxed && isWithinDevice(op.getSyncscope()))
    return success();
  StringRef scope = op.getSyncscope().value_or("");
  return op.emitOpError("expected monotonic order and \"device\" or "
                        "\"block\" scope, found ")
         << LLVM::stringifyAtomicOrdering(op.getOrdering()) << " order and "
         << (scope.empty() ? "system" : ("\"" + scope + "\"").str())
         << " scope: LLVM prints every atomicrmw as atom.relaxed.gpu; use "
            "llvm.inline_asm with the PTX instruction "
            "(\"red.release.sys.global.add.u32\"), or a monotonic atomicrmw "
            "between fences";
}

/// Rejects memory spaces that NVVM does not define, because LLVM aborts.
static LogicalResult checkSpaces(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
          pointer && !NVVM::symbolizeNVVMMemorySpace(pointer.getAddressSpace()))
        return op->emitOpError("expected an NVVM memory space, found ")
               << pointer;
  return success();
}

/// Returns true for conversions to and from 6-bit elements, 4-bit elements and
/// power-of-two scales, which require compute capability 10.0.
static bool isNarrowConversion(Operation *op) {
  if (auto toBytes = dyn_cast<NVVM::ConvertF32x2ToF8x2Op>(op))
    return isa<Float8E8M0FNUType>(toBytes.getDstTy());
  return isa<NVVM::ConvertF32x2ToF6x2Op, NVVM::ConvertF32x2ToF4x2Op,
             NVVM::ConvertF6x2ToF16x2Op, NVVM::ConvertF4x2ToF16x2Op,
             NVVM::ConvertF8x2ToBF16x2Op>(op);
}

/// Returns the reason why the chip lacks an instruction for an NVVM operation,
/// or "". LLVM aborts if it cannot select an instruction.
static std::string checkInstruction(const mx::target::TargetInfo &chip,
                                    Operation *op) {
  using mx::target::MmaFamily;
  StringRef name = op->getName().getStringRef();
  if (name.starts_with("nvvm.tcgen05"))
    return checkTcgen05(chip);
  if (name.starts_with("nvvm.wgmma"))
    return checkMmaFamily(chip, MmaFamily::Wgmma);
  if (isa<NVVM::MmaBlockScaleOp, NVVM::MmaSpBlockScaleOp>(op))
    return checkMmaFamily(chip, MmaFamily::MmaSync);
  if (isNarrowConversion(op) && !chip.hasNarrowConversions())
    return std::string("chip '") + chip.chip +
           "' has no conversions to or from 4- and 6-bit elements and "
           "f8E8M0FNU: generate the kernels with mx-opt --mx-to-nvvm=chip=" +
           chip.chip;
  return {};
}

static LogicalResult translateModule(gpu::GPUModuleOp module, raw_ostream &os) {
  if (!module.getTargetsAttr() || module.getTargetsAttr().size() != 1)
    return module.emitOpError("expected one target, found ")
           << (module.getTargetsAttr() ? module.getTargetsAttr().size() : 0);
  auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(module.getTargetsAttr()[0]);
  if (!nvvm)
    return module.emitOpError("expected a target #nvvm.target, found ")
           << module.getTargetsAttr()[0];
  // LLVM would give an unknown chip the features of a very old chip.
  std::string error;
  const mx::target::TargetInfo *info =
      mx::target::lookupTarget(nvvm.getChip(), error);
  if (!info)
    return module.emitOpError() << error;
  WalkResult result = module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == module)
      return WalkResult::advance();
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "llvm" && dialect != "nvvm")
      op->emitOpError("cannot be translated to PTX: run mx-opt --mx-to-nvvm "
                      "first");
    else if (std::string why = checkInstruction(*info, op); !why.empty())
      op->emitOpError() << why;
    else if (auto atomic = dyn_cast<LLVM::AtomicRMWOp>(op);
             succeeded(checkSpaces(op)) &&
             (!atomic || succeeded(checkAtomic(atomic))))
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  auto target = cast<gpu::TargetAttrInterface>(Attribute(nvvm));
  gpu::TargetOptions options(/*toolkitPath=*/{}, /*librariesToLink=*/{},
                             /*cmdOptions=*/{}, /*elfSection=*/{},
                             gpu::CompilationTarget::Assembly);
  // Kernels need no libdevice, so an incomplete CUDA toolkit is no error.
  ScopedDiagnosticHandler handler(module.getContext(), [](Diagnostic &found) {
    std::string text = found.str();
    return success(StringRef(text).starts_with("CUDA path: ") ||
                   StringRef(text).starts_with("LibDevice path: "));
  });
  std::optional<SmallVector<char, 0>> object =
      target.serializeToObject(module, options);
  if (!object)
    return module.emitOpError("expected kernels that LLVM can translate");
  StringRef text(object->data(), object->size());
  os << text.rtrim(StringRef("\0", 1));
  return success();
}

LogicalResult mx::translateToPTX(ModuleOp module, raw_ostream &os) {
  bool found = false;
  WalkResult result = module.walk([&](gpu::GPUModuleOp kernels) {
    found = true;
    return failed(translateModule(kernels, os)) ? WalkResult::interrupt()
                                                : WalkResult::skip();
  });
  if (result.wasInterrupted())
    return failure();
  if (!found)
    return module.emitError("expected a gpu.module, found none: run mx-opt "
                            "--mx-to-nvvm first");
  return success();
}

void mx::registerPTXDialects(DialectRegistry &registry) {
  mx::registerAllDialects(registry);
  registry.insert<arith::ArithDialect, DLTIDialect, func::FuncDialect,
                  gpu::GPUDialect, LLVM::LLVMDialect, memref::MemRefDialect,
                  NVVM::NVVMDialect, scf::SCFDialect>();
  // Size checks and canonicalized host code use these dialects.
  registry.insert<index::IndexDialect, math::MathDialect, ub::UBDialect>();
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void mx::registerToPTXTranslation() {
  TranslateFromMLIRRegistration registration(
      "mx-to-ptx", "print the PTX of every gpu.module",
      [](Operation *op, raw_ostream &os) -> LogicalResult {
        auto module = dyn_cast<ModuleOp>(op);
        if (!module)
          return op->emitOpError("expected builtin.module");
        return translateToPTX(module, os);
      },
      registerPTXDialects);
}
