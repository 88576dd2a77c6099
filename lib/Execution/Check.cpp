//===- Check.cpp - Compare a run with the reference path ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs the function with its stages exposed, compares them one by one and
// reports.
//
//===----------------------------------------------------------------------===//

#include "mx/Execution/Check.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mx;

/// Arrays of a stage's values, from the arguments and results of a run.
static StageArrays collect(const Stage &stage, ArrayRef<NpyArray> arguments,
                           ArrayRef<NpyArray> results) {
  auto find = [&](const StageValue &value) -> const NpyArray * {
    switch (value.kind) {
    case StageValue::Argument:
      return &arguments[value.index];
    case StageValue::Result:
      return &results[value.index];
    case StageValue::Constant:
    case StageValue::Unread:
      return nullptr;
    }
    return nullptr;
  };
  StageArrays arrays;
  for (const StageValue &value : stage.operands)
    arrays.operands.push_back(find(value));
  for (const StageValue &value : stage.results)
    arrays.results.push_back(find(value));
  return arrays;
}

/// Unequal bytes among the leading ones of each array.
static int64_t countUnequal(ArrayRef<NpyArray> a, ArrayRef<NpyArray> b,
                            ArrayRef<size_t> bytes) {
  int64_t unequal = 0;
  for (auto [left, right, count] : llvm::zip(a, b, bytes)) {
    if (left.shape != right.shape) {
      unequal += std::max(left.data.size(), right.data.size());
      continue;
    }
    for (size_t i = 0; i < count; ++i)
      unequal += left.data[i] != right.data[i];
  }
  return unequal;
}

llvm::Expected<CheckReport> mx::checkRun(ModuleOp module, StringRef entry,
                                         const CompileOptions &options,
                                         ArrayRef<NpyArray> arguments,
                                         ArrayRef<NpyArray> plain) {
  CheckReport report;
  SmallVector<const NpyArray *> inputs;
  for (const NpyArray &argument : arguments)
    inputs.push_back(&argument);

  // The exposed module stays: its operations name the stages.
  OwningOpRef<ModuleOp> exposed = module.clone();
  llvm::Expected<func::FuncOp> function = lookupEntry(*exposed, entry);
  if (!function)
    return function.takeError();
  FailureOr<StageList> list = exposeStages(*function);
  if (failed(list))
    return makeError("cannot expose the stages of '" + entry + "'");
  auto hide = [&](Operation *op, StringRef reason) {
    report.hidden.push_back(describeStage(op) + ": not compared alone, since " +
                            reason.str());
  };
  for (Operation *op : list->hidden)
    hide(op, readsSlices(op) ? "an operand is a slice"
                             : "it is not in the entry's own block");

  CompileOptions silent = options;
  silent.saveTemps.clear();
  silent.explain = false;
  OwningOpRef<ModuleOp> lowered = exposed->clone();
  auto program = Program::compile(*lowered, entry, silent);
  if (!program)
    return program.takeError();
  auto results = (*program)->run(inputs);
  if (!results)
    return results.takeError();
  // What is not defined is not compared.
  SmallVector<size_t> definedBytes;
  for (const NpyArray &array : plain)
    definedBytes.push_back(array.data.size());
  for (const Stage &stage : list->stages) {
    const StageValue &value = stage.results.front();
    if (value.kind == StageValue::Result && value.index < list->ownResults)
      definedBytes[value.index] =
          countDefinedElements(stage.op, collect(stage, arguments, *results)) *
          npyItemSize(plain[value.index].dtype);
  }
  report.unequalToPlainRun = countUnequal(plain, *results, definedBytes);

  for (const Stage &stage : list->stages) {
    // Sums of rows are added in any order, and a small error of a sum may
    // change its scale.
    auto product = dyn_cast<ProductOpInterface>(stage.op);
    if (isa<CombineOp>(stage.op) || (product && product.getScatterRows())) {
      hide(stage.op, "the order of its additions is not specified");
      continue;
    }
    if (product && product.getResultScales()) {
      hide(stage.op, "its quantized result has no bound");
      continue;
    }
    if (product && product.isMasked()) {
      hide(stage.op, "rows that no group has are not known");
      continue;
    }
    // A region may do anything to the rounding error of the sum.
    if (!isa<QuantizeOp>(stage.op) && stage.op->getNumRegions() != 0 &&
        !stage.op->getRegion(0).empty()) {
      hide(stage.op, "its epilogue has no bound");
      continue;
    }
    auto comparison =
        compareStage(stage, collect(stage, arguments, *results),
                     /*isExactSum=*/options.device != DeviceKind::CUDA);
    if (!comparison)
      return comparison.takeError();
    report.stages.push_back(std::move(*comparison));
  }

  OwningOpRef<ModuleOp> reference = module.clone();
  auto referenceEntry = lookupEntry(*reference, entry);
  if (!referenceEntry)
    return referenceEntry.takeError();
  SmallVector<Type> types(referenceEntry->getResultTypes());
  auto cpu = Program::compile(*reference, entry, CompileOptions());
  if (!cpu)
    return cpu.takeError();
  auto expected = (*cpu)->run(inputs);
  if (!expected)
    return expected.takeError();
  for (unsigned i = 0, e = types.size(); i < e; ++i) {
    auto found =
        compareEndToEnd(i, types[i], plain[i], (*expected)[i], definedBytes[i]);
    if (!found)
      return found.takeError();
    report.endToEnd.push_back(*found);
  }
  return report;
}

bool CheckReport::passed() const {
  if (unequalToPlainRun != 0)
    return false;
  for (const StageComparison &stage : stages)
    for (const ResultComparison &result : stage.results)
      if (!result.passed())
        return false;
  return true;
}

std::string CheckReport::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const StageComparison &stage : stages)
    for (const ResultComparison &result : stage.results) {
      out << "check: " << stage.stage << ", result " << result.result << ": "
          << result.elements << " elements, ";
      if (result.isExact)
        out << result.unequalBytes << " bytes unequal";
      else
        out << "largest deviation " << llvm::format("%.3g", result.maxDeviation)
            << ", " << llvm::format("%.3g", result.maxBoundRatio)
            << " of the bound";
      if (result.unbounded)
        out << ", " << result.unbounded << " overflow f32 and have no bound";
      if (!result.passed()) {
        out << ", FAILED at element " << result.worst;
        if (!result.isExact)
          out << " (" << result.violations << " elements)";
      }
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
          << " dB\n";
    else
      out << "no deviation\n";
  }
  out << "check: " << (passed() ? "passed" : "failed") << ", " << stages.size()
      << (stages.size() == 1 ? " stage\n" : " stages\n");
  return text;
}

llvm::json::Value CheckReport::json() const {
  llvm::json::Array stageArray, endArray;
  for (const StageComparison &stage : stages) {
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
  for (const EndToEnd &result : endToEnd) {
    llvm::json::Object object{{"result", int64_t(result.result)}};
    // JSON has no infinity: no deviation is null.
    object["snr_db"] = result.snr && std::isfinite(*result.snr)
                           ? llvm::json::Value(*result.snr)
                           : llvm::json::Value(nullptr);
    endArray.push_back(std::move(object));
  }
  return llvm::json::Object{{"passed", passed()},
                            {"stages", std::move(stageArray)},
                            {"end_to_end", std::move(endArray)},
                            {"unequal_to_plain_run", unequalToPlainRun},
                            {"not_compared", llvm::json::Array(hidden)}};
}
