//===- Ptxas.cpp - Invocation of NVIDIA's assembler -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// simulator/scripts/find_ptxas.py searches the same locations.
//===----------------------------------------------------------------------===//

#include "Ptxas.h"
#include "mx/Arrays/Arrays.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <dlfcn.h>
#include <optional>

using llvm::ArrayRef;
using llvm::ErrorOr;
using llvm::Expected;
using llvm::FileRemover;
using llvm::MemoryBuffer;
using llvm::SmallString;
using llvm::SmallVector;
using llvm::StringRef;
namespace sys = llvm::sys;

namespace {

/// Temporary file, removed by the destructor.
class TemporaryFile {
public:
  explicit TemporaryFile(StringRef suffix) {
    error = sys::fs::createTemporaryFile("mx-compile", suffix, path);
    if (!error)
      remover.setFile(path);
  }
  std::error_code error;
  SmallString<128> path;

private:
  FileRemover remover;
};

std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

} // namespace

/// Runs `program` and returns its exit status, or -1 if execution fails.
static int execute(StringRef program, ArrayRef<StringRef> arguments,
                   std::string &output) {
  TemporaryFile log("log");
  if (log.error) {
    output = log.error.message();
    return -1;
  }
  SmallVector<StringRef> words = {program};
  words.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log.path),
                                          StringRef(log.path)};
  std::string error;
  int status =
      sys::ExecuteAndWait(program, words, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &error);
  output = error.empty() ? readFile(log.path) : error;
  return status;
}

/// Returns true if the help text contains a chip or option.
static bool knows(const std::string &ptxas, StringRef word) {
  std::string help;
  return sys::fs::can_execute(ptxas) && execute(ptxas, {"--help"}, help) == 0 &&
         StringRef(help).contains(word);
}

/// First CUDA version with a ptxas and drivers that support PTX 8.8 (PTX ISA,
/// release notes). Kernels use PTX 8.8 (feature +ptx88) on all chips.
constexpr unsigned kOldestCuda = 1209;

constexpr llvm::StringLiteral kTooOld =
    ": expected ptxas of CUDA 12.9 or newer, which reads PTX 8.8: pass its "
    "path, "
    "or none to let the driver assemble the kernels";

/// Returns true if ptxas is older than kOldestCuda. ptxas prints, for example,
/// "Cuda compilation tools, release 12.8, V12.8.93".
static bool isTooOld(const std::string &ptxas) {
  std::string text;
  if (execute(ptxas, {"--version"}, text))
    return false;
  StringRef release = StringRef(text).split("release ").second;
  unsigned major = 0, minor = 0;
  return !release.consumeInteger(10, major) && release.consume_front(".") &&
         !release.consumeInteger(10, minor) &&
         major * 100 + minor < kOldestCuda;
}

/// Adds NVIDIA's Python packages next to mx. Package names may have a version.
static void addPackaged(std::vector<std::string> &places) {
  Dl_info self;
  if (!dladdr(reinterpret_cast<void *>(&addPackaged), &self))
    return;
  // .../site-packages/mx_compiler/libmx.so
  SmallString<128> packages(self.dli_fname);
  sys::fs::make_absolute(packages);
  sys::path::remove_dots(packages, /*remove_dot_dot=*/true);
  sys::path::remove_filename(packages);
  sys::path::remove_filename(packages);
  sys::path::append(packages, "nvidia");
  std::vector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator it(packages, error), end;
       !error && it != end; it.increment(error))
    found.push_back(it->path() + "/bin/ptxas");
  llvm::sort(found, std::greater<>()); // cu13 before cu12
  places.insert(places.end(), found.begin(), found.end());
}

std::string mx::findPtxas(const std::string &name, const std::string &chip) {
  const char *variable = std::getenv("MX_PTXAS");
  std::string asked = !name.empty() ? name : variable ? variable : "";
  if (asked == "none")
    return "";
  if (!asked.empty()) {
    // A name without a slash is searched on PATH, as in a shell.
    ErrorOr<std::string> found = sys::findProgramByName(asked);
    return found ? *found : asked;
  }
  std::vector<std::string> places;
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    places.push_back(*found);
  if (const char *home = std::getenv("CUDA_HOME"))
    places.push_back(std::string(home) + "/bin/ptxas");
  addPackaged(places);
  places.push_back("/usr/local/cuda/bin/ptxas");
  for (const std::string &place : places)
    if (knows(place, chip) && !isTooOld(place))
      return place;
  return {};
}

