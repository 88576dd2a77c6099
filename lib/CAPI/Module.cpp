//===- Module.cpp - Modules of the C interface ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mx::capi;

mxcModule mxcModuleParse(mxcContext handle, const char *text, size_t bytes,
                         const char *name) {
  auto context = contexts().find(handle);
  if (refuse(context,
             {{handle, context, "a context"}, {text, "a text", bytes == 0}}))
    return nullptr;
  auto result = std::make_shared<Module>();
  result->context = context;
  result->source =
      llvm::MemoryBuffer::getMemBufferCopy({text, bytes}, name ? name : "text");
  // Parse a separate buffer, because argument names still need `source`.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(result->source->getMemBufferRef()),
      llvm::SMLoc());
  result->module = parseSourceFile<ModuleOp>(sources, &context->context);
  return result->module ? modules().add(std::move(result)) : nullptr;
}

mxcModule mxcModuleClone(mxcModule handle) {
  auto module = modules().find(handle);
  if (refuse(contextOf(module), {{handle, module, "a module"}}))
    return nullptr;
  auto result = std::make_shared<Module>();
  result->context = module->context;
  result->module = module->module->clone();
  result->source = module->source;
  return modules().add(std::move(result));
}

OwningOpRef<ModuleOp> Module::cloneWithNames() {
  OwningOpRef<ModuleOp> copy = module->clone();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(source->getMemBufferRef()),
      llvm::SMLoc());
  mx::nameArguments(*copy, sources);
  return copy;
}

void mxcModuleDestroy(mxcModule module) {
  remove(modules(), module, "a module");
}

int mxcModuleListEntries(mxcModule handle, mxcTextCallback callback,
                         void *user) {
  auto module = modules().find(handle);
  if (refuse(contextOf(module),
             {{handle, module, "a module"}, {callback, "a callback"}}))
    return MXC_REFUSED;
  auto entries = mx::selectEntries(*module->module, {});
  if (!entries)
    return module->context->tell(entries.takeError());
  for (func::FuncOp entry : *entries)
    callback(entry.getSymName().data(), entry.getSymName().size(), user);
  return MXC_OK;
}

int mxcModuleRunPasses(mxcModule handle, const char *pipeline) {
  auto module = modules().find(handle);
  if (refuse(contextOf(module),
             {{handle, module, "a module"}, {pipeline, "a pipeline"}}))
    return MXC_REFUSED;
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  FailureOr<OpPassManager> passes = parsePassPipeline(pipeline, stream);
  if (failed(passes)) {
    module->context->tell(MXC_ERROR, StringRef(errors).rtrim().str());
    return MXC_REFUSED;
  }
  if (passes->getOpAnchorName() != ModuleOp::getOperationName()) {
    module->context->tell(MXC_ERROR,
                          "expected a pipeline 'builtin.module(...)', found '" +
                              std::string(pipeline) + "'");
    return MXC_REFUSED;
  }
  PassManager manager(&module->context->context);
  static_cast<OpPassManager &>(manager) = std::move(*passes);
  return failed(manager.run(*module->module)) ? MXC_REFUSED : MXC_OK;
}

int mxcModulePrint(mxcModule handle, mxcTextCallback callback, void *user) {
  auto module = modules().find(handle);
  if (refuse(contextOf(module),
             {{handle, module, "a module"}, {callback, "a callback"}}))
    return MXC_REFUSED;
  CallbackStream stream(callback, user);
  module->module->print(stream);
  return MXC_OK;
}

int mxcModuleWriteBytecode(mxcModule handle, mxcTextCallback callback,
                           void *user) {
  auto module = modules().find(handle);
  if (refuse(contextOf(module),
             {{handle, module, "a module"}, {callback, "a callback"}}))
    return MXC_REFUSED;
  CallbackStream stream(callback, user);
  return failed(writeBytecodeToFile(*module->module, stream)) ? MXC_REFUSED
                                                              : MXC_OK;
}
