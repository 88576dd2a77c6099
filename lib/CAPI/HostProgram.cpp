//===- HostProgram.cpp - Running on the host through the C interface ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-run --device=cpu does, in the process of a caller: nothing that is
// wrong with arguments or their data may end it.
//
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mlir/IR/Diagnostics.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Execution/Program.h"
#include "mx/Support/Memory.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using mx::capi::contextOf;
using mx::capi::refuseNull;

namespace {

/// An argument or a result, as callers see it.
struct HostValue {
  std::string name, type;
  mx::ArrayType array;
  /// With -1 for extents that the call decides.
  SmallVector<int64_t> shape;

  void describe(mxcHostValueInfo &info) const {
    info = {name.c_str(),        type.c_str(),
            array.dtype.c_str(), int32_t(array.itemBytes()),
            array.isScalar,      int32_t(shape.size()),
            shape.data()};
  }
};

/// Shapes of calls that were found right; then they are forgotten.
constexpr size_t kMostShapes = 256;

} // namespace

struct mxcHostProgramImpl {
  llvm::Error readArguments(ArrayRef<mxcHostArray> given,
                            std::vector<mx::NpyArray> &arrays) const;
  bool verifyShapes(ArrayRef<mx::NpyArray> arrays);

  mxcContext context;
  /// The function as it was, which shapes are compared with.
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  std::vector<HostValue> arguments, results;
  std::unique_ptr<mx::Program> program;
  std::set<std::vector<int64_t>> rightShapes;
  /// Results of the last call.
  std::vector<mx::NpyArray> arrays;
};

static HostValue describe(Type type, std::string name) {
  HostValue value;
  value.name = std::move(name);
  llvm::raw_string_ostream(value.type) << type;
  value.array = llvm::cantFail(mx::getArrayType(type));
  for (int64_t extent : value.array.shape)
    value.shape.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
  return value;
}

/// The names of launch plans: those of the text, and numbers where it has none.
static std::vector<HostValue> describeArguments(func::FuncOp entry,
                                                mxcModule module) {
  OwningOpRef<ModuleOp> named = module->cloneWithNames();
  auto same = named->lookupSymbol<func::FuncOp>(entry.getSymName());
  std::vector<HostValue> values;
  for (auto [index, type] : llvm::enumerate(entry.getArgumentTypes())) {
    auto name = same.getArgAttrOfType<StringAttr>(index, mx::kEntryNameAttr);
    values.push_back(
        describe(type, name ? name.str() : "arg" + std::to_string(index)));
  }
  return values;
}

static std::vector<HostValue> describeResults(func::FuncOp entry) {
  std::vector<HostValue> values;
  for (auto [index, type] : llvm::enumerate(entry.getResultTypes())) {
    auto name =
        entry.getResultAttrOfType<StringAttr>(index, mx::kEntryNameAttr);
    values.push_back(
        describe(type, name ? name.str() : "result" + std::to_string(index)));
  }
  return values;
}

static llvm::Error create(mxcHostProgramImpl &program, mxcModule module,
                          StringRef name) {
  program.context = module->context;
  program.module = module->module->clone();
  llvm::Expected<func::FuncOp> entry = mx::lookupEntry(*program.module, name);
  if (!entry)
    return entry.takeError();
  program.entry = *entry;
  program.arguments = describeArguments(*entry, module);
  // What the entry does not call need not compile.
  mx::eraseUnreachable(*program.module, *entry);
  if (llvm::Error error = mx::returnMemRefArguments(*entry))
    return error;
  program.results = describeResults(*entry);

  mx::CompileOptions options;
  options.endProcess = false;
  OwningOpRef<ModuleOp> lowered = program.module->clone();
  // What diagnostics have told needs no words of ours.
  bool isTold = false;
  ScopedDiagnosticHandler observer(
      &module->context->context, [&](Diagnostic &diagnostic) {
        isTold |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure();
      });
  auto compiled = mx::Program::compile(*lowered, name, options);
  if (!compiled) {
    std::string text = llvm::toString(compiled.takeError());
    return mx::makeError(isTold ? "" : text);
  }
  program.program = std::move(*compiled);
  return llvm::Error::success();
}

/// Copies an array, whose extents are those of `type`.
static llvm::Error readArray(const mx::ArrayType &type,
                             const mxcHostArray &given, mx::NpyArray &array) {
  array.dtype = type.dtype;
  int64_t bytes = type.itemBytes();
  if (!type.isScalar && !type.shape.empty()) {
    if (!given.shape)
      return mx::makeError("expected a shape, found null");
    array.shape.assign(given.shape, given.shape + type.shape.size());
  }
  bool isTooLarge = false;
  for (int64_t extent : array.shape) {
    if (extent < 0)
      return mx::makeError("expected extents of at least 0, found " +
                           mx::npyTypeString(array));
    isTooLarge |= bool(llvm::MulOverflow(bytes, extent, bytes));
  }
  if (llvm::Error error = mx::checkArray(type, array))
    return error;
  if (!given.data && bytes)
    return mx::makeError("expected the address of " + mx::npyTypeString(array) +
                         ", found null");
  if (isTooLarge || !mx::tryResize(array.data, bytes))
    return mx::makeError("no memory for " + mx::npyTypeString(array));
  if (bytes)
    std::memcpy(array.data.data(), given.data, bytes);
  return llvm::Error::success();
}

