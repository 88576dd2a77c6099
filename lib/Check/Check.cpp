//===- Check.cpp - Comparison of a run with the reference path ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the fused function with exposed stages. Compares the results of each
// stage and the values between stages with the reference path.
//===----------------------------------------------------------------------===//

#include "mx/Check/Check.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mx/Conversion/MXToMXGPU/MXToMXGPU.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Pipelines/Pipelines.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mx;

/// Counts the bytes that differ in the defined items of the arrays.
static int64_t countUnequal(ArrayRef<NpyArray> a, ArrayRef<NpyArray> b,
                            ArrayRef<ElementRanges> defined) {
  int64_t unequal = 0;
  for (auto [left, right, ranges] : llvm::zip(a, b, defined)) {
    if (left.shape != right.shape) {
      unequal += std::max(left.data.size(), right.data.size());
      continue;
    }
    size_t item = npyItemSize(left.dtype);
    for (auto [begin, end] : ranges)
      for (size_t i = begin * item; i < end * item; ++i)
        unequal += left.data[i] != right.data[i];
  }
  return unequal;
}

//===----------------------------------------------------------------------===//
// The run with exposed stages
//===----------------------------------------------------------------------===//

namespace {
/// Program with exposed stages, and the module that contains their operations.
struct Exposed {
  OwningOpRef<ModuleOp> module;
  IntermediateList list;
  /// Null if the function already returns all values of its stages. In this
  /// case the results of the original run are compared.
  std::unique_ptr<Program> program;
};
} // namespace

/// Fuses the module before stages are exposed, because additional uses of
/// results would prevent fusion.
static llvm::Expected<OwningOpRef<ModuleOp>>
fuse(ModuleOp module, StringRef entry, const CompileOptions &options) {
  OwningOpRef<ModuleOp> fused = module.clone();
  llvm::Expected<func::FuncOp> function = lookupEntry(*fused, entry);
  if (!function)
    return function.takeError();
  if (options.device == DeviceKind::CPU)
    return fused;
  // The inliner must not erase the entry as dead.
  function->setPublic();
  MXToNVVMOptions pipeline;
  pipeline.chip = options.chip;
  pipeline.fuse = options.fuse;
  PassManager pm(module.getContext());
  buildMXFusionPipeline(pm, pipeline);
  // Select schedules before stages are exposed, because additional users may
  // change the schedule, and a different schedule may add in another order.
  pm.addPass(mxgpu::createMXSelectSchedule({options.chip, /*explain=*/false,
                                            options.maxSchedules, options.tuned,
                                            options.tunedGpu}));
  if (failed(pm.run(*fused)))
    return makeError("cannot fuse the operations of '" + entry + "'");
  return fused;
}

