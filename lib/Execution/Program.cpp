//===- Program.cpp - Compiled functions on arrays -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code shared by host and device programs.
//===----------------------------------------------------------------------===//

#include "mx/Execution/Program.h"
#include "Programs.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MX/Transforms/HostCode.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;

Program::~Program() = default;

llvm::Expected<func::FuncOp> mx::lookupEntry(ModuleOp module, StringRef name) {
  // Load the mx dialect to read types and the tensor dialect to propagate
  // shapes. The file may not use them.
  module.getContext()->loadDialect<MXDialect, tensor::TensorDialect>();
  auto symbol = module.lookupSymbol(name);
  if (!symbol) {
    std::string known;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        known += (known.empty() ? "" : ", ") + function.getSymName().str();
    return makeError("expected the entry to be one of [" + known +
                     "], found '" + name + "'");
  }
  auto entry = dyn_cast<func::FuncOp>(symbol);
  if (!entry || entry.isExternal())
    return makeError("expected the entry '" + name +
                     "' to be a func.func with a body");
  auto check = [&](TypeRange types, StringRef what) -> llvm::Error {
    for (auto [index, type] : llvm::enumerate(types)) {
      llvm::Expected<ArrayType> array = getArrayType(type);
      if (!array)
        return makeError("entry '" + name + "', " + what + " " +
                         llvm::Twine(index) + ": " +
                         llvm::toString(array.takeError()));
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = check(entry.getArgumentTypes(), "argument"))
    return error;
  if (llvm::Error error = check(entry.getResultTypes(), "result"))
    return error;
  Operation *hostOp = nullptr;
  entry.walk([&](Operation *op) {
    if (!hostOp && op->getName().getDialectNamespace() == "gpu")
      hostOp = op;
  });
  if (hostOp)
    return makeError("entry '" + name +
                     "': expected a function without memory management and "
                     "launches, found '" +
                     hostOp->getName().getStringRef() +
                     "': only mx-to-nvvm supports such host code");
  return entry;
}

llvm::Error mx::returnMemRefArguments(func::FuncOp entry) {
  SmallVector<BlockArgument> memrefs;
  for (BlockArgument argument : entry.getArguments())
    if (isa<MemRefType>(argument.getType()))
      memrefs.push_back(argument);
  if (memrefs.empty())
    return llvm::Error::success();
  auto module = entry->getParentOfType<ModuleOp>();
  if (!SymbolTable::symbolKnownUseEmpty(entry, module))
    return makeError("entry '" + entry.getSymName() +
                     "': expected no calls of an entry with memref arguments, "
                     "found a call: move the body to a function that the entry "
                     "and the caller call");
  SmallVector<Type> results(entry.getResultTypes());
  llvm::append_range(results, ValueRange(memrefs).getTypes());
  entry.setType(
      FunctionType::get(entry.getContext(), entry.getArgumentTypes(), results));
  if (ArrayAttr attributes = entry.getAllResultAttrs()) {
    SmallVector<Attribute> all(attributes.getValue());
    all.resize(results.size(), DictionaryAttr::get(entry.getContext()));
    entry.setAllResultAttrs(all);
  }
  entry.walk([&](func::ReturnOp end) {
    end.getOperandsMutable().append(
        SmallVector<Value>(memrefs.begin(), memrefs.end()));
  });
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Program>>
Program::compile(ModuleOp module, StringRef name,
                 const CompileOptions &options) {
  llvm::Expected<func::FuncOp> entry = lookupEntry(module, name);
  if (!entry)
    return entry.takeError();
  eraseUnreachable(module, *entry);
  SmallVector<ArrayType> arguments, results;
  for (Type type : entry->getArgumentTypes())
    arguments.push_back(llvm::cantFail(getArrayType(type)));
  for (Type type : entry->getResultTypes())
    results.push_back(llvm::cantFail(getArrayType(type)));
  entry->setPublic();
  if (!options.saveTemps.empty())
    if (llvm::Error error = saveInput(options.saveTemps, module))
      return error;
  auto program = options.device == DeviceKind::CPU
                     ? compileForHost(module, *entry, options)
                     : compileForDevice(module, *entry, options);
  if (!program)
    return program.takeError();
  (*program)->arguments = std::move(arguments);
  (*program)->results = std::move(results);
  return program;
}

llvm::Expected<std::vector<NpyArray>>
Program::run(ArrayRef<const NpyArray *> inputs) {
  if (inputs.size() != arguments.size())
    return makeError("expected " + llvm::Twine(arguments.size()) +
                     " arguments, found " + llvm::Twine(inputs.size()));
  for (auto [index, input] : llvm::enumerate(inputs))
    if (llvm::Error error = checkArray(arguments[index], *input))
      return makeError("argument " + llvm::Twine(index) + ": " +
                       llvm::toString(std::move(error)));

  return call(inputs);
}
