//===- EmbeddedPtx.cpp - PTX inside fatbins and ELF files -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fatbin is a header and a chain of entries with a header each; NVIDIA
// documents the outer one (fatbinary_section.h), the rest was read off the
// output of fatbinary 13.0 in all its compression modes. Files come from
// anywhere, so every size is checked before it is used.
//===----------------------------------------------------------------------===//

#include "EmbeddedPtx.h"

#include "Decompress.h"
#include "Image.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <vector>

using namespace mx::runtime;

namespace {

constexpr uint32_t kFatbinMagic = 0xBA55ED50;

struct FatbinHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bytes; ///< after the header
};

struct FatbinEntry {
  enum Kind : uint16_t { Ptx = 1, Elf = 2 };
  enum Flag : uint64_t { Lz4 = 0x2000, Zstd = 0x8000 };
  uint16_t kind;
  uint16_t version;
  uint32_t headerBytes;
  uint64_t bytes; ///< of the payload, padded to 8
  uint32_t compressedBytes;
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t arch; ///< 90 is sm_90
  uint32_t nameOffset, nameBytes;
  uint64_t flags;
  uint64_t reserved;
  uint64_t uncompressedBytes;
};
static_assert(sizeof(FatbinHeader) == 16 && sizeof(FatbinEntry) == 64, "");

/// More than any module; what a damaged size asks for is not allocated.
constexpr uint64_t kMaxBytes = 256u << 20;

/// Reads a T; false past the end.
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

/// What was found so far.
class Search {
public:
  /// Each returns "" or what is wrong.
  std::string fatbin(std::string_view data);
  std::string elf(std::string_view data, uint32_t arch);

  /// The text for the newest architecture.
  std::string ptx;
  uint32_t newest = 0;
  /// Fatbins with PTX: each is a module of its own.
  unsigned modules = 0;
  /// "sm_90, sm_100": machine code.
  std::string code;

private:
  std::string entry(const FatbinEntry &entry, std::string_view payload);
  void add(uint32_t arch, std::string text);

  unsigned texts = 0;
};

void Search::add(uint32_t arch, std::string text) {
  if (++texts == 1 || arch > newest) {
    ptx = std::move(text);
    newest = arch;
  }
}

std::string Search::entry(const FatbinEntry &entry, std::string_view payload) {
  bool isPtx = entry.kind == FatbinEntry::Ptx;
  if (!isPtx && entry.kind != FatbinEntry::Elf)
    return "";
  std::string buffer;
  if (entry.flags & (FatbinEntry::Lz4 | FatbinEntry::Zstd)) {
    if (entry.compressedBytes > payload.size())
      return "expected at most " + std::to_string(payload.size()) +
             " compressed bytes, found " +
             std::to_string(entry.compressedBytes);
    if (entry.uncompressedBytes > kMaxBytes)
      return "expected at most " + std::to_string(kMaxBytes) +
             " bytes uncompressed, found " +
             std::to_string(entry.uncompressedBytes);
    payload = payload.substr(0, entry.compressedBytes);
    buffer.resize(entry.uncompressedBytes);
    std::string wrong = entry.flags & FatbinEntry::Lz4
                            ? decompressLz4(payload, buffer)
                            : decompressZstd(payload, buffer);
    if (!wrong.empty())
      return wrong;
    payload = buffer;
  }
  if (!isPtx)
    return elf(payload, entry.arch);
  // Padded with zeros, and compressed together with them.
  add(entry.arch, std::string(payload.substr(0, payload.find('\0'))));
  return "";
}

/// One fatbin, or several one after the other with padding between.
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

/// A cubin, or a file of the host with fatbins in it.
std::string Search::elf(std::string_view data, uint32_t arch) {
  Elf64_Ehdr header;
  if (!readAt(data, 0, header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return "expected a 64-bit little-endian ELF file";
  constexpr unsigned kCuda = 190;
  if (header.e_machine == kCuda && arch == 0)
    // The layout of e_flags depends on the version of the ABI.
    arch = header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xFF
                                              : header.e_flags & 0xFF;
  if (header.e_machine == kCuda)
    code += (code.empty() ? "sm_" : ", sm_") + std::to_string(arch);
  auto section = [&](unsigned i, Elf64_Shdr &s) {
    return readAt(data, header.e_shoff + uint64_t(i) * sizeof(s), s);
  };
  Elf64_Shdr strings;
  std::string_view names;
  if (header.e_shoff > data.size() || !section(header.e_shstrndx, strings) ||
      !slice(data, strings.sh_offset, strings.sh_size, names))
    return "expected an ELF file with section names";
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr s;
    std::string_view contents;
    if (!section(i, s))
      return "expected " + std::to_string(header.e_shnum) +
             " ELF section headers, found " + std::to_string(i);
    if (s.sh_name >= names.size() || s.sh_type == SHT_NOBITS ||
        !slice(data, s.sh_offset, s.sh_size, contents))
      continue;
    std::string_view name = names.substr(s.sh_name);
    name = name.substr(0, name.find('\0'));
    if (name == ".nv_fatbin" || name == "__nv_relfatbin") {
      if (std::string wrong = fatbin(contents); !wrong.empty())
        return wrong;
    } else if (name == ".nv_debug_ptx_txt") {
      // Lines end in zeros instead of newlines.
      std::string text(contents);
      std::replace(text.begin(), text.end(), '\0', '\n');
      add(arch, std::move(text));
    }
  }
  return "";
}

} // namespace

Error mx::runtime::unpackPtx(Image &image) {
  bool isFatbin = image.kind == Image::Fatbin;
  Search search;
  std::string wrong =
      isFatbin ? search.fatbin(image.bytes) : search.elf(image.bytes, 0);
  if (!wrong.empty())
    return {MX_ERROR_BAD_MODULE, image.name + ": " + wrong};
  if (search.modules > 1)
    return {MX_ERROR_BAD_MODULE, image.name +
                                     ": expected one module with PTX, found " +
                                     std::to_string(search.modules)};
  if (search.ptx.empty())
    return {MX_ERROR_BAD_MODULE,
            image.name + ": expected PTX for the simulator, found a " +
                (isFatbin ? "fatbin" : "cubin") +
                (search.code.empty()
                     ? std::string(" without any")
                     : " with code for " + search.code + " only") +
                "; PTX comes from gpu-module-to-binary{format=isa}, "
                "gpu-lower-to-nvvm-pipeline=\"cubin-format=isa\", "
                "nvcc -gencode arch=compute_XX,code=compute_XX and nvcc -ptx"};
  std::string text = std::move(search.ptx), name = image.name;
  return readImage(text.c_str(), 0, name.c_str(), image);
}
