//===- Header.cpp - C headers of compiled programs ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array is passed as a pointer to device memory, plus its shape if the type
// has dynamic extents. Number formats outside C are passed as bits.
//===----------------------------------------------------------------------===//

#include "CompileEntries.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mx;
using llvm::StringRef;

static StringRef getItemType(StringRef dtype) {
  return llvm::StringSwitch<StringRef>(dtype)
      .Case("b1", "uint8_t")
      .Case("i1", "int8_t")
      .Case("i2", "int16_t")
      .Case("i4", "int32_t")
      .Case("i8", "int64_t")
      .Case("u1", "uint8_t")
      .Cases({"u2", "f2"}, "uint16_t")
      .Case("u4", "uint32_t")
      .Case("u8", "uint64_t")
      .Case("f4", "float")
      .Case("f8", "double");
}

std::string mx::getIdentifier(const std::string &text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name.insert(0, "_");
  return name;
}

/// Escapes `text` for a C string literal.
static std::string escape(StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '"' || c == '\\')
      escaped += '\\';
    if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return escaped;
}

/// Makes `text` safe for a C comment.
static std::string comment(StringRef text) {
  std::string safe;
  for (char c : text) {
    if (c == '/' && !safe.empty() && safe.back() == '*')
      safe += ' ';
    safe += c;
  }
  return safe;
}

namespace {

/// Allocates parameter names that are valid, unused C identifiers.
class Names {
public:
  Names() {
    // C and C++ keywords that MLIR values may use as names, and names used by
    // the generated functions.
    for (StringRef word :
         {"alignas",  "alignof",   "and",       "asm",
          "auto",     "bool",      "break",     "case",
          "catch",    "char",      "class",     "const",
          "continue", "default",   "delete",    "do",
          "double",   "else",      "enum",      "explicit",
          "export",   "extern",    "false",     "float",
          "for",      "friend",    "goto",      "if",
          "inline",   "int",       "long",      "mutable",
          "new",      "not",       "operator",  "or",
          "private",  "public",    "register",  "restrict",
          "return",   "short",     "signed",    "sizeof",
          "static",   "struct",    "switch",    "template",
          "this",     "throw",     "true",      "try",
          "typedef",  "typename",  "union",     "unsigned",
          "using",    "virtual",   "void",      "volatile",
          "while",    "xor",       "program",   "entry",
          "status",   "shape",     "bytes",     "stream",
          "results",  "arguments", "workspace", "workspace_bytes"})
      taken.insert(word);
  }
  /// Reserves an unused identifier similar to `name`, and its shape's name.
  std::string take(const std::string &name) {
    std::string free = getIdentifier(name);
    while (taken.contains(free) || taken.contains(free + "_shape"))
      free += "_";
    taken.insert(free);
    taken.insert(free + "_shape");
    return free;
  }

private:
  llvm::StringSet<> taken;
};

class EntryWriter {
public:
  EntryWriter(const plan::Entry &entry, std::string name)
      : entry(entry), name(std::move(name)) {
    Names names;
    for (const plan::Argument &argument : entry.arguments)
      arguments.push_back(names.take(argument.name));
    for (const plan::Result &result : entry.results)
      results.push_back(names.take(result.name));
  }

  std::string write();

private:
  using Words = std::vector<std::string>;

  static bool hasShape(const plan::Argument &argument) {
    return llvm::is_contained(argument.shape, plan::kDynamic);
  }
  std::string describe() const;
  /// Returns strings like "mxProgram program", "float alpha".
  Words getParameters(bool withData) const;
  /// Returns code that sets up the argument array and the entry.
  std::string getPrologue(bool withData) const;
  /// Returns a function that calls `callee` of the runtime and appends `rest`.
  std::string writeFunction(const std::string &function,
                            const Words &parameters,
                            const std::string &prologue,
                            const std::string &callee,
                            const std::string &rest) const;