llvm::Error
mxcHostProgramImpl::readArguments(ArrayRef<mxcHostArray> given,
                                  std::vector<mx::NpyArray> &arrays) const {
  if (given.size() != arguments.size())
    return mx::makeError("expected " + llvm::Twine(arguments.size()) +
                         " arguments of entry '" +
                         func::FuncOp(entry).getSymName() + "', found " +
                         llvm::Twine(given.size()));
  for (auto [index, value] : llvm::enumerate(arguments)) {
    arrays.emplace_back();
    if (llvm::Error error = readArray(value.array, given[index], arrays.back()))
      return mx::makeError("argument " + llvm::Twine(index) + " of type " +
                           value.type + ": " +
                           llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

/// Whether the operations take such shapes; diagnostics tell.
bool mxcHostProgramImpl::verifyShapes(ArrayRef<mx::NpyArray> arrays) {
  std::vector<int64_t> shapes;
  for (const mx::NpyArray &array : arrays)
    llvm::append_range(shapes, array.shape);
  if (rightShapes.count(shapes))
    return true;
  if (failed(mx::verifyShapes(entry, arrays)))
    return false;
  if (rightShapes.size() >= kMostShapes)
    rightShapes.clear();
  rightShapes.insert(std::move(shapes));
  return true;
}

int mxcHostProgramCreate(mxcHostProgram *program, mxcModule module,
                         const char *entry) {
  if (program)
    *program = nullptr;
  if (refuseNull(contextOf(module), {{program, "an address for the program"},
                                     {module, "a module"},
                                     {entry, "the name of an entry"}}))
    return MXC_REFUSED;
  auto made = std::make_unique<mxcHostProgramImpl>();
  if (llvm::Error error = create(*made, module, entry))
    return module->context->tell(std::move(error));
  *program = made.release();
  return MXC_OK;
}

void mxcHostProgramDestroy(mxcHostProgram program) { delete program; }

int32_t mxcHostProgramArgumentCount(mxcHostProgram program) {
  if (refuseNull(nullptr, {{program, "a program"}}))
    return 0;
  return int32_t(program->arguments.size());
}

int32_t mxcHostProgramResultCount(mxcHostProgram program) {
  if (refuseNull(nullptr, {{program, "a program"}}))
    return 0;
  return int32_t(program->results.size());
}

static int get(ArrayRef<HostValue> values, int32_t index,
               mxcHostValueInfo *info) {
  if (index < 0 || size_t(index) >= values.size())
    return MXC_REFUSED;
  values[index].describe(*info);
  return MXC_OK;
}

int mxcHostProgramGetArgument(mxcHostProgram program, int32_t index,
                              mxcHostValueInfo *info) {
  if (refuseNull(contextOf(program),
                 {{program, "a program"}, {info, "an address for the answer"}}))
    return MXC_REFUSED;
  return get(program->arguments, index, info);
}

int mxcHostProgramGetResult(mxcHostProgram program, int32_t index,
                            mxcHostValueInfo *info) {
  if (refuseNull(contextOf(program),
                 {{program, "a program"}, {info, "an address for the answer"}}))
    return MXC_REFUSED;
  return get(program->results, index, info);
}

int mxcHostProgramCall(mxcHostProgram program, const mxcHostArray *arguments,
                       int32_t argumentCount, mxcHostArray *results,
                       int32_t resultCount) {
  if (refuseNull(contextOf(program),
                 {{program, "a program"},
                  {arguments, "arguments", argumentCount <= 0},
                  {results, "room for results", resultCount <= 0}}))
    return MXC_REFUSED;
  mxcContext context = program->context;
  program->arrays.clear();
  if (size_t(resultCount) != program->results.size())
    return context->tell(mx::makeError(
        "expected room for " + llvm::Twine(program->results.size()) +
        " results of entry '" + program->entry.getSymName() + "', found " +
        llvm::Twine(resultCount)));
  std::vector<mx::NpyArray> inputs;
  if (llvm::Error error =
          program->readArguments({arguments, size_t(argumentCount)}, inputs))
    return context->tell(std::move(error));
  if (!program->verifyShapes(inputs))
    return MXC_REFUSED;
  SmallVector<const mx::NpyArray *> pointers;
  for (const mx::NpyArray &input : inputs)
    pointers.push_back(&input);
  auto found = program->program->run(pointers);
  if (!found)
    return context->tell(found.takeError());
  program->arrays = std::move(*found);
  for (auto [index, array] : llvm::enumerate(program->arrays))
    results[index] = {array.data.data(), array.shape.data()};
  return MXC_OK;
}
