//===- Compile.cpp - Ahead-of-time compilation of modules -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds all files in memory before writing them. The manifest is written last,
// so a directory with a manifest is complete.
//===----------------------------------------------------------------------===//

#include "mx/AheadOfTime/Compile.h"
#include "Output/CompileEntries.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mx/AheadOfTime/Tune.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Execution/Program.h"
#include "mx/Execution/Session.h"
#include "mx_runtime.h"
#include "mxsim/io/InputFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mx;

namespace {

/// Prints an error, unless its message is empty, and returns its exit status.
int report(llvm::Error error) {
  ExitStatus status = getExitStatus(error);
  if (std::string text = llvm::toString(std::move(error)); !text.empty())
    llvm::errs() << "mx-compile: " << printable(text) << '\n';
  return status;
}

constexpr const char *kManifest = "manifest.json";

} // namespace

// The IR stores no value names; a second parse collects them.
void mx::nameArguments(ModuleOp module, llvm::SourceMgr &sources) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (isBytecode(buffer->getMemBufferRef()))
    return;
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(sources, &block,
                                ParserConfig(module.getContext()), &state)))
    return;
  block.walk([&](func::FuncOp function) {
    auto entry = module.lookupSymbol<func::FuncOp>(function.getSymName());
    if (!entry || function.isExternal())
      return;
    const auto *definition = state.getBlockDef(&function.getBody().front());
    if (!definition || definition->arguments.size() != entry.getNumArguments())
      return;
    for (auto [index, argument] : llvm::enumerate(definition->arguments)) {
      SMRange range = argument.loc;
      if (!range.isValid() || entry.getArgAttr(index, kEntryNameAttr))
        continue;
      StringRef name(range.Start.getPointer(),
                     range.End.getPointer() - range.Start.getPointer());
      name.consume_front("%");
      if (!name.empty() && !llvm::isDigit(name[0]))
        entry.setArgAttr(index, kEntryNameAttr,
                         StringAttr::get(module.getContext(), name));
    }
  });
}

/// Measures schedules if requested and stores the table in the options.
static llvm::Error tune(ModuleOp module, CompileModuleOptions &options) {
  if (!options.tune.count)
    return llvm::Error::success();
  auto stopwatch = options.tune.isModelled
                       ? makeModelStopwatch(options.chip, options.ptxas)
                       : makeGpuStopwatch(options.chip);
  if (!stopwatch)
    return stopwatch.takeError();
  llvm::Expected<Tuned> tuned = tuneModule(module, options, **stopwatch);
  if (!tuned)
    return tuned.takeError();
  options.tuned = tuned->table;
  options.tunedGpu = tuned->gpu;
  return llvm::Error::success();
}

llvm::Expected<CompiledModule>
mx::compileModule(ModuleOp module, const CompileModuleOptions &asked,
                  StringRef prefix) {
  CompileModuleOptions options = asked;
  if (llvm::Error error = keepEntries(module, options.entries))
    return error;
  if (llvm::Error error = tune(module, options))
    return error;
  return compileEntries(module, options, prefix);
}

llvm::Error mx::writeCompiledModule(StringRef directory,
                                    const CompiledModule &output) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return makeError(directory + ": cannot create: " + error.message());
  if (!llvm::sys::fs::is_directory(directory))
    return makeError(directory + ": cannot create: it is a file");
  // Remove the files of an earlier run, so no directory mixes two runs.
  for (const char *name :
       {kManifest, kManifestCubin, kManifestPtx, kManifestData}) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    if (std::error_code error = llvm::sys::fs::remove(path))
      return makeError(path + ": cannot replace: " + error.message());
  }
  std::string manifest = plan::writeManifest(output.manifest);
  const std::pair<StringRef, StringRef> files[] = {
      {output.manifest.ptx, output.ptx},
      {output.manifest.cubin, output.cubin},
      {output.manifest.data, output.data},
      {output.headerName, output.header},
      {kManifest, manifest}};
  for (auto [name, text] : files)
    if (!name.empty())
      if (llvm::Error error = writeFile(directory, name, text))
        return error;
  return llvm::Error::success();
}

int mx::compileToDirectory(const CompileToDirectoryOptions &options) {
  Notices notices("mx-compile", options.quiet);
  Session session(notices);
  llvm::Expected<OwningOpRef<ModuleOp>> parsed =
      session.parse(options.inputFile);
  if (!parsed)
    return report(parsed.takeError());
  OwningOpRef<ModuleOp> module = std::move(*parsed);
  if (!module)
    return kExitBadInput;
  // Select entries here, so messages contain the file name.
  if (auto entries = selectEntries(*module, options.entries); !entries)
    return report(makeError(options.inputFile + ": " +
                            llvm::toString(entries.takeError())));
  nameArguments(*module, session.sources);
  // The runtime must return errors, because the tool prints them.
  if (options.tune.count)
    mxSetErrorPolicy(MX_ERRORS_RETURN);
  StringRef stem = llvm::sys::path::stem(options.inputFile);
  llvm::Expected<CompiledModule> compiled = [&] {
    Progress progress(notices, !options.tune.count       ? "compiling"
                               : options.tune.isModelled ? "modelling"
                                                         : "tuning");
    return compileModule(*module, options, stem == "-" ? "program" : stem);
  }();
  if (!compiled)
    return report(compiled.takeError());
  if (llvm::Error error =
          writeCompiledModule(options.outputDirectory, *compiled))
    return report(std::move(error));
  return kExitClean;
}
