//===- Run.cpp - Compilation and execution on arrays ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses a file, checks the arrays against the entry, compiles and runs the
// entry, writes the results, and compares them with the reference path.
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mx/Check/Check.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/IR/Place.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Execution/Session.h"
#include "mx/Execution/Traffic.h"
#include "mx/Launch/EntryCall.h"
#include "mx/Launch/RuntimeStatus.h"
#include "mx/Support/FloatArguments.h"
#include "mx/Support/ResultFiles.h"
#include "mx/Target/TargetInfo.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Notices.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;

namespace {

int report(llvm::Error error) {
  ExitStatus status = getExitStatus(error);
  llvm::errs() << "mx-run: " << printable(llvm::toString(std::move(error)))
               << '\n';
  return status;
}

llvm::Error readArguments(func::FuncOp entry, const RunOptions &options,
                          const Notices &notices,
                          std::vector<NpyArray> &arguments) {
  auto count = [&](size_t expected, size_t found, StringRef what) {
    return makeError("expected " + llvm::Twine(expected) + " " + what +
                     " of entry '" + entry.getSymName() + "', found " +
                     llvm::Twine(found));
  };
  if (options.argumentFiles.size() != entry.getNumArguments())
    return count(entry.getNumArguments(), options.argumentFiles.size(),
                 "--arg, one for each argument");
  // Either all results are written or none, because the assignment of files to
  // a subset of the results would be ambiguous.
  if (!options.resultFiles.empty() &&
      options.resultFiles.size() != entry.getNumResults())
    return count(entry.getNumResults(), options.resultFiles.size(),
                 "--result, one for each result");
  std::vector<std::string> written = options.resultFiles;
  if (!options.checkReport.empty())
    written.push_back(options.checkReport);
  if (std::string why = checkResultFiles(written); !why.empty())
    return makeError(why);
  FloatConversions conversions;
  for (auto [index, path] : llvm::enumerate(options.argumentFiles)) {
    NpyArray array;
    if (std::string error = readNpy(path, array); !error.empty())
      return makeError(error);
    Type type = entry.getArgumentTypes()[index];
    std::string name;
    llvm::raw_string_ostream(name) << type;
    if (llvm::Error error =
            checkArray(llvm::cantFail(getArrayType(type)), name, array))
      return makeError(path + ": argument " + llvm::Twine(index) + " of type " +
                       name + ": " + llvm::toString(std::move(error)));
    if (std::string error = conversions.convert(path, name, array);
        !error.empty())
      return makeError(error);
    arguments.push_back(std::move(array));
  }
  notices.say(conversions.text());
  return llvm::Error::success();
}

/// Names of the activity that Progress shows, by DeviceKind.
constexpr const char *kRuns[] = {"computing on the CPU", "simulating",
                                 "running"};

llvm::Error writeResults(const std::vector<std::string> &paths,
                         const std::vector<NpyArray> &results) {
  for (auto [path, result] : llvm::zip(paths, results))
    if (std::string error = writeNpy(path, result); !error.empty())
      return makeError(error);
  return llvm::Error::success();
}

} // namespace

int mx::run(const RunOptions &given) {
  RunOptions options = given;
  LapTimer watch(options.printTiming);
  Notices notices("mx-run", options.quiet);
  if (options.chip.empty())
    options.chip = selectChip(options.deviceName);
  // Rejects unknown chips even for the CPU, which ignores the chip.
  std::string unknown;
  if (!target::lookupTarget(options.chip, unknown))
    return report(makeError(unknown));
  llvm::Expected<DeviceKind> device =
      selectDevice(options.deviceName, options.chip);
  if (!device)
    return report(device.takeError());
  options.device = *device;

  Session session(notices);
  bool explained = false;
  ScopedDiagnosticHandler observer(
      &session.context, [&](Diagnostic &diagnostic) {
        explained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure();
      });
  llvm::Expected<OwningOpRef<ModuleOp>> parsed =
      session.parse(options.inputFile);
  if (!parsed)
    return report(parsed.takeError());
  OwningOpRef<ModuleOp> module = std::move(*parsed);
  if (!module)
    return kExitBadInput;
  llvm::Expected<func::FuncOp> entry = lookupEntry(*module, options.entry);
  if (!entry)
    return report(makeError(options.inputFile + ": " +
                            llvm::toString(entry.takeError())));
  // Uncalled functions need not be compiled.
  eraseUnreachable(*module, *entry);
  if (options.checkWithCPU &&
      llvm::any_of(entry->getArgumentTypes(), llvm::IsaPred<MemRefType>))
    return report(makeError(options.inputFile + ": entry '" + options.entry +
                            "': --check requires a function on tensors, found "
                            "memref arguments: compare the results of "
                            "--device=cpu"));
  if (llvm::Error error = returnMemRefArguments(*entry))
    return report(
        makeError(options.inputFile + ": " + llvm::toString(std::move(error))));
  if (llvm::Error error = checkRanks(*module, options))
    return report(std::move(error));
  std::vector<std::vector<NpyArray>> arguments(options.ranks);
  for (int rank = 0; rank < options.ranks; ++rank) {
    RunOptions own = getOptionsOfRank(options, rank);
    if (llvm::Error error =
            readArguments(*entry, own, notices, arguments[rank]))
      return report(std::move(error));
    if (failed(verifyShapes(*entry, arguments[rank])))
      return kExitBadInput;
  }
  if (options.deviceName == "auto" && *device == DeviceKind::Sim)
    notices.say(kSimulatedNotice);
  watch.lap("read");

  // A failing rank must not end the process, because the other ranks must be
  // notified.
  options.endProcess = options.ranks == 1;
  OwningOpRef<ModuleOp> lowered = module->clone();
  auto program = [&] {
    Progress progress(notices, "compiling");
    return Program::compile(*lowered, options.entry, options);
  }();
  if (!program) {
    std::string message = llvm::toString(program.takeError());
    return explained ? int(kExitBadInput) : report(makeError(message));
  }
  watch.lap("compile");
  if (options.explain && *device != DeviceKind::CPU)
    explainTraffic(llvm::errs(), *module, options, {options.entry},
                   arguments[0]);

  auto results = [&] {
    Progress progress(notices, kRuns[unsigned(*device)]);
    return runRanks(**program, arguments, Ranks::Seconds(options.timeout),
                    report);
  }();
  if (!results)
    return report(results.takeError());
  watch.lap("run");
  if (options.printTiming && *device == DeviceKind::Sim)
    printSimulatorCounters();
  for (int rank = 0; rank < options.ranks; ++rank) {
    RunOptions own = getOptionsOfRank(options, rank);
    if (llvm::Error error = writeResults(own.resultFiles, (*results)[rank]))
      return report(std::move(error));
  }
  if (!options.checkWithCPU)
    return kExitClean;

  auto check = [&] {
    Progress progress(notices, "checking");
    return checkRun(*module, options.entry, options, arguments[0],
                    (*results)[0]);
  }();
  if (!check)
    return report(check.takeError());
  watch.lap("check");
  llvm::outs() << check->text();
  if (!options.checkReport.empty())
    if (llvm::Error error = writeFile(
            options.checkReport, llvm::formatv("{0:2}\n", check->json()).str()))
      return report(std::move(error));
  if (!check->passed())
    return report(makeError("the device's results deviate from the reference "
                            "path, see the check report",
                            kExitFault));
  if (check->comparedElements() == 0)
    return report(makeError("nothing was compared with the reference path, see "
                            "the check report",
                            kExitUnchecked));
  return kExitClean;
}
