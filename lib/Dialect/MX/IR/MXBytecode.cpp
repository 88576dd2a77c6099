//===- MXBytecode.cpp - Bytecode version of the mx dialect ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Bytecode outlives the program that wrote it. Every file carries the version
// of the dialect, so that an older reader refuses a newer file by name instead
// of misreading its properties, and a newer reader can upgrade or refuse an
// older file.
// Attributes have no encoding of their own: they are written as text.
//
//===----------------------------------------------------------------------===//

#include "MXBytecode.h"
#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mx/Dialect/MX/IR/MX.h"

using namespace mlir;
using namespace mx;

namespace {

struct MXVersion final : DialectVersion {
  explicit MXVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

struct MXBytecodeInterface final : BytecodeDialectInterface {
  explicit MXBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(kBytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number != kBytecodeVersion) {
      reader.emitError() << "expected mx bytecode of version "
                         << kBytecodeVersion << ", found " << number;
      return nullptr;
    }
    return std::make_unique<MXVersion>(number);
  }

  /// No release has written an older version that could be upgraded.
  LogicalResult upgradeFromVersion(Operation *,
                                   const DialectVersion &) const override {
    return success();
  }
};

} // namespace

void mx::addBytecodeInterface(MXDialect &dialect) {
  dialect.addInterfaces<MXBytecodeInterface>();
}
