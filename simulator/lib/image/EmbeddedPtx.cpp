//===- EmbeddedPtx.cpp - PTX inside fatbins and ELF files -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fatbin is a header and a chain of entries with headers. NVIDIA documents
// the outer header (fatbinary_section.h); the rest was derived from output of
// fatbinary 13.0 in all compression modes. Input is untrusted: sizes are
// checked, and time and memory are linear in the file size and `kMaxBytes`.
//===----------------------------------------------------------------------===//

#include "Decompress.h"

#include "mxsim/Image.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <vector>

using namespace mx::sim;

namespace {

constexpr uint32_t kFatbinMagic = 0xBA55ED50;

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bytes; ///< size without the header
};

struct FatbinEntry {
  enum Kind : uint16_t { Ptx = 1, Elf = 2 };
  enum Flag : uint64_t { Lz4 = 0x2000, Zstd = 0x8000 };
  uint16_t kind;
  uint16_t version;
  uint32_t headerBytes;
  uint64_t bytes; ///< payload size, padded to 8
  uint32_t compressedBytes;
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t arch; ///< 90 for sm_90
  uint32_t nameOffset, nameBytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressedBytes;
};
static_assert(sizeof(FatbinHeader) == 16 && sizeof(FatbinEntry) == 64, "");

/// Limit on the unpacked data of an image, larger than any module.
constexpr uint64_t kMaxBytes = 128u << 20;
/// Limit on the architectures listed in messages.
constexpr size_t kMaxTargets = 16;

/// Reads a T; returns false past the end.
template <typename T>
bool readAt(std::string_view data, uint64_t offset, T &value) {
  if (offset > data.size() || sizeof(T) > data.size() - offset)
    return false;
  memcpy(&value, data.data() + offset, sizeof(T));
  return true;
}

bool slice(std::string_view data, uint64_t offset, uint64_t bytes,
           std::string_view &part) {
  if (offset > data.size() || bytes > data.size() - offset)
    return false;
  part = data.substr(offset, bytes);
  return true;
}

/// Collects the PTX of an image. Images nest at most two levels deep: a host
/// file contains fatbins, and a fatbin contains machine code.
class Search {
public:
  explicit Search(ComputeCapability chip) : chip(chip) {}
  /// Search one container; return "" or an error message.
  std::string fatbin(std::string_view data);
  std::string elf(std::string_view data, uint32_t arch, bool isInFatbin);

  /// PTX for the newest architecture, and the rank of its target, which is odd
  /// for PTX with files and lines.
  std::string ptx;
  uint32_t newest = 0;
  /// Number of fatbins with PTX, each a separate module.
  unsigned modules = 0;
  /// Targets of PTX that does not run on the chip.
  std::string others;
  /// Lists the targets of machine code: "sm_90, sm_100".
  std::string listTargets() const;

private:
  std::string entry(const FatbinEntry &entry, std::string_view payload);
  std::string unpack(const FatbinEntry &entry, std::string_view data,
                     std::string &buffer);
  void add(uint32_t arch, std::string_view text, bool isSource);

  const ComputeCapability chip;
  unsigned texts = 0;
  std::vector<uint32_t> targets; ///< unique
  uint64_t unpacked = 0;         ///< bytes of all entries so far
};

std::string Search::listTargets() const {
  std::string list;
  for (size_t i = 0; i < targets.size() && i < kMaxTargets; ++i)
    list += (i ? ", sm_" : "sm_") + std::to_string(targets[i]);
  return targets.size() > kMaxTargets ? list + ", ..." : list;
}

void Search::add(uint32_t arch, std::string_view view, bool isSource) {
  std::string text(view), target = targetOf(text);
  if (chip.major && !targetRunsOn(target, chip)) {
    others += (others.empty() ? "" : ", ") + target.substr(0, 40);
    return;
  }
  // Code for one chip is better than code for its family, and than other code;
  // the source of machine code lacks files and lines.
  size_t suffix =
      target.empty() ? 0 : std::string_view("fa").find(target.back()) + 1;
  uint32_t rank = 8 * arch + 2 * uint32_t(suffix) + !isSource;
  if (++texts == 1 || rank > newest) {
    ptx = std::move(text);
    newest = rank;
  }
}

std::string Search::unpack(const FatbinEntry &entry, std::string_view data,
                           std::string &buffer) {
  if (entry.compressedBytes > data.size())
    return "expected at most " + std::to_string(data.size()) +
           " compressed bytes, found " + std::to_string(entry.compressedBytes);
  if (entry.uncompressedBytes > kMaxBytes - unpacked)
    return "expected at most " + std::to_string(kMaxBytes) +
           " bytes uncompressed in all entries, found " +
           std::to_string(entry.uncompressedBytes) +
           (unpacked ? " after " + std::to_string(unpacked) : "");
  unpacked += entry.uncompressedBytes;
  data = data.substr(0, entry.compressedBytes);
  buffer.resize(entry.uncompressedBytes);
  return entry.flags & FatbinEntry::Lz4 ? decompressLz4(data, buffer)
                                        : decompressZstd(data, buffer);
}

std::string Search::entry(const FatbinEntry &entry, std::string_view payload) {
  bool isPtx = entry.kind == FatbinEntry::Ptx;
  if (!isPtx && entry.kind != FatbinEntry::Elf)
    return "";
  std::string buffer;
  if (entry.flags & (FatbinEntry::Lz4 | FatbinEntry::Zstd)) {
    if (std::string wrong = unpack(entry, payload, buffer); !wrong.empty())
      return wrong;
    payload = buffer;
  }
  if (!isPtx)
    return elf(payload, entry.arch, /*isInFatbin=*/true);
  // The text was padded with zeros before compression.
  add(entry.arch, payload.substr(0, payload.find('\0')), /*isSource=*/false);
  return "";
}

