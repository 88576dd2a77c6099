//===- ExplainTraffic.cpp - Report of launches and traffic ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/Passes.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Execution/Traffic.h"
#include "mx/Pipelines/Pipelines.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mx;

using Arguments = std::optional<ArrayRef<NpyArray>>;

/// Minimum number of bytes printed in megabytes.
static constexpr int64_t kLeastInMegabytes = 100000;

/// Inlines calls, as mx-to-mxgpu does.
static bool simplify(ModuleOp module) {
  PassManager pm(module.getContext());
  buildMXBeginPipeline(pm);
  pm.addPass(createInlinerPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  return succeeded(pm.run(module));
}

static bool toLaunches(ModuleOp module, const DeviceOptions &options) {
  MXToNVVMOptions pipeline;
  setPipelineOptions(pipeline, options);
  PassManager pm(module.getContext());
  buildMXToMXGPUPipeline(pm, pipeline);
  return succeeded(pm.run(module));
}

namespace {

/// Formats numbers of bytes. Prints megabytes, or bytes for small numbers, if
/// the sizes of the arguments are known, else an expression.
class Printer {
public:
  Printer(const Traffic &traffic, Arguments arguments)
      : traffic(traffic), arguments(arguments) {}

  std::string str(AffineExpr bytes) const {
    if (!bytes)
      return "unknown";
    AffineExpr known = simplifyAffineExpr(replaceExtents(bytes), /*numDims=*/0,
                                          traffic.extents.size());
    std::string text;
    llvm::raw_string_ostream os(text);
    auto number = dyn_cast<AffineConstantExpr>(known);
    if (number && !number.getValue())
      os << "nothing";
    else if (number && number.getValue() < kLeastInMegabytes)
      os << number.getValue() << " B";
    else if (number)
      os << llvm::format("%.3f MB", double(number.getValue()) * 1e-6);
    else
      os << nameExtents(known) << " B";
    return text;
  }
  /// Returns the number of bytes if the sizes of the arguments are known.
  std::optional<int64_t> get(AffineExpr bytes) const {
    auto number = bytes ? dyn_cast<AffineConstantExpr>(replaceExtents(bytes))
                        : AffineConstantExpr();
    return number ? std::optional(number.getValue()) : std::nullopt;
  }

private:
  AffineExpr replaceExtents(AffineExpr bytes) const {
    if (!arguments)
      return bytes;
    SmallVector<AffineExpr> values;
    for (auto [argument, dim] : traffic.extents)
      values.push_back(getAffineConstantExpr((*arguments)[argument].shape[dim],
                                             bytes.getContext()));
    return bytes.replaceSymbols(values);
  }
  /// Replaces symbols by the extents of arguments, for example s3 by arg0[1].
  std::string nameExtents(AffineExpr bytes) const {
    std::string text, result;
    llvm::raw_string_ostream(text) << bytes;
    llvm::Regex symbol("s([0-9]+)");
    SmallVector<StringRef, 2> match;
    StringRef rest = text;
    while (symbol.match(rest, &match)) {
      unsigned number = 0;
      match[1].getAsInteger(10, number);
      auto [argument, dim] = traffic.extents[number];
      result += rest.substr(0, match[0].data() - rest.data());
      result +=
          "arg" + std::to_string(argument) + "[" + std::to_string(dim) + "]";
      rest = rest.substr(match[0].data() - rest.data() + match[0].size());
    }
    return result + rest.str();
  }

  const Traffic &traffic;
  std::optional<ArrayRef<NpyArray>> arguments;
};

} // namespace

static void printLine(llvm::raw_ostream &os, const Twine &number,
                      StringRef name, StringRef read, StringRef written) {
  os << llvm::format("%4s  %-32s  ", number.str().c_str(), name.str().c_str())
     << "reads " << read << ", writes " << written << '\n';
}

static void printEntry(llvm::raw_ostream &os, StringRef name,
                       const Traffic &launches, const Traffic &operations,
                       Arguments arguments, MLIRContext *context) {
  Printer printer(launches, arguments);
  unsigned count = llvm::count_if(
      launches.steps, [](const TrafficStep &step) { return step.isLaunch; });
  os << "memory of " << name << ": " << count
     << (count == 1 ? " launch\n" : " launches\n");
  unsigned number = 0;
  for (const TrafficStep &step : launches.steps)
    printLine(os, step.isLaunch ? std::to_string(++number) : std::string(),
              step.name, printer.str(step.read), printer.str(step.written));
  AffineExpr read = launches.sum(&TrafficStep::read, context);
  AffineExpr written = launches.sum(&TrafficStep::written, context);
  printLine(os, "", "sum", printer.str(read), printer.str(written));
  Printer before(operations, arguments);
  AffineExpr readBefore = operations.sum(&TrafficStep::read, context);
  AffineExpr writtenBefore = operations.sum(&TrafficStep::written, context);
  std::string title =
      "unfused, " + std::to_string(operations.steps.size()) + " operations";
  printLine(os, "", title, before.str(readBefore), before.str(writtenBefore));
  auto known = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
  };
  auto now = known(printer.get(read), printer.get(written));
  auto then = known(before.get(readBefore), before.get(writtenBefore));
  if (now && then && *then)
    os << llvm::format("      %.1f %% of the bytes without fusion\n",
                       100.0 * double(*now) / double(*then));
}

void mx::explainTraffic(llvm::raw_ostream &os, ModuleOp module,
                        DeviceOptions options, ArrayRef<std::string> entries,
                        Arguments arguments) {
  options.explain = false;
  // One schedule is enough, because all schedules of a matmul with dynamic
  // sizes have the same traffic.
  options.maxSchedules = 1;
  // Do not print diagnostics again that compiling the module already printed.
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> tensors = module.clone(), kernels = module.clone();
  if (!simplify(*tensors) || !toLaunches(*kernels, options))
    return;
  for (auto function : kernels->getOps<func::FuncOp>()) {
    StringRef name = function.getSymName();
    auto source = dyn_cast_or_null<func::FuncOp>(tensors->lookupSymbol(name));
    bool isAsked = entries.empty() ? function.isPublic()
                                   : llvm::is_contained(entries, name);
    if (isAsked && source && !function.isExternal())
      printEntry(os, name, countLaunches(function), countOperations(source),
                 arguments, module.getContext());
  }
}
