//===- ToPTX.cpp - Print the kernels of a module as PTX -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// LLVM's NVPTX back end writes the text; nothing here builds PTX by hand.
//
//===----------------------------------------------------------------------===//

#include "mx/Translation/ToPTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "mx/InitAll.h"

using namespace mlir;

static LogicalResult translateModule(gpu::GPUModuleOp module,
                                     raw_ostream &os) {
  if (!module.getTargetsAttr() || module.getTargetsAttr().size() != 1)
    return module.emitOpError("expected one target, found ")
           << (module.getTargetsAttr() ? module.getTargetsAttr().size() : 0);
  auto target =
      dyn_cast<gpu::TargetAttrInterface>(module.getTargetsAttr()[0]);
  if (!target)
    return module.emitOpError("expected a target #nvvm.target, found ")
           << module.getTargetsAttr()[0];
  for (Operation &op : *module.getBody())
    if (!isa<LLVM::LLVMDialect>(op.getDialect()))
      return op.emitOpError("expected lowered kernels, found this operation: "
                            "run mx-opt --mx-to-nvvm first");
  gpu::TargetOptions options(/*toolkitPath=*/{}, /*librariesToLink=*/{},
                             /*cmdOptions=*/{}, /*elfSection=*/{},
                             gpu::CompilationTarget::Assembly);
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