/// Searches a sequence of fatbins with padding in between.
std::string Search::fatbin(std::string_view data) {
  for (uint64_t begin = 0; begin < data.size();) {
    FatbinHeader header;
    if (!readAt(data, begin, header) || header.magic != kFatbinMagic) {
      begin += 8;
      continue;
    }
    std::string where = "fatbin at offset " + std::to_string(begin);
    std::string_view entries;
    if (header.headerBytes < sizeof(header) ||
        !slice(data, begin + header.headerBytes, header.bytes, entries))
      return where + ": expected " + std::to_string(header.bytes) +
             " bytes, found " + std::to_string(data.size() - begin);
    unsigned before = texts;
    for (uint64_t at = 0; at < entries.size();) {
      FatbinEntry e;
      std::string_view payload;
      std::string place = where + ", entry at offset " + std::to_string(at);
      if (!readAt(entries, at, e) || e.headerBytes < sizeof(e) ||
          !slice(entries, at + e.headerBytes, e.bytes, payload))
        return place + ": expected a header and its data, found only " +
               std::to_string(entries.size() - at) + " bytes";
      if (std::string wrong = entry(e, payload); !wrong.empty())
        return place + ": " + wrong;
      at += e.headerBytes + e.bytes;
    }
    modules += texts != before;
    begin += header.headerBytes + header.bytes;
  }
  return "";
}

/// Searches a cubin, or a host file that contains fatbins.
std::string Search::elf(std::string_view data, uint32_t arch, bool isInFatbin) {
  Elf64_Ehdr header;
  if (!readAt(data, 0, header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "expected a 64-bit little-endian ELF file";
  constexpr unsigned kCuda = 190;
  if (header.e_machine == kCuda && arch == 0)
    // The ABI version determines the layout of e_flags.
    arch = header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xFF
                                              : header.e_flags & 0xFF;
  if (header.e_machine == kCuda && targets.size() <= kMaxTargets &&
      std::find(targets.begin(), targets.end(), arch) == targets.end())
    targets.push_back(arch);
  auto section = [&](unsigned i, Elf64_Shdr &s) {
    return readAt(data, header.e_shoff + uint64_t(i) * sizeof(s), s);
  };
  Elf64_Shdr strings;
  std::string_view names;
  if (header.e_shoff > data.size() || !section(header.e_shstrndx, strings) ||
      !slice(data, strings.sh_offset, strings.sh_size, names))
    return "expected an ELF file with section names";
  uint64_t searched = 0;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr s;
    std::string_view contents;
    if (!section(i, s))
      return "expected " + std::to_string(header.e_shnum) +
             " ELF section headers, found " + std::to_string(i);
    auto isNamed = [&](std::string_view expected) {
      std::string_view found;
      return slice(names, s.sh_name, expected.size(), found) &&
             found == expected;
    };
    // Names include the terminating zero.
    bool isFatbin = isNamed(std::string_view(".nv_fatbin", 11)) ||
                    isNamed(std::string_view("__nv_relfatbin", 15)),
         isText = isNamed(std::string_view(".nv_debug_ptx_txt", 18));
    if ((!isFatbin && !isText) || s.sh_type == SHT_NOBITS ||
        !slice(data, s.sh_offset, s.sh_size, contents))
      continue;
    searched += contents.size();
    if (searched > data.size())
      return "expected ELF sections with PTX or fatbins that do not overlap, "
             "found overlapping sections";
    if (isFatbin && isInFatbin)
      return "expected machine code in a fatbin, found a fatbin within it";
    if (isFatbin) {
      if (std::string wrong = fatbin(contents); !wrong.empty())
        return wrong;
    } else {
      // Lines end in zeros instead of newlines.
      std::string text(contents);
      std::replace(text.begin(), text.end(), '\0', '\n');
      add(arch, text, /*isSource=*/true);
    }
  }
  return "";
}

} // namespace

std::string mx::sim::unpackPtx(Image &image, ComputeCapability chip) {
  bool isFatbin = image.kind == Image::Fatbin;
  Search search(chip);
  std::string wrong =
      isFatbin ? search.fatbin(image.bytes) : search.elf(image.bytes, 0, false);
  if (!wrong.empty())
    return image.name + ": " + wrong;
  if (search.modules > 1)
    return image.name + ": expected one module with PTX, found " +
           std::to_string(search.modules);
  std::string targets = search.listTargets();
  if (search.ptx.empty() && !search.others.empty())
    return image.name + ": expected PTX that runs on sm_" +
           std::to_string(10 * chip.major + chip.minor) + ", found PTX for " +
           search.others;
  if (search.ptx.empty())
    return image.name + ": expected PTX for the simulator, found a " +
           (isFatbin ? "fatbin" : "cubin") +
           (targets.empty() ? " without any"
                            : " with code for " + targets + " only") +
           "; PTX comes from nvcc -gencode arch=compute_XX,code=compute_XX, "
           "nvcc -ptx, gpu-module-to-binary{format=isa} and "
           "gpu-lower-to-nvvm-pipeline=\"cubin-format=isa\"";
  std::string text = std::move(search.ptx), name = image.name;
  // readImage() treats a size of 0 as NUL-terminated text.
  std::string error = readImage(text.data(), text.size(), name.c_str(), image);
  image.lacksLines = search.newest % 2 == 0;
  if (!error.empty() || image.kind == Image::Ptx)
    return error;
  return name + ": expected PTX text, found " +
         (image.kind == Image::Fatbin ? "a fatbin" : "an ELF file") +
         " in place of the text";
}