static llvm::Expected<Exposed>
expose(ModuleOp fused, StringRef entry, const CompileOptions &options,
       const std::map<unsigned, std::string> &without) {
  Exposed exposed;
  exposed.module = fused.clone();
  llvm::Expected<func::FuncOp> function = lookupEntry(*exposed.module, entry);
  if (!function)
    return function.takeError();
  bool hasCalls =
      function->walk([](func::CallOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  FailureOr<IntermediateList> list = exposeIntermediates(*function, without);
  if (failed(list))
    return makeError("cannot expose the stages of '" + entry + "'");
  exposed.list = std::move(*list);
  if (!hasCalls && function->getNumResults() == exposed.list.ownResults)
    return exposed;
  CompileOptions silent = options;
  silent.saveTemps.clear();
  silent.explain = false;
  silent.fuse = false;
  OwningOpRef<ModuleOp> lowered = exposed.module->clone();
  auto program = compileQuietly(*lowered, entry, silent);
  if (!program)
    return program.takeError();
  exposed.program = std::move(*program);
  return exposed;
}

/// Exposes all stages for which the device code still compiles. A program that
/// returns an operand may need more resources than the original program.
static llvm::Expected<Exposed> exposeMost(ModuleOp fused, StringRef entry,
                                          const CompileOptions &options) {
  std::map<unsigned, std::string> without;
  auto all = expose(fused, entry, options, without);
  if (all)
    return all;
  llvm::consumeError(all.takeError());
  OwningOpRef<ModuleOp> copy = fused.clone();
  llvm::Expected<func::FuncOp> function = lookupEntry(*copy, entry);
  if (!function)
    return function.takeError();
  FailureOr<IntermediateList> list = exposeIntermediates(*function);
  if (failed(list))
    return makeError("cannot expose the stages of '" + entry + "'");
  for (unsigned number : list->numbers)
    without[number] = "its operands cannot be returned";
  // Expose the stages individually, and keep each stage if it compiles.
  for (unsigned number : list->numbers) {
    std::map<unsigned, std::string> fewer = without;
    fewer.erase(number);
    auto more = expose(fused, entry, options, fewer);
    if (more)
      without = std::move(fewer);
    else
      without[number] += ": " + llvm::toString(more.takeError());
  }
  return expose(fused, entry, options, without);
}

/// Returns true if the order in which the device adds rows is unspecified.
static bool isInAnyOrder(Operation *op) {
  auto combine = dyn_cast<CombineOp>(op);
  return combine && combine.getOrder() == AdditionOrder::Any;
}

/// Returns the reason why the errors of a stage have no bound, or "".
static std::string whyUnbounded(Operation *op) {
  auto matmul = dyn_cast<MatmulOpInterface>(op);
  // Rows are added in any order, so the rounding errors are not known.
  if (isInAnyOrder(op) || (matmul && matmul.getScatterRows()))
    return "the order of its additions is not specified";
  if (!matmul)
    return {};
  if (matmul.getResultScales())
    return "its quantized result has no error bound";
  if (matmul.getNumB() > 1)
    return "its epilogue reads several accumulators and has no error bound";
  return {};
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

/// Returns the reason why the reference path and a device may compute different
/// elements from the same operands, or null.
static const char *whyInexact(Operation *op) {
  if (isa<MatmulOpInterface>(op) || isInAnyOrder(op))
    return "it depends on a matmul that was not compared";
  if (isa_and_nonnull<MXDialect>(op->getDialect()) && op->hasAttr("ragged"))
    return "it depends on rows outside all expert groups";
  auto quantize = dyn_cast<FusedQuantizeOp>(op);
  if (quantize && !quantize.getIfAny().empty())
    return "it depends on a quantization that may be skipped";
  if (isa<CallOpInterface>(op))
    return "it depends on a function call";
  // Sums of rows use a kernel with a different order
  // (docs/reference/Fusion.md).
  if (isa<linalg::SoftmaxOp>(op))
    return "it depends on a sum of rows, whose order a device chooses";
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured && mxgpu::isRowSum(structured))
    return "it depends on a sum of rows, whose order a device chooses";
  return nullptr;
}

/// Maps each value that may differ to the reason, which is found in the
/// defining operation, a nested operation or an operand.
static DenseMap<Value, const char *> findInexact(Block &block) {
  DenseMap<Value, const char *> inexact;
  for (Operation &op : block) {
    const char *why = nullptr;
    op.walk([&](Operation *nested) {
      if (!why)
        why = whyInexact(nested);
      for (Value operand : nested->getOperands())
        if (!why)
          why = inexact.lookup(operand);
    });
    if (why)
      for (Value result : op.getResults())
        inexact[result] = why;
  }
  return inexact;
}

/// Compares the values between stages. The reference path computes these values
/// from the device's results of the stages.
static llvm::Error compareRest(CheckReport &report, ReferencePrograms &programs,
                               Exposed &exposed, StringRef entry,
                               ArrayRef<const NpyArray *> inputs,
                               ArrayRef<NpyArray> results) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> rest(
      cast<ModuleOp>(exposed.module->getOperation()->clone(mapping)));
  llvm::Expected<func::FuncOp> function = lookupEntry(*rest, entry);
  if (!function)
    return function.takeError();
  if (!function->getBody().hasOneBlock()) {
    report.hidden.push_back("results: only results of mx operations are "
                            "compared, because the function has more than one "
                            "block");
    return llvm::Error::success();
  }
  Block &body = function->getBody().front();
  Operation *terminator = body.getTerminator();
  // Replace the results of stages by new arguments of the function.
  SmallVector<const NpyArray *> arrays(inputs);
  SmallVector<Value> returned(terminator->getOperands());
  llvm::SmallDenseSet<unsigned> given;
  for (const ComparedOp &stage : exposed.list.stages)
    for (auto [result, value] :
         llvm::zip_equal(stage.op->getResults(), stage.results)) {
      Value argument = body.addArgument(result.getType(), stage.op->getLoc());
      mapping.lookup(result).replaceAllUsesWith(argument);
      arrays.push_back(&results[value.index]);
      given.insert(value.index);
    }
  DenseMap<Value, const char *> inexact = findInexact(body);
  SmallVector<Value> kept;
  SmallVector<unsigned> numbers;
  SmallVector<std::string> names;
  for (auto [i, value] : llvm::enumerate(returned)) {
    // Elements of tensor.empty are unspecified.
    if (given.contains(i) || value.getDefiningOp<tensor::EmptyOp>())
      continue;
    std::string name =
        i < exposed.list.ownResults || !value.getDefiningOp()
            ? "result " + std::to_string(i)
            : describeOp(value.getDefiningOp()) + ", result " +
                  std::to_string(cast<OpResult>(value).getResultNumber());
    if (const char *why = inexact.lookup(value)) {
      report.hidden.push_back(name + ": not compared alone, since " + why);
      continue;
    }
    kept.push_back(value);
    numbers.push_back(i);
    names.push_back(std::move(name));
  }
  if (kept.empty())
    return llvm::Error::success();
  terminator->setOperands(kept);
  function->setType(FunctionType::get(rest->getContext(),
                                      body.getArgumentTypes(),
                                      ValueRange(kept).getTypes()));
  SmallVector<Type> types(ValueRange(kept).getTypes());
  auto program = programs.get(*rest, entry);
  if (!program) {
    std::string why = llvm::toString(program.takeError());
    for (const std::string &name : names)
      report.hidden.push_back(name +
                              ": not compared alone, because the reference "
                              "path rejects its computation: " +
                              why);
    return llvm::Error::success();
  }
  auto expected = (*program)->run(arrays);
  if (!expected)
    return expected.takeError();
  for (auto [i, number] : llvm::enumerate(numbers))
    report.values.push_back(
        {names[i], compareValues(types[i], results[number], (*expected)[i])});
  return llvm::Error::success();
}

/// Compares the results with a complete run of the reference path.
static llvm::Error compareResults(CheckReport &report,
                                  ReferencePrograms &programs, ModuleOp module,
                                  StringRef entry,
                                  ArrayRef<const NpyArray *> inputs,
                                  ArrayRef<NpyArray> plain,
                                  ArrayRef<ElementRanges> defined) {
  OwningOpRef<ModuleOp> reference = module.clone();
  auto function = lookupEntry(*reference, entry);
  if (!function)
    return function.takeError();
  SmallVector<Type> types(function->getResultTypes());
  auto program = programs.get(*reference, entry);
  if (!program) {
    report.hidden.push_back(
        "results: not compared from end to end, because the "
        "reference path rejects the program: " +
        llvm::toString(program.takeError()));
    return llvm::Error::success();
  }
  auto expected = (*program)->run(inputs);
  if (!expected)
    return expected.takeError();
  for (unsigned i = 0, e = types.size(); i < e; ++i) {
    auto found =
        compareEndToEnd(i, types[i], plain[i], (*expected)[i], defined[i]);
    if (!found)
      return found.takeError();
    report.endToEnd.push_back(*found);
  }
  return llvm::Error::success();
}

llvm::Expected<CheckReport> mx::checkRun(ModuleOp module, StringRef entry,
                                         const CompileOptions &options,
                                         ArrayRef<NpyArray> arguments,
                                         ArrayRef<NpyArray> plain) {
  auto fused = fuse(module, entry, options);
  if (!fused)
    return fused.takeError();
  auto exposed = exposeMost(**fused, entry, options);
  if (!exposed)
    return exposed.takeError();
  SmallVector<const NpyArray *> inputs;
  for (const NpyArray &argument : arguments)
    inputs.push_back(&argument);
  std::vector<NpyArray> exposedResults;
  if (exposed->program) {
    auto found = exposed->program->run(inputs);
    if (!found)
      return found.takeError();
    exposedResults = std::move(*found);
  }
  ArrayRef<NpyArray> results =
      exposed->program ? ArrayRef<NpyArray>(exposedResults) : plain;

  CheckReport report;
  auto hide = [&](Operation *op, StringRef why) {
    report.hidden.push_back(describeOp(op) + ": not compared alone, since " +
                            why.str());
  };
  for (const HiddenOp &stage : exposed->list.hidden)
    hide(stage.op, stage.why);
  // Undefined items are not compared.
  SmallVector<ElementRanges> defined;
  for (const NpyArray &array : plain)
    defined.push_back({{0, array.data.size() / npyItemSize(array.dtype)}});
  for (const ComparedOp &stage : exposed->list.stages) {
    const IntermediateValue &value = stage.results.front();
    if (value.kind == IntermediateValue::Result &&
        value.index < exposed->list.ownResults)
      defined[value.index] = getDefinedElements(
          stage.op, collectArrays(stage, arguments, results));
  }
  report.unequalToPlainRun = countUnequal(plain, results, defined);

  ReferencePrograms reference;
  for (const ComparedOp &stage : exposed->list.stages) {
    if (std::string why = whyUnbounded(stage.op); !why.empty()) {
      hide(stage.op, why);
      continue;
    }
    auto comparison = compareOp(
        reference, stage, collectArrays(stage, arguments, results), options);
    if (comparison) {
      report.stages.push_back(std::move(*comparison));
      continue;
    }
    if (llvm::Error error = llvm::handleErrors(
            comparison.takeError(),
            [&](const NoReference &none) { hide(stage.op, none.why); }))
      return error;
  }
  if (llvm::Error error =
          compareRest(report, reference, *exposed, entry, inputs, results))
    return error;
  if (llvm::Error error = compareResults(report, reference, module, entry,
                                         inputs, plain, defined))
    return error;
  return report;
}

SmallVector<ResultComparison> CheckReport::all() const {
  SmallVector<ResultComparison> results;
  for (const OpComparison &stage : stages)
    llvm::append_range(results, stage.results);
  for (const ValueComparison &value : values)
    results.push_back(value.comparison);
  return results;
}

int64_t CheckReport::comparedElements() const {
  int64_t elements = 0;
  for (const ResultComparison &result : all())
    elements += result.elements - result.unbounded;
  return elements;
}

bool CheckReport::passed() const {
  return unequalToPlainRun == 0 &&
         llvm::all_of(all(), [](auto &result) { return result.passed(); });
}

/// Returns a string like "1 element", "2 elements".
static std::string countElements(int64_t number) {
  return std::to_string(number) + (number == 1 ? " element" : " elements");
}

std::string CheckReport::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const OpComparison &stage : stages)
    for (const ResultComparison &result : stage.results) {
      out << "check: " << stage.stage << ", result " << result.result << ": "
          << countElements(result.elements) << ", ";
      if (result.isExact)
        out << result.unequalBytes << " bytes unequal";
      else
        out << "largest deviation " << llvm::format("%.3g", result.maxDeviation)
            << ", " << llvm::format("%.3g", result.maxBoundRatio)
            << " of the bound";
      if (result.unbounded)
        out << ", " << result.unbounded << " may overflow and have no bound";
      if (!result.passed()) {
        out << ", FAILED at element " << result.worst;
        if (!result.isExact)
          out << " (" << countElements(result.violations) << ")";
      }
      out << '\n';
    }
  for (const auto &[value, found] : values) {
    out << "check: " << value << ": " << countElements(found.elements) << ", "
        << found.violations << " unequal";
    if (!found.passed())
      out << ", FAILED at element " << found.worst;
    out << '\n';
  }
  for (const std::string &op : hidden)
    out << "check: " << op << '\n';
  if (unequalToPlainRun)
    out << "check: " << unequalToPlainRun
        << " bytes of the results changed when the stages were exposed, "
           "FAILED\n";
  for (const EndToEnd &result : endToEnd) {
    out << "check: result " << result.result
        << " against the reference from end to end: ";
    if (result.snr)
      out << "signal-to-noise ratio " << llvm::format("%.1f", *result.snr)
          << " dB";
    else
      out << (result.unequal ? "no deviation of finite elements"
                             : "no deviation");
    if (result.notFinite)
      out << ", " << result.notFinite << " of " << result.elements
          << " elements are NaN or infinite on one side only";
    out << '\n';
  }
  if (!passed())
    out << "check: failed";
  else if (comparedElements() == 0)
    out << "check: nothing was compared";
  else
    out << "check: passed";
  auto count = [&](size_t number, const char *what) {
    if (number)
      out << ", " << number << ' ' << what << (number == 1 ? "" : "s");
  };
  count(stages.size(), "stage");
  count(values.size(), "other value");
  out << '\n';
  return text;
}