/// Assembles `ptx` with additional options.
static Expected<std::string>
assembleWith(const std::string &ptxas, const std::string &chip,
             const std::string &ptx, ArrayRef<StringRef> more, StringRef path) {
  TemporaryFile input("ptx");
  if (input.error)
    return makeError("cannot make a temporary file: " + input.error.message());
  if (llvm::Error error = mx::writeFile(input.path, ptx))
    return error;
  std::string log, arch = "-arch=" + chip;
  SmallVector<StringRef> options = {arch, input.path, "-o", path};
  options.append(more.begin(), more.end());
  if (int status = execute(ptxas, options, log))
    return makeError(ptxas + ": " + StringRef(log).rtrim() +
                         (isTooOld(ptxas) ? kTooOld : ""),
                     status < 0 ? kExitBadInput : kExitFault);
  std::string cubin = readFile(path);
  if (cubin.empty())
    return makeError(ptxas + ": expected a cubin, found no bytes", kExitFault);
  return cubin;
}

Expected<std::string> mx::assemble(const std::string &ptxas,
                                   const std::string &chip,
                                   const std::string &ptx) {
  if (!sys::path::has_parent_path(ptxas))
    return makeError("expected the assembler '" + ptxas +
                     "' on PATH, found none: pass its path, or 'none'");
  TemporaryFile output("cubin");
  if (output.error)
    return makeError("cannot make a temporary file: " + output.error.message());
  // Compile kernels in parallel on all processors.
  constexpr llvm::StringLiteral kSplitCompile = "--split-compile";
  std::string split = kSplitCompile.str() + "=0";
  SmallVector<StringRef> more;
  if (knows(ptxas, kSplitCompile))
    more.push_back(split);
  return assembleWith(ptxas, chip, ptx, more, output.path);
}

static std::string findNvdisasm(const std::string &ptxas) {
  constexpr llvm::StringLiteral kName = "nvdisasm";
  if (const char *asked = std::getenv("MX_NVDISASM"); asked && *asked)
    return asked;
  if (ErrorOr<std::string> found = sys::findProgramByName(kName))
    return *found;
  SmallString<128> beside(sys::path::parent_path(ptxas));
  sys::path::append(beside, kName);
  return sys::fs::can_execute(beside) ? beside.str().str() : std::string();
}

Expected<MachineCodeTools> mx::findMachineCodeTools(const std::string &ptxas,
                                                    const std::string &chip) {
  constexpr llvm::StringLiteral kInstead =
      ", or derive prices from PTX with --ptxas=none";
  MachineCodeTools tools;
  tools.ptxas = findPtxas(ptxas, chip);
  if (!sys::fs::can_execute(tools.ptxas))
    return makeError("expected ptxas, which generates the machine code for "
                     "instruction prices, found none: name it with --ptxas" +
                     kInstead);
  tools.nvdisasm = findNvdisasm(tools.ptxas);
  if (!sys::fs::can_execute(tools.nvdisasm))
    return makeError("expected nvdisasm, which lists the machine code for "
                     "instruction prices, found " +
                     (tools.nvdisasm.empty() ? "none" : tools.nvdisasm) +
                     ": name it in MX_NVDISASM" + kInstead);
  return tools;
}

/// Removes .loc directives, so machine code refers to PTX lines.
static std::string withoutPlaces(StringRef ptx) {
  std::string text;
  for (StringRef rest = ptx; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    if (!line.ltrim().starts_with(".loc"))
      text += line;
    text += '\n';
    rest = after;
  }
  return text;
}

Expected<std::string> mx::listMachineCode(const MachineCodeTools &tools,
                                          const std::string &chip,
                                          const std::string &ptx) {
  TemporaryFile cubin("cubin");
  if (cubin.error)
    return makeError("cannot make a temporary file: " + cubin.error.message());
  Expected<std::string> bytes = assembleWith(
      tools.ptxas, chip, withoutPlaces(ptx), {"-lineinfo"}, cubin.path);
  if (!bytes)
    return bytes.takeError();
  std::string listing;
  if (execute(tools.nvdisasm, {"-hex", "-gp", "-c", cubin.path}, listing))
    return makeError(tools.nvdisasm + ": " + StringRef(listing).rtrim());
  return listing;
}
