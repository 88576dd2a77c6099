//===- Arrays.cpp - Array forms of MLIR types -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Arrays/Arrays.h"
#include "mx/Dialect/MX/IR/MXLayouts.h"
#include "mx/Dialect/Shared/ElementBits.h"
#include "mx/Support/FloatArguments.h"
#include "mxsim/io/OutputFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mx;

namespace {

class StatusError : public llvm::ErrorInfo<StatusError, llvm::StringError> {
public:
  static char ID;
  StatusError(const llvm::Twine &message, ExitStatus status)
      : ErrorInfo(message, llvm::inconvertibleErrorCode()), status(status) {}
  const ExitStatus status;
};
char StatusError::ID;

} // namespace

llvm::Error mx::makeError(const llvm::Twine &message, ExitStatus status) {
  return llvm::make_error<StatusError>(message, status);
}

llvm::Error mx::writeFile(const llvm::Twine &path, StringRef text) {
  std::string why = writeOutputFile(path.str(), {text});
  return why.empty() ? llvm::Error::success() : makeError(why);
}

llvm::Error mx::writeFile(StringRef directory, const llvm::Twine &name,
                          StringRef text) {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, name);
  return writeFile(path, text);
}

ExitStatus mx::getExitStatus(const llvm::Error &error) {
  ExitStatus status = kExitClean;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    status = info.isA<StatusError>()
                 ? static_cast<const StatusError &>(info).status
                 : kExitBadInput;
  });
  return status;
}

std::string ArrayType::str() const {
  std::string text;
  for (int64_t extent : shape)
    text += (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent)) +
            std::string("x");
  return text + dtype;
}

/// Returns the dtype of an element, or an empty string.
static std::string getDtype(Type type) {
  if (type.isIndex())
    return "i8";
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 1)
      return "b1";
    if (width != 8 && width != 16 && width != 32 && width != 64)
      return "";
    return (integer.isUnsigned() ? "u" : "i") + std::to_string(width / 8);
  }
  if (type.isF16())
    return "f2";
  if (type.isF32())
    return "f4";
  if (type.isF64())
    return "f8";
  if (type.isBF16())
    return "u2";
  // Formats of at most eight bits store a code per byte; fp4 packs two codes
  // per byte. Formats of other dialects may be wider.
  auto format = dyn_cast<FloatType>(type);
  if (format && format.getWidth() <= 8)
    return "u1";
  IntegerType bits = getBitsOfForeignFloat(type);
  return bits ? getDtype(IntegerType::get(type.getContext(), bits.getWidth(),
                                          IntegerType::Unsigned))
              : "";
}

llvm::Expected<ArrayType> mx::getArrayType(Type type) {
  auto describe = [&] {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  // Tensors are lowered to memrefs.
  auto memref = dyn_cast<MemRefType>(type);
  bool isArray =
      memref && memref.getLayout().isIdentity() && !memref.getMemorySpace();
  auto tensor = isArray ? RankedTensorType::get(memref.getShape(),
                                                memref.getElementType())
                        : dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  ArrayType array;
  array.dtype = getDtype(element);
  array.isScalar = !tensor;
  bool isNarrowScalar =
      !tensor && isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 16;
  if (isa<BaseMemRefType>(type) && !isArray)
    return makeError("expected a memref of known rank with identity layout and "
                     "no memory space, found " +
                     describe() +
                     ": write the function on tensors, which become buffers "
                     "when it is compiled");
  if (array.dtype.empty() || isNarrowScalar)
    return makeError("expected a ranked tensor or a number, found " +
                     describe() +
                     ": arrays have integers of 1, 8, 16, 32 and 64 bits, "
                     "index, f16, bf16, f32, f64 and, as tensors, floats of 8 "
                     "bits and fewer");
  if (!tensor)
    return array;
  array.shape = llvm::to_vector(getMaterializedType(tensor).getShape());
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 4) {
    array.packing = 2;
    if (array.shape.empty() || array.shape.back() % 2 != 0)
      if (array.shape.empty() || !ShapedType::isDynamic(array.shape.back()))
        return makeError("expected an even last dimension, since 4-bit "
                         "elements are packed two per byte, found " +
                         describe());
    if (!ShapedType::isDynamic(array.shape.back()))
      array.shape.back() /= 2;
  }
  return array;
}

llvm::Error mx::checkArray(const ArrayType &type, const NpyArray &array) {
  return checkArray(type, "", array);
}

llvm::Error mx::checkArray(const ArrayType &type, llvm::StringRef name,
                           const NpyArray &array) {
  bool same =
      (type.dtype == array.dtype || convertsFloats(name, array.dtype)) &&
      type.shape.size() == array.shape.size();
  for (size_t i = 0; same && i < type.shape.size(); ++i)
    same =
        ShapedType::isDynamic(type.shape[i]) || type.shape[i] == array.shape[i];
  if (same)
    return llvm::Error::success();
  return makeError("expected " + type.str() + ", found " +
                   npyTypeString(array) + adviseOnFloats(name, array.dtype));
}