  const plan::Entry &entry;
  std::string name;
  std::vector<std::string> arguments, results;
};

std::string EntryWriter::describe() const {
  std::string text = entry.name + "(";
  for (size_t i = 0; i < arguments.size(); ++i)
    text +=
        (i ? ",\n *   " : "") + arguments[i] + ": " + entry.arguments[i].type;
  text += ") -> (";
  for (size_t i = 0; i < results.size(); ++i)
    text += (i ? ",\n *   " : "") + entry.results[i].type;
  return "/* " + comment(text) + ") */\n";
}

EntryWriter::Words EntryWriter::getParameters(bool withData) const {
  Words words = {"mxProgram program"};
  for (auto [argument, id] : llvm::zip(entry.arguments, arguments)) {
    std::string type = getItemType(argument.dtype).str();
    if (argument.isNumber)
      words.push_back(type + " " + id);
    else if (withData)
      words.push_back(type + " *" + id);
    if (hasShape(argument))
      words.push_back("const int64_t " + id + "_shape[" +
                      std::to_string(argument.shape.size()) + "]");
  }
  return words;
}

std::string EntryWriter::getPrologue(bool withData) const {
  std::string text;
  Words values;
  for (auto [argument, id] : llvm::zip(entry.arguments, arguments)) {
    bool isShapeless = argument.isNumber || argument.shape.empty();
    if (!isShapeless && !hasShape(argument))
      text += "  static const int64_t " + id + "_shape[] = {" +
              llvm::join(llvm::map_range(argument.shape,
                                         [](int64_t extent) {
                                           return std::to_string(extent);
                                         }),
                         ", ") +
              "};\n";
    values.push_back("{sizeof(mxArgument), " +
                     (argument.isNumber ? "(void *)&" + id
                      : withData        ? "(void *)" + id
                                        : "NULL") +
                     ", " + (isShapeless ? "NULL" : id + "_shape") + "}");
  }
  // C does not allow empty arrays.
  if (values.empty())
    values.push_back("{sizeof(mxArgument), NULL, NULL}");
  return text + "  const mxArgument arguments[] = {\n      " +
         llvm::join(values, ",\n      ") + "};\n";
}

/// Joins words with commas, in lines of at most 80 characters.
static std::string wrap(llvm::ArrayRef<std::string> words) {
  constexpr size_t kIndent = 4, kWidth = 80;
  std::string text;
  size_t column = kIndent;
  for (const std::string &word : words) {
    bool isFirst = text.empty();
    bool breaks = !isFirst && column + word.size() + 2 > kWidth;
    text += isFirst ? "" : breaks ? ",\n    " : ", ";
    column = (breaks ? kIndent : column + 2) + word.size();
    text += word;
  }
  return text;
}

std::string EntryWriter::writeFunction(const std::string &function,
                                       const Words &parameters,
                                       const std::string &prologue,
                                       const std::string &callee,
                                       const std::string &rest) const {
  return "static inline int " + function + "(\n    " + wrap(parameters) +
         ") {\n" + prologue +
         "  mxEntry entry;\n"
         "  int status = mxProgramGetEntry(&entry, program, \"" +
         escape(entry.name) +
         "\");\n  return status ? status\n                : " + callee +
         "(entry, arguments, " + std::to_string(entry.arguments.size()) + ", " +
         rest + ");\n}\n\n";
}

std::string EntryWriter::write() {
  std::string text = describe();
  std::string prologue = getPrologue(/*withData=*/false);
  auto withShapes = [&](const std::string &last) {
    Words words = getParameters(/*withData=*/false);
    words.push_back(last);
    return words;
  };
  text += writeFunction(name + "_workspace_bytes", withShapes("size_t *bytes"),
                        prologue, "mxEntryGetWorkspaceBytes", "bytes");
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t rank = entry.results[i].shape.size();
        rank && !entry.results[i].isTaken)
      text += writeFunction(
          name + "_" + results[i] + "_shape",
          withShapes("int64_t shape[" + std::to_string(rank) + "]"), prologue,
          "mxEntryGetResultShape", std::to_string(i) + ", shape");
  Words parameters = getParameters(/*withData=*/true), addresses;
  for (auto [result, id] : llvm::zip(entry.results, results)) {
    // Pass the address of the result, or of an mxTakenMemory that receives the
    // allocated memory and its shape.
    parameters.push_back(
        (result.isTaken ? "mxTakenMemory" : getItemType(result.dtype).str()) +
        " *" + id);
    addresses.push_back(id);
  }
  if (addresses.empty())
    addresses.push_back("NULL");
  for (const char *last :
       {"void *workspace", "size_t workspace_bytes", "mxStream stream"})
    parameters.push_back(last);
  prologue = getPrologue(/*withData=*/true) + "  void *const results[] = {" +
             llvm::join(addresses, ", ") + "};\n";
  return text + writeFunction(name, parameters, prologue, "mxEntryLaunch",
                              "results, " + std::to_string(results.size()) +
                                  ",\n                                "
                                  "workspace, workspace_bytes, stream");
}

} // namespace

std::string mx::writeHeader(const plan::Manifest &manifest,
                            const std::string &prefix) {
  std::string guard = "MX_COMPILED_" + StringRef(prefix).upper() + "_H";
  std::string text =
      "/* Generated by mx-compile. manifest.json lists the launches.\n"
      " *\n"
      " * PREFIX_ENTRY launches an entry of a program that mxProgramLoad\n"
      " * loaded from this directory. Arrays are in device memory; bf16, f16\n"
      " * and narrower numbers are passed as bits.\n"
      " * PREFIX_ENTRY_workspace_bytes computes the size of the workspace,\n"
      " * which must be aligned to 256 bytes. All functions return an\n"
      " * mxStatus. */\n"
      "#ifndef " +
      guard + "\n#define " + guard +
      "\n\n#include \"mx_program.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n"
      "#endif\n\n";
  for (size_t at = 0; (at = text.find("PREFIX", at)) != std::string::npos;)
    text.replace(at, 6, prefix);
  for (const plan::Entry &entry : manifest.entries)
    text +=
        EntryWriter(entry, prefix + "_" + getIdentifier(entry.name)).write();
  return text + "#ifdef __cplusplus\n}\n#endif\n\n#endif /* " + guard + " */\n";
}
