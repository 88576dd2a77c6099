//===- Compile.cpp - Compilation in the C interface -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mx/Arrays/Arrays.h"

using namespace mlir;
using namespace mx::capi;

/// Rejects invalid tuning options; returns true after a message.
static bool refuseTuning(const std::shared_ptr<Context> &context,
                         const mxcCompileOptions &options) {
  if (refuse(context,
             {{options.tuneRows, "tuneRows", options.tuneRowCount == 0}},
             "mxcCompile"))
    return true;
  bool isRight = options.tune >= 0;
  for (size_t i = 0; i < options.tuneRowCount; ++i)
    isRight &= options.tuneRows[i] >= 1;
  if (!isRight)
    context->tell(mx::makeError("mxcCompile: expected tune of at least 0, and "
                                "tuneRows of at least 1"));
  return !isRight;
}

static bool refuseNullEntries(const std::shared_ptr<Context> &context,
                              const mxcCompileOptions &options) {
  if (refuse(context, {{options.entries, "entries", options.entryCount == 0}},
             "mxcCompile"))
    return true;
  for (size_t i = 0; i < options.entryCount; ++i)
    if (refuse(context, {{options.entries[i], "the name of an entry"}},
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
  read.tune.count = options.tune;
  read.tune.rows.assign(options.tuneRows,
                        options.tuneRows + options.tuneRowCount);
  if (options.tuned)
    read.tuned = options.tuned;
  if (options.tunedGpu)
    read.tunedGpu = options.tunedGpu;
  return read;
}

int mxcCompile(mxcCompiled *compiled, mxcModule handle,
               const mxcCompileOptions *options) {
  if (compiled)
    *compiled = nullptr;
  auto module = modules().find(handle);
  if (refuse(contextOf(module), {{compiled, "an address for the result"},
                                 {handle, module, "a module"}}))
    return MXC_REFUSED;
  auto given = mxcSized<mxcCompileOptions>();
  if (options &&
      refuseStruct(module->context,
                   mx::readStruct(options,
                                  MX_SIZE_WITH(mxcCompileOptions, chip),
                                  "mxcCompileOptions", given)))
    return MXC_REFUSED;
  if (refuseNullEntries(module->context, given) ||
      refuseTuning(module->context, given))
    return MXC_REFUSED;
  OwningOpRef<ModuleOp> copy = module->cloneWithNames();
  llvm::Expected<mx::CompiledModule> result = mx::compileModule(
      *copy, readOptions(given), given.prefix ? given.prefix : "program");
  if (!result)
    return module->context->tell(result.takeError());
  std::string manifest = mx::plan::writeManifest(result->manifest);
  *compiled = compiledPrograms().add(std::make_shared<Compiled>(
      Compiled{module->context, std::move(*result), std::move(manifest)}));
  return MXC_OK;
}

void mxcCompiledDestroy(mxcCompiled compiled) {
  remove(compiledPrograms(), compiled, "a compiled program");
}

const char *mxcCompiledGet(mxcCompiled handle, int part, size_t *bytes) {
  if (bytes)
    *bytes = 0;
  auto compiled = compiledPrograms().find(handle);
  if (refuse(contextOf(compiled), {{handle, compiled, "a compiled program"}}))
    return nullptr;
  const std::string *parts[] = {
      &compiled->manifest, &compiled->compiled.ptx, &compiled->compiled.cubin,
      &compiled->compiled.header, &compiled->compiled.data};
  bool isThere = part >= MXC_MANIFEST && part <= MXC_CONSTANTS;
  size_t size = isThere ? parts[part]->size() : 0;
  if (bytes)
    *bytes = size;
  return size ? parts[part]->c_str() : nullptr;
}

int mxcCompiledWrite(mxcCompiled handle, const char *directory) {
  auto compiled = compiledPrograms().find(handle);
  if (refuse(contextOf(compiled), {{handle, compiled, "a compiled program"},
                                   {directory, "a directory"}}))
    return MXC_REFUSED;
  if (llvm::Error error =
          mx::writeCompiledModule(directory, compiled->compiled))
    return compiled->context->tell(std::move(error));
  return MXC_OK;
}