llvm::json::Value CheckReport::json() const {
  llvm::json::Array stageArray, endArray;
  for (const OpComparison &stage : stages) {
    llvm::json::Array results;
    for (const ResultComparison &result : stage.results) {
      llvm::json::Object object{{"result", int64_t(result.result)},
                                {"elements", result.elements},
                                {"passed", result.passed()}};
      if (result.isExact) {
        object["unequal_bytes"] = result.unequalBytes;
      } else {
        object["max_deviation"] = result.maxDeviation;
        object["max_bound_ratio"] = result.maxBoundRatio;
        object["violations"] = result.violations;
        object["unbounded"] = result.unbounded;
      }
      results.push_back(std::move(object));
    }
    stageArray.push_back(llvm::json::Object{{"stage", stage.stage},
                                            {"results", std::move(results)}});
  }
  llvm::json::Array valueArray;
  for (const auto &[value, found] : values)
    valueArray.push_back(llvm::json::Object{{"value", value},
                                            {"elements", found.elements},
                                            {"passed", found.passed()},
                                            {"violations", found.violations}});
  for (const EndToEnd &result : endToEnd) {
    llvm::json::Object object{{"result", int64_t(result.result)},
                              {"unequal", result.unequal},
                              {"not_finite", result.notFinite}};
    // JSON has no infinity, so exact results have a null SNR.
    object["snr_db"] = result.snr && std::isfinite(*result.snr)
                           ? llvm::json::Value(*result.snr)
                           : llvm::json::Value(nullptr);
    endArray.push_back(std::move(object));
  }
  return llvm::json::Object{{"passed", passed() && comparedElements() != 0},
                            {"compared_elements", comparedElements()},
                            {"stages", std::move(stageArray)},
                            {"values", std::move(valueArray)},
                            {"end_to_end", std::move(endArray)},
                            {"unequal_to_plain_run", unequalToPlainRun},
                            {"not_compared", llvm::json::Array(hidden)}};
}
