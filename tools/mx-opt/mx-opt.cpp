//===- mx-opt.cpp - The mx optimizer driver -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Tool.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/InitAll.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ManagedStatic.h"
#include <dlfcn.h>

#ifdef MX_INCLUDE_TESTS
namespace mx::test {
void registerBreakPasses();
void registerTensorCore(mlir::DialectRegistry &registry);
} // namespace mx::test
#endif

// Option that replaces --mlir-pass-statistics, because LLVM's release packages
// do not print them. The main function creates the option, because libmx also
// contains the main functions of other tools.
static llvm::cl::opt<bool> &printStatistics() {
  static llvm::cl::opt<bool> option{
      "mx-statistics", llvm::cl::desc("Print the statistics of mx's passes")};
  return option;
}

// MlirOptMain shuts down LLVM and destroys statistics in reverse order of
// creation, so this destructor runs first.
namespace {
struct StatisticsPrinter {
  ~StatisticsPrinter() {
    if (printStatistics())
      llvm::PrintStatistics(llvm::errs());
  }
};
} // namespace
static llvm::ManagedStatic<StatisticsPrinter> statisticsPrinter;

//===----------------------------------------------------------------------===//
// Diagnostics
//
// Upstream prints the source line of a diagnostic. To do so, upstream reads the
// file of the location, which never ends if the file is a pipe or a device.
//===----------------------------------------------------------------------===//

/// Returns true if `place` refers to a file that is neither regular nor
/// `input`.
static bool isInPipe(mlir::Location place, llvm::StringRef input) {
  auto visit = [&](mlir::Location part) {
    auto line = llvm::dyn_cast<mlir::FileLineColLoc>(part);
    llvm::StringRef file = line ? line.getFilename().strref() : input;
    return file != input && llvm::sys::fs::exists(file) &&
                   !llvm::sys::fs::is_regular_file(file)
               ? mlir::WalkResult::interrupt()
               : mlir::WalkResult::advance();
  };
  return place->walk(visit).wasInterrupted();
}

/// Registers a handler that prints locations in pipes and devices as a part of
/// the message, so upstream does not open these files.
static void keepPipesClosed(mlir::MLIRContext *context, std::string input) {
  mlir::DiagnosticEngine &engine = context->getDiagEngine();
  engine.registerHandler([=, &engine](mlir::Diagnostic &found) {
    auto isPrinted = [&](mlir::Diagnostic &part) {
      return !isInPipe(part.getLocation(), input);
    };
    if (isPrinted(found) && llvm::all_of(found.getNotes(), isPrinted))
      return mlir::failure();
    auto unknown = mlir::UnknownLoc::get(context);
    mlir::Diagnostic shown(unknown, found.getSeverity());
    shown << found.getLocation() << ": " << found.str();
    for (mlir::Diagnostic &note : found.getNotes())
      shown.attachNote(unknown) << note.getLocation() << ": " << note.str();
    engine.emit(std::move(shown));
    return mlir::success();
  });
}

//===----------------------------------------------------------------------===//
// Plugins
//
// mx-opt exits if a plugin cannot be loaded. Upstream would continue.
//===----------------------------------------------------------------------===//

/// Returns true if libraries that call MLIR use this program's copy of it.
/// libmx hides its copy, so plugins would register with another copy.
static bool sharesMLIR() {
  mlir::InFlightDiagnostic (*own)(mlir::Location) = mlir::emitError;
  return dlsym(RTLD_DEFAULT, "_ZN4mlir9emitErrorENS_8LocationE") ==
         reinterpret_cast<void *>(own);
}

/// Loads the plugin `path` for `option`, or exits with a message.
template <typename Plugin>
static Plugin loadPlugin(llvm::StringRef option, const std::string &path) {
  std::string why = "this mx-opt contains MLIR and shares it with no library; "
                    "use mlir-opt, or an mx-opt that is linked with libMLIR";
  if (sharesMLIR()) {
    llvm::Expected<Plugin> plugin = Plugin::load(path);
    if (plugin)
      return std::move(*plugin);
    why = llvm::toString(plugin.takeError());
  }
  llvm::errs() << "mx-opt: expected a plugin of MLIR for --" << option
               << ", found '" << mx::printable(path)
               << "': " << mx::printable(why) << '\n';
  exit(mx::kExitUpstream);
}

/// Replaces upstream's callback of an option that names plugins.
template <typename Plugin, typename Register>
static void setPluginCallback(llvm::StringRef option, Register registerPlugin) {
  auto *list = static_cast<llvm::cl::list<std::string> *>(
      llvm::cl::getRegisteredOptions().lookup(option));
  list->setCallback([=](const std::string &path) {
    registerPlugin(loadPlugin<Plugin>(option, path));
  });
}

static void setPluginCallbacks(mlir::DialectRegistry &registry) {
  setPluginCallback<mlir::PassPlugin>("load-pass-plugin",
                                      [](const mlir::PassPlugin &plugin) {
                                        plugin.registerPassRegistryCallbacks();
                                      });
  setPluginCallback<mlir::DialectPlugin>(
      "load-dialect-plugin", [&registry](const mlir::DialectPlugin &plugin) {
        plugin.registerDialectRegistryCallbacks(registry);
      });
}

extern "C" int mxOptMain(int argc, char **argv) {
  mx::initTool<mx::kExitUpstream>("mx-opt");
  printStatistics();
  mlir::registerAllPasses();
  mx::registerAllPasses();
  mx::mxgpu::registerExplainOption();
#ifdef MX_INCLUDE_TESTS
  mx::test::registerBreakPasses();
#endif
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry); // mx-host-to-llvm
  mx::registerAllDialects(registry);
#ifdef MX_INCLUDE_TESTS
  mx::test::registerTensorCore(registry);
#endif
  // Counting costs nothing, and the printing options are parsed later.
  llvm::EnableStatistics(/*DoPrintOnExit=*/false);
  (void)llvm::GetStatistics(); // create LLVM's list before the printer
  *statisticsPrinter;
  std::string help =
      mlir::registerCLIOptions("mx optimizer driver\n", registry);
  setPluginCallbacks(registry);
  auto [input, output] = mlir::parseCLIOptions(argc, argv, help);
  if (!mx::checkInput(input))
    return mx::kExitUpstream;
  // The extension runs when a dialect is loaded, after upstream registered its
  // handler. A file with only builtin operations loads no dialect, so
  // upstream's handler remains.
  static std::string name;
  name = input;
  registry.addExtension(
      +[](mlir::MLIRContext *context) { keepPipesClosed(context, name); });
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
