//===- MXDialect.cpp - Registration of the mx dialect ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "mx/Dialect/MX/IR/MX.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "mx/Dialect/MX/IR/MXDialect.cpp.inc"
#include "mx/Dialect/MX/IR/MXEnums.cpp.inc"

/// Parses an enum case. Generated parsers would print C++ types in errors.
template <typename EnumT>
static ParseResult parseKeyword(AsmParser &parser, EnumT &value) {
  FailureOr<EnumT> parsed = FieldParser<EnumT>::parse(parser);
  if (succeeded(parsed))
    value = *parsed;
  return failure(failed(parsed));
}

template <typename EnumT>
static void printKeyword(AsmPrinter &printer, EnumT value) {
  printer << stringifyEnum(value);
}

// g++ 12 falsely reports uninitialized fields in the generated parser of
// parameter structs.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define GET_ATTRDEF_CLASSES
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// Increased for every incompatible change of operands, properties or regions.
static constexpr uint64_t kBytecodeVersion = 6;

namespace {

// Bytecode contains the version of the dialect. An older reader can thus reject
// a newer file instead of misreading properties, and a newer reader can upgrade
// or reject an older file. Attributes are written as text.

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

  /// Does nothing, because readVersion rejects all other versions.
  LogicalResult upgradeFromVersion(Operation *,
                                   const DialectVersion &) const override {
    return success();
  }
};

/// Permits all inlining, because no operation depends on the enclosing
/// function.
struct MXInlinerInterface final : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void mx::MXDialect::initialize() {
  addInterfaces<MXInlinerInterface, MXBytecodeInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "mx/Dialect/MX/IR/MXAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "mx/Dialect/MX/IR/MXOps.cpp.inc"
      >();
}
