//===- HostProgram.cpp - Host programs of the C interface -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs programs on the CPU in the caller's process, like mx-run --device=cpu.
// Invalid arguments or data must not terminate the process.
//===----------------------------------------------------------------------===//

#include "Handles.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "mx/Dialect/MX/Transforms/Passes.h"
#include "mx/Execution/Program.h"
#include "mxsim/io/Memory.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace mx::capi;

namespace {

/// Description of an argument or a result, returned to callers.
struct HostValue {
  std::string name, type;
  mx::ArrayType array;
  /// Extents of the array. Dynamic extents are -1.
  SmallVector<int64_t> shape;

  mxcHostValueInfo describe() const {
    return {sizeof(mxcHostValueInfo),
            name.c_str(),
            type.c_str(),
            array.dtype.c_str(),
            int32_t(array.itemBytes()),
            array.isScalar,
            int32_t(shape.size()),
            shape.data()};
  }
};

struct HostGroup {
  std::string name;
  int64_t size, tokens;

  mxcHostGroupInfo describe() const {
    return {sizeof(mxcHostGroupInfo), name.c_str(), size, tokens};
  }
};

class CallerCollectives final : public mx::HostCollectives {
public:
  explicit CallerCollectives(const mxcHostCollectives &given) : given(given) {}

  int64_t getRank(int64_t group) override {
    return given.getRank(group, given.user);
  }
  std::string allGather(int64_t group, void *window, int64_t bytes) override {
    return describe(given.allGather(group, window, bytes, given.user));
  }
  std::string allToAll(int64_t group, const void *from, void *to,
                       int64_t bytes) override {
    return describe(given.allToAll(group, from, to, bytes, given.user));
  }

private:
  static std::string describe(const char *wrong) { return wrong ? wrong : ""; }

  mxcHostCollectives given;
};

/// Size of the cache of verified shapes, which is cleared when full.
constexpr size_t kMostShapes = 256;

} // namespace

using HostArrays = mx::CallerArray<mxcHostArray>;

struct mx::capi::HostProgram {
  llvm::Error readArguments(const HostArrays &given, int32_t count,
                            std::vector<mx::NpyArray> &arrays) const;
  bool verifyShapes(ArrayRef<mx::NpyArray> arrays);

