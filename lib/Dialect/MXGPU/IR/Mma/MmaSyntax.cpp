//===- MmaSyntax.cpp - Syntax of matrix instructions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written by hand because generated parsers print C++ types in errors.
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Target/Wgmma.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {

/// Named size of an instruction, such as `n = 128`.
struct Size {
  StringRef name;
  int64_t &value;
  bool mayBeAbsent = false;
  bool isThere = false;
};

std::string listNames(ArrayRef<Size> sizes) {
  std::string names;
  for (const Size &size : sizes)
    names += (names.empty() ? "" : ", ") + size.name.str();
  return names;
}

/// Parses sizes in any order, separated by commas.
ParseResult parseSizes(AsmParser &parser, MutableArrayRef<Size> sizes) {
  auto parseSize = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (failed(parser.parseOptionalKeyword(&name)))
      return parser.emitError(loc, "expected one of ") << listNames(sizes);
    Size *size =
        llvm::find_if(sizes, [&](Size &size) { return size.name == name; });
    if (size == sizes.end())
      return parser.emitError(loc, "expected one of ")
             << listNames(sizes) << ", found " << name;
    if (size->isThere)
      return parser.emitError(loc, "expected ") << name << " once";
    size->isThere = true;
    if (parser.parseEqual())
      return failure();
    loc = parser.getCurrentLocation();
    if (OptionalParseResult result = parser.parseOptionalInteger(size->value);
        result.has_value())
      return *result;
    return parser.emitError(loc, "expected a number as ") << name;
  };
  if (parser.parseCommaSeparatedList(parseSize))
    return failure();
  for (const Size &size : sizes)
    if (!size.isThere && !size.mayBeAbsent)
      return parser.emitError(parser.getCurrentLocation(), "expected ")
             << size.name << " = number";
  return success();
}

ParseResult parseKind(AsmParser &parser, MmaKind &kind) {
  FailureOr<MmaKind> parsed = FieldParser<MmaKind>::parse(parser);
  if (failed(parsed))
    return failure();
  kind = *parsed;
  return success();
}

} // namespace

/// Defaults, which are not printed.
static constexpr int64_t kCtas = 1, kWarpgroups = 1, kWarps = 1,
                         kFirstScale = 0;
static int64_t getUsualBlock(MmaKind kind) {
  return kind == MmaKind::F16 ? 0 : 32;
}

Attribute WgmmaAttr::parse(AsmParser &parser, Type) {
  int64_t m = target::kWgmmaM, n = 0, k = 0, warpgroups = kWarpgroups;
  Size sizes[] = {{"m", m, /*mayBeAbsent=*/true},
                  {"n", n},
                  {"k", k},
                  {"warpgroups", warpgroups, /*mayBeAbsent=*/true}};
  if (parser.parseLess() || parseSizes(parser, sizes) || parser.parseGreater())
    return {};
  return parser.getChecked<WgmmaAttr>(parser.getContext(), m, n, k, warpgroups);
}

void WgmmaAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (getM() != target::kWgmmaM)
    printer << "m = " << getM() << ", ";
  printer << "n = " << getN() << ", k = " << getK();
  if (getWarpgroups() != kWarpgroups)
    printer << ", warpgroups = " << getWarpgroups();
  printer << '>';
}

Attribute Tcgen05MmaAttr::parse(AsmParser &parser, Type) {
  MmaKind kind{};
  int64_t m = 0, n = 0, ctas = kCtas, block = 0;
  Size sizes[] = {{"m", m},
                  {"n", n},
                  {"ctas", ctas, /*mayBeAbsent=*/true},
                  {"block", block, /*mayBeAbsent=*/true}};
  if (parser.parseLess() || parseKind(parser, kind) || parser.parseComma())
    return {};
  block = getUsualBlock(kind);
  if (parseSizes(parser, sizes) || parser.parseGreater())
    return {};
  return parser.getChecked<Tcgen05MmaAttr>(parser.getContext(), kind, m, n,
                                           ctas, block);
}

void Tcgen05MmaAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyMmaKind(getKind()) << ", m = " << getM()
          << ", n = " << getN();
  if (getCtas() != kCtas)
    printer << ", ctas = " << getCtas();
  if (getBlock() != getUsualBlock(getKind()))
    printer << ", block = " << getBlock();
  printer << '>';
}

Attribute MmaSyncAttr::parse(AsmParser &parser, Type) {
  MmaKind kind{};
  int64_t m = 0, n = 0, warps = kWarps, columnWarps = kWarps, block = 0,
          firstScale = kFirstScale;
  Size sizes[] = {{"m", m},
                  {"n", n},
                  {"warps", warps, /*mayBeAbsent=*/true},
                  {"column_warps", columnWarps, /*mayBeAbsent=*/true},
                  {"block", block, /*mayBeAbsent=*/true},
                  {"first_scale", firstScale, /*mayBeAbsent=*/true}};
  if (parser.parseLess() || parseKind(parser, kind) || parser.parseComma())
    return {};
  block = getUsualBlock(kind);
  if (parseSizes(parser, sizes) || parser.parseGreater())
    return {};
  return parser.getChecked<MmaSyncAttr>(parser.getContext(), kind, m, n, warps,
                                        columnWarps, block, firstScale);
}

void MmaSyncAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyMmaKind(getKind()) << ", m = " << getM()
          << ", n = " << getN();
  for (auto [name, value, usual] :
       {std::tuple("warps", getWarps(), kWarps),
        std::tuple("column_warps", getColumnWarps(), kWarps),
        std::tuple("block", getBlock(), getUsualBlock(getKind())),
        std::tuple("first_scale", getFirstScale(), kFirstScale)})
    if (value != usual)
      printer << ", " << name << " = " << value;
  printer << '>';
}
