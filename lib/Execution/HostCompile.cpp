//===- HostCompile.cpp - Compilation for the host -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the pipeline of the reference path and LLVM's JIT.
//===----------------------------------------------------------------------===//

#include "HostFunctions.h"
#include "Programs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mx/Pipelines/Pipelines.h"
#include "llvm/ADT/bit.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace mx;

static LogicalResult lower(ModuleOp module, const CompileOptions &options) {
  PassManager pm(module->getContext());
  if (!options.saveTemps.empty())
    pm.addInstrumentation(createSaveTempsInstrumentation(options.saveTemps));
  buildMXToCPUPipeline(pm);
  return pm.run(module);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createHostMachine() {
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  // Disable bf16 conversions. With these instructions, LLVM converts the
  // operands of bf16 selects to f32 and back, which flushes subnormals on x86.
  // Without them, LLVM moves bits. The pipelines leave no bf16 arithmetic.
  std::vector<std::string> features = builder->getFeatures().getFeatures();
  for (StringRef name : {"avx512bf16", "avxneconvert", "avx10.2"})
    if (llvm::is_contained(features, "+" + name.str()))
      builder->getFeatures().AddFeature(name, /*Enable=*/false);
  return builder->createTargetMachine();
}

/// Implements compiler-rt's conversion from f32 to bf16, which rounds to
/// nearest even and preserves NaN. On hosts without a conversion instruction,
/// LLVM calls this function if it promotes selects or moves of bf16 vectors to
/// f32. The result is returned in the low 16 bits of a float register.
static float truncateToBF16(float x) {
  uint32_t bits = llvm::bit_cast<uint32_t>(x);
  bool isNaN = (bits & 0x7FFFFFFF) > 0x7F800000;
  uint32_t rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return llvm::bit_cast<float>(isNaN ? bits >> 16 | 0x40 : rounded);
}

/// Initializes LLVM's native target once, even if threads compile concurrently.
static void initializeTargetOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// Allocates zeroed memory, so padding of scales is deterministic.
static void *allocateZeros(size_t bytes) { return std::calloc(bytes, 1); }

/// Returns the functions called by compiled code, by C names.
static llvm::orc::SymbolMap getSymbols(llvm::orc::MangleAndInterner intern,
                                       bool endProcess) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                             llvm::JITSymbolFlags::Exported};
  };
  add("__truncsfbf2", &truncateToBF16);
  host_collectives::forEachFunction(add);
  if (!endProcess) {
    add("malloc", &allocateZeros);
    add("dprintf", &host_exit::print);
    add("exit", &host_exit::exit);
  }
  return symbols;
}

/// Optimizes at -O3, because lower levels keep empty loops, for example over
/// 2^40 rows without columns. The loop vectorizer is disabled, because LLVM 22
/// checks uniformity recursively without caching. Its run time is exponential
/// in the length of chains such as x = x * x.
static void optimizeModule(llvm::Module &module, llvm::TargetMachine *machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  llvm::PassBuilder builder(machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

static llvm::Expected<std::unique_ptr<ExecutionEngine>>
createEngine(ModuleOp module, bool endProcess) {
  initializeTargetOnce();
  auto machine = createHostMachine();
  if (!machine)
    return machine.takeError();
  ExecutionEngineOptions engineOptions;
  auto optimize = [&](llvm::Module *module) {
    optimizeModule(*module, machine->get());
    return llvm::Error::success();
  };
  engineOptions.transformer = optimize;
  engineOptions.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Less;
  engineOptions.enableGDBNotificationListener = false;
  engineOptions.enablePerfNotificationListener = false;
  auto jitMachine = createHostMachine();
  if (!jitMachine)
    return jitMachine.takeError();
  auto engine =
      ExecutionEngine::create(module, engineOptions, std::move(*jitMachine));
  if (engine)
    (*engine)->registerSymbols([=](llvm::orc::MangleAndInterner intern) {
      return getSymbols(intern, endProcess);
    });
  return engine;
}

/// Returns true if the JIT linker can find a function in this process.
static bool isKnown(StringRef name) {
  return dlsym(RTLD_DEFAULT, name.str().c_str());
}

/// Checks that functions without a body exist in this process. The JIT linker
/// would report names that the user never wrote.
static LogicalResult verifyDeclarations(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    StringRef name = function.getSymName();
    if (!function.isDeclaration() ||
        SymbolTable::symbolKnownUseEmpty(function, module) || isKnown(name) ||
        isKnown(("_mlir_ciface_" + name).str()))
      continue;
    return refuseMissingBody(function);
  }
  return success();
}

static bool isCollective(StringRef name) {
  bool found = false;
  host_collectives::forEachFunction(
      [&](StringRef known, void *) { found |= name == known; });
  return found;
}

/// Checks that functions called by lowered operations exist in this process.
static LogicalResult verifyCalls(ModuleOp module) {
  WalkResult result = module.walk([&](LLVM::CallOp call) -> WalkResult {
    std::optional<StringRef> name = call.getCallee();
    auto function = name ? module.lookupSymbol<LLVM::LLVMFuncOp>(*name)
                         : LLVM::LLVMFuncOp();
    if (!function || !function.isExternal() || name->starts_with("llvm.") ||
        isKnown(*name) || isCollective(*name))
      return WalkResult::advance();
    return call.emitError(
               "expected operations that mx-run can execute, found a call of '")
           << *name << "', which mx-run does not provide";
  });
  return failure(result.wasInterrupted());
}

llvm::Expected<std::unique_ptr<Program>>
mx::compileForHost(ModuleOp module, func::FuncOp entry,
                   const CompileOptions &options) {
  std::string symbol = entry.getSymName().str();
  entry->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                 UnitAttr::get(module.getContext()));
  if (failed(verifyDeclarations(module)) || failed(lower(module, options)) ||
      failed(verifyCalls(module)))
    return makeError("cannot compile '" + symbol + "' for " +
                     stringifyDeviceKind(options.device));
  auto engine = createEngine(module, options.endProcess);
  if (!engine)
    return engine.takeError();
  // Look up the function before constructors run, because the lookup compiles
  // the module and reports missing symbols.
  auto function = (*engine)->lookupPacked("_mlir_ciface_" + symbol);
  if (!function)
    return function.takeError();
  (*engine)->initialize();
  return makeHostProgram(std::move(*engine), *function, std::move(symbol));
}
