//===- Compile.cpp - Compiling through the C interface --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handles.h"

using namespace mlir;
using mx::capi::contextOf;
using mx::capi::refuseNull;

static bool refuseNullEntries(mxcContext context,
                              const mxcCompileOptions &options) {
  if (refuseNull(context,
                 {{options.entries, "entries", options.entryCount == 0}},
                 "mxcCompile"))
    return true;
  for (size_t i = 0; i < options.entryCount; ++i)
    if (refuseNull(context, {{options.entries[i], "the name of an entry"}},
                   "mxcCompile"))
      return true;
  return false;
}

static mx::CompileModuleOptions readOptions(const mxcCompileOptions &options) {
  mx::CompileModuleOptions read;
  if (options.chip)
    read.chip = options.chip;
  if (options.ptxas)
    read.ptxas = options.ptxas;
  read.entries.assign(options.entries, options.entries + options.entryCount);
  read.fuse = !options.noFusion;
  return read;
}

int mxcCompile(mxcCompiled *compiled, mxcModule module,
               const mxcCompileOptions *options) {
  if (compiled)
    *compiled = nullptr;
  if (refuseNull(contextOf(module), {{compiled, "an address for the result"},
                                     {module, "a module"}}))
    return MXC_REFUSED;
  mxcCompileOptions given = options ? *options : mxcCompileOptions{};
  if (refuseNullEntries(module->context, given))
    return MXC_REFUSED;
  OwningOpRef<ModuleOp> copy = module->cloneWithNames();
  llvm::Expected<mx::CompiledModule> result = mx::compileModule(
      *copy, readOptions(given), given.prefix ? given.prefix : "program");
  if (!result)
    return module->context->tell(result.takeError());
  std::string manifest = mx::plan::writeManifest(result->manifest);
  *compiled = new mxcCompiledImpl{module->context, std::move(*result),
                                  std::move(manifest)};
  return MXC_OK;
}

void mxcCompiledDestroy(mxcCompiled compiled) { delete compiled; }

const char *mxcCompiledGet(mxcCompiled compiled, int part, size_t *bytes) {
  if (bytes)
    *bytes = 0;
  if (refuseNull(nullptr, {{compiled, "a compiled program"}}))
    return nullptr;
  const std::string *parts[] = {
      &compiled->manifest, &compiled->compiled.ptx, &compiled->compiled.cubin,
      &compiled->compiled.header, &compiled->compiled.constants};
  bool isThere = part >= MXC_MANIFEST && part <= MXC_CONSTANTS;
  size_t size = isThere ? parts[part]->size() : 0;
  if (bytes)
    *bytes = size;
  return size ? parts[part]->c_str() : nullptr;
}

int mxcCompiledWrite(mxcCompiled compiled, const char *directory) {
  if (refuseNull(contextOf(compiled), {{compiled, "a compiled program"},
                                       {directory, "a directory"}}))
    return MXC_REFUSED;
  if (llvm::Error error =
          mx::writeCompiledModule(directory, compiled->compiled))
    return compiled->context->tell(std::move(error));
  return MXC_OK;
}
