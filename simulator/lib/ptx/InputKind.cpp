//===- InputKind.cpp - Detection of input that is not PTX text ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passing a kernel in another language is a frequent mistake, and its first
// words reveal the language. Only the error message depends on this guess. None
// of these inputs starts with a directive, as PTX does.
//===----------------------------------------------------------------------===//

#include "mxsim/InputKind.h"

#include <cctype>

using namespace mx::sim;

static constexpr const char *kMachineCode =
    "the simulator does not run machine code; compile to PTX (nvcc --ptx), or "
    "extract the PTX from the image (cuobjdump --dump-ptx)";
static constexpr InputKind kCubin = {"a cubin or another ELF file",
                                     kMachineCode};
static constexpr InputKind kFatbin = {"a fatbin", kMachineCode};
static constexpr InputKind kArray = {
    "a NumPy array (.npy)", "name arrays as buffers in the launch file"};
static constexpr InputKind kJson = {
    "JSON", "kernels come first and the launch file last: mx-sim KERNEL.ptx "
            "LAUNCH.json"};
static constexpr InputKind kCuda = {
    "CUDA C++ source", "compile it with nvcc -ptx -arch=sm_90a -lineinfo"};
static constexpr InputKind kMlir = {
    "MLIR", "generate PTX with mx-opt --mx-to-nvvm=chip=sm_90a FILE | "
            "mx-translate --mx-to-ptx"};
static constexpr InputKind kLlvm = {
    "LLVM IR", "compile it with llc -march=nvptx64 -mcpu=sm_90a"};

namespace {

struct Beginning {
  std::string_view text;
  const InputKind *kind;
};

} // namespace

/// Leading bytes of a file.
static constexpr Beginning kBytes[] = {
    {"\x7f"
     "ELF",
     &kCubin},
    {"\x50\xed\x55\xba", &kFatbin},
    {"\x93NUMPY", &kArray},
    {"BC\xc0\xde", &kLlvm},
};

/// First word after spaces and comments.
static constexpr Beginning kWords[] = {
    {"{", &kJson},
    {"[", &kJson},
    {"#include", &kCuda},
    {"#define", &kCuda},
    {"#pragma", &kCuda},
    {"#if", &kCuda},
    {"#ifdef", &kCuda},
    {"#ifndef", &kCuda},
    {"#undef", &kCuda},
    {"__global__", &kCuda},
    {"__device__", &kCuda},
    {"__host__", &kCuda},
    {"__constant__", &kCuda},
    {"__shared__", &kCuda},
    {"extern", &kCuda},
    {"template", &kCuda},
    {"namespace", &kCuda},
    {"using", &kCuda},
    {"static", &kCuda},
    {"inline", &kCuda},
    {"constexpr", &kCuda},
    {"const", &kCuda},
    {"struct", &kCuda},
    {"class", &kCuda},
    {"enum", &kCuda},
    {"typedef", &kCuda},
    {"void", &kCuda},
    {"module", &kMlir},
    {"builtin.module", &kMlir},
    {"\"builtin.module\"", &kMlir},
    {"gpu.module", &kMlir},
    {"func.func", &kMlir},
    {"llvm.func", &kMlir},
    {";", &kLlvm},
    {"source_filename", &kLlvm},
    {"define", &kLlvm},
    {"declare", &kLlvm},
};

static std::string_view afterComments(std::string_view text) {
  auto from = [&](std::string_view what, size_t begin) {
    size_t at = text.find(what, begin);
    return at == text.npos ? std::string_view() : text.substr(at + what.size());
  };
  for (;;) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0])))
      text.remove_prefix(1);
    if (text.substr(0, 2) == "//")
      text = from("\n", 2);
    else if (text.substr(0, 2) == "/*")
      text = from("*/", 2);
    else
      return text;
  }
}

/// Returns the longest prefix of characters that may form a word in any of the
/// languages, or the first character if there is no such prefix.
static std::string_view firstWord(std::string_view text) {
  size_t end = 0;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) ||
          text[end] == '_' || text[end] == '.' || text[end] == '"' ||
          (end == 0 && (text[end] == '#' || text[end] == '!'))))
    ++end;
  return text.substr(0, end ? end : 1);
}

bool mx::sim::beginsAsPtx(std::string_view text) {
  return afterComments(text).substr(0, 1) == ".";
}

const InputKind *mx::sim::kindOfOtherInput(std::string_view text) {
  for (const Beginning &b : kBytes)
    if (text.substr(0, b.text.size()) == b.text)
      return b.kind;
  text = afterComments(text);
  std::string_view word = firstWord(text);
  for (const Beginning &b : kWords)
    if (word == b.text)
      return b.kind;
  // MLIR may begin with an alias of an attribute (#map = ...) or of a type
  // (!pair = ...).
  std::string_view rest = text.substr(word.size());
  while (!rest.empty() && rest[0] == ' ')
    rest.remove_prefix(1);
  bool isAlias = word.size() > 1 && (word[0] == '#' || word[0] == '!') &&
                 rest.substr(0, 1) == "=";
  return isAlias ? &kMlir : nullptr;
}
