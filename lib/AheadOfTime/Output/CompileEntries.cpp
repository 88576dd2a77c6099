//===- CompileEntries.cpp - Compilation of entries ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompileEntries.h"
#include "Ptxas.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Execution/Program.h"
#include "mx/Execution/Traffic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;

llvm::Expected<SmallVector<func::FuncOp>>
mx::selectEntries(ModuleOp module, ArrayRef<std::string> names) {
  SmallVector<func::FuncOp> entries;
  if (names.empty())
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal())
        entries.push_back(function);
  llvm::DenseSet<Operation *> device = findDeviceFunctions(module);
  auto isDevice = [&](func::FuncOp entry) { return device.contains(entry); };
  if (llvm::any_of(entries, isDevice))
    llvm::erase_if(entries, [&](func::FuncOp entry) {
      return !isDevice(entry) && !isArithmetic(entry);
    });
  for (const std::string &name : names) {
    llvm::Expected<func::FuncOp> entry = lookupEntry(module, name);
    if (!entry)
      return entry.takeError();
    if (!llvm::is_contained(entries, *entry))
      entries.push_back(*entry);
  }
  for (func::FuncOp function : entries)
    if (auto entry = lookupEntry(module, function.getSymName()); !entry)
      return entry.takeError();
  if (entries.empty())
    return makeError("expected a public func.func with a body, found none");
  return entries;
}

llvm::Error mx::keepEntries(ModuleOp module, ArrayRef<std::string> names) {
  auto entries = selectEntries(module, names);
  if (!entries)
    return entries.takeError();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    bool isEntry = llvm::is_contained(*entries, function);
    if (names.empty() && function.isPublic() && !isEntry)
      function.emitRemark("is host code and is not compiled: --entry=")
          << function.getSymName() << " also compiles the function";
    function.setVisibility(isEntry ? SymbolTable::Visibility::Public
                                   : SymbolTable::Visibility::Private);
  }
  eraseUnreachable(module, *entries);
  for (func::FuncOp entry : *entries)
    if (llvm::Error error = returnMemRefArguments(entry))
      return error;
  return llvm::Error::success();
}

static llvm::Error assembleKernels(const CompileModuleOptions &options,
                                   CompiledModule &output) {
  std::string ptxas = output.ptx.empty()
                          ? std::string()
                          : findPtxas(options.ptxas, options.chip);
  if (ptxas.empty())
    return llvm::Error::success();
  llvm::Expected<std::string> cubin = assemble(ptxas, options.chip, output.ptx);
  if (!cubin)
    return cubin.takeError();
  output.cubin = std::move(*cubin);
  output.manifest.cubin = kManifestCubin;
  return llvm::Error::success();
}

llvm::Expected<CompiledModule>
mx::compileEntries(ModuleOp module, const CompileModuleOptions &options,
                   StringRef prefix) {
  OwningOpRef<ModuleOp> source =
      options.explain ? module.clone() : OwningOpRef<ModuleOp>();
  auto code = compileDeviceCode(module, options);
  if (failed(code))
    return makeError("");
  CompiledModule output;
  static_cast<DeviceCode &>(output) = std::move(*code);
  if (source)
    explainTraffic(llvm::errs(), *source, options, options.entries);
  if (llvm::Error error = assembleKernels(options, output))
    return error;
  std::string name = getIdentifier(prefix.str());
  output.headerName = name + ".h";
  output.header = writeHeader(output.manifest, name);
  return output;
}
