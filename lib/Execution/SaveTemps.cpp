//===- SaveTemps.cpp - IR after every pass --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Programs.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mx;

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  stream << '\n';
  return text;
}

llvm::Error mx::saveInput(const std::string &directory, ModuleOp module) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return makeError(directory + ": cannot create: " + error.message());
  return writeFile(directory, "00-input.mlir", print(module));
}

namespace {
class SaveTemps final : public PassInstrumentation {
public:
  explicit SaveTemps(std::string directory) : directory(std::move(directory)) {}

  void runBeforePass(Pass *, Operation *op) override {
    if (isRoot(op) && last.empty())
      last = print(op);
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (!isRoot(op) || failedToWrite)
      return;
    std::string text = print(op);
    if (text == last)
      return;
    last = std::move(text);
    // The adaptors of nested pass managers have no argument.
    StringRef name = pass->getArgument();
    std::string file;
    llvm::raw_string_ostream(file)
        << llvm::format("%02u-", ++count) << (name.empty() ? "nested" : name)
        << ".mlir";
    save(file, last);
  }

private:
  static bool isRoot(Operation *op) {
    return isa<ModuleOp>(op) && !op->getParentOp();
  }
  void save(const std::string &name, StringRef text) {
    if (llvm::Error error = writeFile(directory, name, text)) {
      failedToWrite = true;
      llvm::errs() << "mx: " << llvm::toString(std::move(error)) << '\n';
    }
  }

  std::string directory;
  std::string last;
  unsigned count = 0;
  bool failedToWrite = false;
};
} // namespace

std::unique_ptr<PassInstrumentation>
mx::createSaveTempsInstrumentation(const std::string &directory) {
  return std::make_unique<SaveTemps>(directory);
}