  std::shared_ptr<Context> context;
  /// The original function, for verification of shapes.
  OwningOpRef<ModuleOp> module;
  func::FuncOp entry;
  std::vector<HostValue> arguments, results;
  std::vector<HostGroup> groups;
  std::unique_ptr<mx::Program> program;
  std::unique_ptr<CallerCollectives> collectives;
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

/// Describes arguments or results. Uses the same names as launch plans: the
/// name in the source text, or `prefix` with the index.
static std::vector<HostValue>
describeAll(TypeRange types, StringRef prefix,
            llvm::function_ref<StringAttr(unsigned)> getName) {
  std::vector<HostValue> values;
  for (auto [index, type] : llvm::enumerate(types)) {
    StringAttr name = getName(index);
    values.push_back(describe(
        type, name ? name.str() : (prefix + llvm::Twine(index)).str()));
  }
  return values;
}

static llvm::Error create(HostProgram &program, Module &module,
                          StringRef name) {
  program.context = module.context;
  program.module = module.module->clone();
  llvm::Expected<func::FuncOp> entry = mx::lookupEntry(*program.module, name);
  if (!entry)
    return entry.takeError();
  program.entry = *entry;
  OwningOpRef<ModuleOp> named = module.cloneWithNames();
  auto same = named->lookupSymbol<func::FuncOp>(entry->getSymName());
  program.arguments =
      describeAll(entry->getArgumentTypes(), "arg", [&](unsigned index) {
        return same.getArgAttrOfType<StringAttr>(index, mx::kEntryNameAttr);
      });
  // Erase uncalled functions, so their errors do not reject the program.
  mx::eraseUnreachable(*program.module, *entry);
  if (llvm::Error error = mx::returnMemRefArguments(*entry))
    return error;
  program.results =
      describeAll(entry->getResultTypes(), "result", [&](unsigned index) {
        return entry->getResultAttrOfType<StringAttr>(index,
                                                      mx::kEntryNameAttr);
      });
  for (auto group : program.module->getOps<mx::RankGroupOp>())
    program.groups.push_back({group.getSymName().str(),
                              int64_t(group.getSize()),
                              int64_t(group.getTokens())});

  mx::CompileOptions options;
  options.endProcess = false;
  OwningOpRef<ModuleOp> lowered = program.module->clone();
  // Drop the returned error if a diagnostic was already printed.
  bool isTold = false;
  ScopedDiagnosticHandler observer(
      &module.context->context, [&](Diagnostic &diagnostic) {
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

/// Copies an array and checks its extents against `type`.
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
HostProgram::readArguments(const HostArrays &given, int32_t count,
                           std::vector<mx::NpyArray> &arrays) const {
  if (count < 0 || size_t(count) != arguments.size())
    return mx::makeError(
        "expected " + llvm::Twine(arguments.size()) + " arguments of entry '" +
        func::FuncOp(entry).getSymName() + "', found " + llvm::Twine(count));
  std::string wrong = given.check(MX_SIZE_WITH(mxcHostArray, shape),
                                  "mxcHostArray", "argument");
  if (!wrong.empty())
    return mx::makeError(wrong);
  for (auto [index, value] : llvm::enumerate(arguments)) {
    arrays.emplace_back();
    if (llvm::Error error = readArray(value.array, given[index], arrays.back()))
      return mx::makeError("argument " + llvm::Twine(index) + " of type " +
                           value.type + ": " +
                           llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

/// Verifies shapes. Reports errors as diagnostics.
bool HostProgram::verifyShapes(ArrayRef<mx::NpyArray> arrays) {
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

int mxcHostProgramCreate(mxcHostProgram *program, mxcModule handle,
                         const char *entry) {
  if (program)
    *program = nullptr;
  auto module = modules().find(handle);
  if (refuse(contextOf(module), {{program, "an address for the program"},
                                 {handle, module, "a module"},
                                 {entry, "the name of an entry"}}))
    return MXC_REFUSED;
  auto made = std::make_shared<HostProgram>();
  if (llvm::Error error = create(*made, *module, entry))
    return module->context->tell(std::move(error));
  *program = hostPrograms().add(std::move(made));
  return MXC_OK;
}

void mxcHostProgramDestroy(mxcHostProgram program) {
  remove(hostPrograms(), program, "a program");
}

/// Returns the length of a program's list, or 0 after a message.
template <typename Element>
static int32_t count(mxcHostProgram handle,
                     std::vector<Element> HostProgram::*list,
                     const char *function = __builtin_FUNCTION()) {
  auto program = hostPrograms().find(handle);
  if (refuse(contextOf(program), {{handle, program, "a program"}}, function))
    return 0;
  return int32_t(((*program).*list).size());
}

template <typename Element, typename Info>
static int get(mxcHostProgram handle, int32_t index, Info *info,
               const char *name, std::vector<Element> HostProgram::*list,
               const char *function = __builtin_FUNCTION()) {
  auto program = hostPrograms().find(handle);
  if (refuse(
          contextOf(program),
          {{handle, program, "a program"}, {info, "an address for the answer"}},
          function))
    return MXC_REFUSED;
  const std::vector<Element> &elements = (*program).*list;
  std::string fault =
      index >= 0 && size_t(index) < elements.size()
          ? mx::writeStruct(info, name, elements[size_t(index)].describe())
          : "expected a number below " + std::to_string(elements.size()) +
                ", found " + std::to_string(index);
  return refuseStruct(program->context, fault, function) ? MXC_REFUSED : MXC_OK;
}

int32_t mxcHostProgramArgumentCount(mxcHostProgram program) {
  return count(program, &HostProgram::arguments);
}

int32_t mxcHostProgramResultCount(mxcHostProgram program) {
  return count(program, &HostProgram::results);
}

int32_t mxcHostProgramGroupCount(mxcHostProgram program) {
  return count(program, &HostProgram::groups);
}

int mxcHostProgramGetArgument(mxcHostProgram program, int32_t index,
                              mxcHostValueInfo *info) {
  return get(program, index, info, "mxcHostValueInfo", &HostProgram::arguments);
}

int mxcHostProgramGetResult(mxcHostProgram program, int32_t index,
                            mxcHostValueInfo *info) {
  return get(program, index, info, "mxcHostValueInfo", &HostProgram::results);
}

int mxcHostProgramGetGroup(mxcHostProgram program, int32_t index,
                           mxcHostGroupInfo *info) {
  return get(program, index, info, "mxcHostGroupInfo", &HostProgram::groups);
}

/// Stores the address and shape of an array in a caller's struct.
static void give(mxcHostArray *result, const mx::NpyArray &array) {
  (void)mx::writeStruct(
      result, "mxcHostArray",
      {sizeof(mxcHostArray), array.data.data(), array.shape.data()});
}

int mxcHostProgramCall(mxcHostProgram handle, const mxcHostArray *arguments,
                       int32_t argumentCount, mxcHostArray *results,
                       int32_t resultCount) {
  auto program = hostPrograms().find(handle);
  if (refuse(contextOf(program),
             {{handle, program, "a program"},
              {arguments, "arguments", argumentCount <= 0},
              {results, "room for results", resultCount <= 0}}))
    return MXC_REFUSED;
  Context &context = *program->context;
  program->arrays.clear();
  if (resultCount < 0 || size_t(resultCount) != program->results.size())
    return context.tell(mx::makeError(
        "expected room for " + llvm::Twine(program->results.size()) +
        " results of entry '" + program->entry.getSymName() + "', found " +
        llvm::Twine(resultCount)));
  std::string wrong =
      HostArrays(results, resultCount)
          .check(MX_SIZE_WITH(mxcHostArray, shape), "mxcHostArray", "result");
  if (!wrong.empty())
    return context.tell(mx::makeError(wrong));
  std::vector<mx::NpyArray> inputs;
  if (llvm::Error error = program->readArguments({arguments, argumentCount},
                                                 argumentCount, inputs))
    return context.tell(std::move(error));
  if (!program->verifyShapes(inputs))
    return MXC_REFUSED;
  SmallVector<const mx::NpyArray *> pointers;
  for (const mx::NpyArray &input : inputs)
    pointers.push_back(&input);
  auto found = program->program->run(pointers);
  if (!found)
    return context.tell(found.takeError());
  program->arrays = std::move(*found);
  char *place = reinterpret_cast<char *>(results);
  for (const mx::NpyArray &array : program->arrays) {
    auto *result = reinterpret_cast<mxcHostArray *>(place);
    place += result->structSize;
    give(result, array);
  }
  return MXC_OK;
}

int mxcHostProgramSetCollectives(mxcHostProgram handle,
                                 const mxcHostCollectives *collectives) {
  auto program = hostPrograms().find(handle);
  auto given = mxcSized<mxcHostCollectives>();
  if (refuse(contextOf(program),
             {{handle, program, "a program"}, {collectives, "collectives"}}) ||
      refuseStruct(program->context,
                   mx::readStruct(collectives,
                                  MX_SIZE_WITH(mxcHostCollectives, allToAll),
                                  "mxcHostCollectives", given)) ||
      refuse(program->context, {{given.getRank, "a function getRank"},
                                {given.allGather, "a function allGather"},
                                {given.allToAll, "a function allToAll"}}))
    return MXC_REFUSED;
  program->collectives = std::make_unique<CallerCollectives>(given);
  program->program->setCollectives(program->collectives.get());
  return MXC_OK;
}
