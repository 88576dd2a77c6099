//===- Image.cpp - Module images and targets ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX is text with .version and .target directives, a cubin is an ELF file, and
// a fatbin starts with its own magic number. All three encode their size.
//===----------------------------------------------------------------------===//

#include "mxsim/Image.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <elf.h>

using namespace mx::sim;

namespace {
struct Target {
  int major = 0, minor = 0;
  char suffix = 0; // 0, 'a' or 'f'
};
} // namespace

static bool parseTarget(std::string_view text, Target &target) {
  if (text.substr(0, 3) != "sm_")
    return false;
  int number = 0;
  size_t i = 3;
  for (; i < text.size() && i < 7 && text[i] >= '0' && text[i] <= '9'; ++i)
    number = number * 10 + (text[i] - '0');
  if (i < 5)
    return false;
  if (i < text.size())
    target.suffix = text[i++];
  target.major = number / 10;
  target.minor = number % 10;
  return i == text.size() && (!target.suffix || strchr("af", target.suffix));
}

bool mx::sim::isTarget(std::string_view text) {
  Target target;
  return parseTarget(text, target);
}

bool mx::sim::targetRunsOn(std::string_view text, ComputeCapability chip) {
  auto [major, minor] = chip;
  Target target;
  if (!parseTarget(text, target))
    return false;
  if (target.suffix == 'a')
    return target.major == major && target.minor == minor;
  if (target.suffix == 'f')
    return target.major == major && target.minor <= minor;
  return target.major < major ||
         (target.major == major && target.minor <= minor);
}

/// Returns the text after a directive up to a blank or comma, without comments.
static std::string findDirective(const std::string &ptx, const char *name) {
  size_t size = strlen(name);
  for (size_t pos = 0; (pos = ptx.find_first_of("/.{", pos)) < ptx.size();) {
    if (ptx.compare(pos, 2, "//") == 0) {
      pos = ptx.find('\n', pos);
    } else if (ptx.compare(pos, 2, "/*") == 0) {
      pos = ptx.find("*/", pos);
      pos = pos == std::string::npos ? pos : pos + 2;
    } else if (ptx.compare(pos, size, name) == 0 && pos + size < ptx.size() &&
               isspace((unsigned char)ptx[pos + size])) {
      size_t begin = ptx.find_first_not_of(" \t\r\n", pos + size);
      if (begin == std::string::npos)
        return "";
      size_t end = ptx.find_first_of(" \t\r\n,", begin);
      return ptx.substr(begin, end - begin);
    } else if (ptx[pos] == '{') {
      break; // module directives precede the first body
    } else {
      ++pos;
    }
  }
  return "";
}

std::string mx::sim::targetOf(const std::string &ptx) {
  return findDirective(ptx, ".target");
}

template <typename T>
static T readAt(const char *data, uint64_t offset) {
  T value;
  memcpy(&value, data + offset, sizeof(T));
  return value;
}

/// Largest size that an image may encode.
constexpr uint64_t kMost = uint64_t(1) << 32;

/// Returns the size of an ELF file, including headers and contents, or 0 unless
/// the file is 64-bit, little-endian and at most `kMost` bytes long.
static uint64_t elfBytes(const char *data) {
  if (data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB)
    return 0;
  auto header = readAt<Elf64_Ehdr>(data, 0);
  if ((header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) ||
      (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)))
    return 0;
  uint64_t end = sizeof(header);
  auto cover = [&](uint64_t offset, uint64_t bytes) {
    end = std::max({end, offset, bytes, offset + bytes});
  };
  if (header.e_shoff > kMost || header.e_phoff > kMost)
    return 0;
  if (header.e_shnum)
    cover(header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    auto section =
        readAt<Elf64_Shdr>(data, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS)
      cover(section.sh_offset, section.sh_size);
  }
  if (header.e_phnum)
    cover(header.e_phoff, uint64_t(header.e_phnum) * sizeof(Elf64_Phdr));
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    auto segment =
        readAt<Elf64_Phdr>(data, header.e_phoff + i * sizeof(Elf64_Phdr));
    cover(segment.p_offset, segment.p_filesz);
  }
  return end <= kMost ? end : 0;
}

/// Returns the size of a fatbin, including the header, or 0 above `kMost`.
static uint64_t fatbinBytes(const char *data) {
  uint64_t bytes = readAt<uint64_t>(data, 8);
  return bytes > kMost ? 0 : readAt<uint16_t>(data, 6) + bytes;
}

std::string mx::sim::readImage(const void *data, size_t bytes, const char *name,
                               Image &image) {
  image.name = name && *name ? name : "module";
  const char *text = static_cast<const char *>(data);
  auto begins = [&](const char *magic) {
    return (bytes == 0 || bytes >= 4) && strncmp(text, magic, 4) == 0;
  };
  bool elf = begins(ELFMAG), fatbin = begins("\x50\xed\x55\xba");
  if (elf || fatbin) {
    if (bytes == 0)
      bytes = elf ? elfBytes(text) : fatbinBytes(text);
    if (bytes == 0)
      return image.name +
             (elf ? ": expected a 64-bit little-endian ELF file"
                  : ": expected a fatbin of at most 4294967296 bytes");
    image.kind = elf ? Image::Cubin : Image::Fatbin;
    image.bytes.assign(text, bytes);
    return {};
  }
  image.kind = Image::Ptx;
  image.bytes.assign(text, bytes ? strnlen(text, bytes) : strlen(text));
  std::string version = findDirective(image.bytes, ".version");
  image.target = targetOf(image.bytes);
  if (version.empty() || image.target.empty())
    return image.name + ": expected PTX text, a cubin or a fatbin, found " +
           std::to_string(bytes ? bytes : image.bytes.size()) +
           " bytes without " + (version.empty() ? ".version" : ".target");
  if (!isTarget(image.target))
    return image.name + ": expected a .target such as sm_90a, found '" +
           image.target.substr(0, 40) + "'";
  return {};
}
