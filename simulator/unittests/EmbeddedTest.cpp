//===- EmbeddedTest.cpp - PTX inside fatbins and ELF files ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tests build valid and damaged files byte by byte.
// test/Runtime/fatbin.test covers the output of nvcc and fatbinary.
//===----------------------------------------------------------------------===//

#include "image/Decompress.h"
#include "mxsim/Image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <vector>

using namespace mx::sim;

namespace {

constexpr uint16_t kCuda = 190;
enum : uint64_t { kLz4 = 0x2000, kZstd = 0x8000 };

template <typename T>
void append(std::string &out, const T &value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

std::string ptx(const char *target) {
  return std::string(".version 8.7\n.target ") + target +
         "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

std::string entry(uint16_t kind, uint32_t arch, std::string data,
                  uint64_t flags = 0, uint64_t uncompressed = 0) {
  std::string out;
  uint32_t compressed = flags ? data.size() : 0;
  data.resize((data.size() + 8) / 8 * 8);
  append<uint16_t>(out, kind);
  append<uint16_t>(out, 0x101);
  append<uint32_t>(out, 64);
  append<uint64_t>(out, data.size());
  append<uint32_t>(out, compressed);
  append<uint32_t>(out, 0);
  append<uint32_t>(out, 0x80007);
  append<uint32_t>(out, arch);
  append<uint64_t>(out, 0);
  append<uint64_t>(out, 0x11 | flags);
  append<uint64_t>(out, 0);
  append<uint64_t>(out, uncompressed);
  return out + data;
}

std::string fatbin(const std::string &entries) {
  std::string out;
  append<uint32_t>(out, 0xBA55ED50);
  append<uint32_t>(out, 0x00100001);
  append<uint64_t>(out, entries.size());
  return out + entries;
}

/// Returns an ELF file with a section of names and `count` sections that share
/// the same contents.
std::string elf(uint16_t machine, uint32_t flags, const char *name,
                const std::string &contents, uint16_t count = 1) {
  std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = machine;
  header.e_flags = flags;
  header.e_shnum = count + 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = sizeof(header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  sections[0].sh_type = SHT_STRTAB;
  sections[0].sh_offset = sizeof(header) + sections.size() * sizeof(Elf64_Shdr);
  sections[0].sh_size = names.size();
  for (size_t i = 1; i < sections.size(); ++i) {
    sections[i].sh_type = SHT_PROGBITS;
    sections[i].sh_name = 1;
    sections[i].sh_offset = sections[0].sh_offset + names.size();
    sections[i].sh_size = contents.size();
  }
  std::string out;
  append(out, header);
  for (const Elf64_Shdr &section : sections)
    append(out, section);
  return out + names + contents;
}

Image image(const std::string &bytes) {
  Image image;
  image.kind = bytes.compare(0, 4,
                             "\x7f"
                             "ELF")
                   ? Image::Fatbin
                   : Image::Cubin;
  image.bytes = bytes;
  image.name = "m";
  return image;
}

/// Returns the target of the PTX found, or the error message.
std::string unpack(const std::string &bytes) {
  Image found = image(bytes);
  std::string error = unpackPtx(found);
  if (!error.empty()) {
    return error;
  }
  EXPECT_EQ(found.kind, Image::Ptx);
  EXPECT_EQ(found.bytes, ptx(found.target.c_str()));
  return found.target;
}

TEST(Embedded, SelectsPtxForTheNewestArchitecture) {
  EXPECT_EQ(unpack(fatbin(entry(1, 90, ptx("sm_90a")))), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(1, 90, ptx("sm_90a")) +
                          entry(1, 100, ptx("sm_100a")) +
                          entry(1, 80, ptx("sm_80")))),
            "sm_100a");
  // An unknown kind is skipped.
  EXPECT_EQ(unpack(fatbin(entry(77, 120, "?") + entry(1, 90, ptx("sm_90")))),
            "sm_90");
}

TEST(Embedded, DecompressesLz4) {
  // The comment before the PTX is encoded as a match that overlaps itself and
  // whose length needs additional bytes.
  std::string text = ptx("sm_90a");
  std::string out = "/*" + std::string(600, '*') + "*/\n" + text;
  std::string data;
  // Two literals, then a match of length 601 = 4 + 15 + 2 * 255 + 72 at
  // distance 1.
  data += "\x2f/*";
  data += std::string("\x01\x00\xff\xff\x48", 5);
  std::string rest = "/\n" + text;
  data += '\xf0';
  data += char(rest.size() - 15);
  ASSERT_LT(rest.size() - 15, 255u);
  data += rest;
  std::string expanded(out.size(), '\0');
  EXPECT_EQ(decompressLz4(data, expanded), "");
  EXPECT_EQ(expanded, out);
  Image found = image(fatbin(entry(1, 90, data, kLz4, out.size())));
  EXPECT_EQ(unpackPtx(found), "");
  EXPECT_EQ(found.bytes, out);
  // Every damaged length is refused, regardless of the decoded data.
  for (size_t n = 0; n < data.size(); ++n) {
    std::string cut = data.substr(0, n), space(out.size(), '\0');
    EXPECT_NE(decompressLz4(cut, space), "") << n;
  }
  for (size_t n : {size_t(0), out.size() - 1, out.size() + 1}) {
    std::string space(n, '\0');
    EXPECT_NE(decompressLz4(data, space), "") << n;
  }
  std::string before("\x1fx\x02\x00", 4), space(100, '\0');
  EXPECT_NE(decompressLz4(before, space), "") << "a match before the beginning";
  std::string zero("\x1fx\x00\x00", 4);
  EXPECT_NE(decompressLz4(zero, space), "") << "a distance of zero";
}

TEST(Embedded, DecompressesZstandard) {
  if (!dlopen("libzstd.so.1", RTLD_NOW))
    GTEST_SKIP() << "there is no libzstd.so.1";
  // A frame of one raw block (RFC 8878, 3.1.1).
  std::string text = ptx("sm_90a");
  ASSERT_LT(text.size(), 256u);
  std::string data("\x28\xb5\x2f\xfd\x20", 5);
  data += char(text.size());
  uint32_t block = uint32_t(text.size()) << 3 | 1;
  data.append(reinterpret_cast<const char *>(&block), 3);
  data += text;
  EXPECT_EQ(unpack(fatbin(entry(1, 90, data, kZstd, text.size()))), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(1, 90, data, kZstd, text.size() + 1))),
            "m: fatbin at offset 0, entry at offset 0: expected " +
                std::to_string(text.size() + 1) +
                " bytes of Zstandard data, found " +
                std::to_string(text.size()));
  data[0] = 0;
  EXPECT_EQ(
      unpack(fatbin(entry(1, 90, data, kZstd, text.size()))).substr(0, 76),
      "m: fatbin at offset 0, entry at offset 0: the Zstandard data "
      "cannot be read:");
}

TEST(Embedded, FindsPtxInElfFiles) {
  std::string text = ptx("sm_90a"), lines = text;
  for (char &c : lines)
    c = c == '\n' ? '\0' : c;
  std::string cubin = elf(kCuda, 90 << 8, ".nv_debug_ptx_txt", lines);
  EXPECT_EQ(unpack(cubin), "sm_90a");
  EXPECT_EQ(unpack(fatbin(entry(2, 90, cubin))), "sm_90a");
  std::string module = fatbin(entry(1, 90, text));
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, ".nv_fatbin", module)), "sm_90a");
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, ".nv_fatbin", module + module)),
            "m: expected one module with PTX, found 2");
}

/// Returns LZ4 data for `bytes` newlines: one literal, then a match at distance
/// 1.
std::string newlines(size_t bytes) {
  size_t match = bytes - 1 - 16 - 4 - 15;
  std::string data("\x1f\n\x01\x00", 4);
  data += std::string(match / 255, '\xff') + char(match % 255);
  return data + "\xf0\x01" + std::string(16, '\n');
}

TEST(Embedded, RefusesNestedImages) {
  std::string found = ": expected machine code in a fatbin, found a fatbin "
                      "within it";
  // Every level is a host file. The stack must not grow with the depth.
  std::string nested = fatbin(entry(1, 90, ptx("sm_90a")));
  for (int depth = 0; depth < 200; ++depth)
    nested = fatbin(entry(2, 0, elf(EM_X86_64, 0, ".nv_fatbin", nested)));
  EXPECT_EQ(unpack(nested), "m: fatbin at offset 0, entry at offset 0" + found);
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, "__nv_relfatbin", nested)),
            "m: fatbin at offset 0, entry at offset 0" + found);
  // The deepest image written by nvcc is a host file with a fatbin with a
  // cubin.
  EXPECT_EQ(unpack(elf(EM_X86_64, 0, ".nv_fatbin",
                       fatbin(entry(2, 90,
                                    elf(kCuda, 90 << 8, ".nv_debug_ptx_txt",
                                        ptx("sm_90a")))))),
            "sm_90a");
}

TEST(Embedded, RefusesSectionsThatOverlap) {
  const char *overlap = "m: expected ELF sections with PTX or fatbins that do "
                        "not overlap, found overlapping sections";
  std::string lines(1 << 20, '\n');
  for (const char *name : {".nv_fatbin", "__nv_relfatbin", ".nv_debug_ptx_txt"})
    for (uint16_t count : {16, 0xfffe})
      EXPECT_EQ(unpack(elf(kCuda, 90 << 8, name, lines, count)), overlap)
          << name << " " << count;
  // Other sections may be damaged, because they are never read.
  EXPECT_EQ(unpack(elf(kCuda, 90 << 8, ".text", lines, 0xfffe)).substr(0, 60),
            "m: expected PTX for the simulator, found a cubin with code f");
  // A name without a terminator extends to the end of the file.
  EXPECT_EQ(
      unpack(elf(kCuda, 90 << 8, std::string(1 << 20, '.').c_str(), "", 0xfffe))
          .substr(0, 60),
      "m: expected PTX for the simulator, found a cubin with code f");
}

TEST(Embedded, LimitsTheTotalUnpackedSize) {
  constexpr size_t kBytes = 60 << 20;
  std::string data = newlines(kBytes), space(kBytes, '\0');
  ASSERT_EQ(decompressLz4(data, space), "");
  ASSERT_EQ(space.find_first_not_of('\n'), std::string::npos);
  std::string one = entry(1, 90, data, kLz4, kBytes);
  EXPECT_EQ(unpack(fatbin(one + one + one)),
            "m: fatbin at offset 0, entry at offset " +
                std::to_string(2 * one.size()) +
                ": expected at most 134217728 bytes uncompressed in all "
                "entries, found 62914560 after 125829120");
  std::string cubin = fatbin(entry(2, 90, data, kLz4, kBytes));
  EXPECT_EQ(unpack(cubin), "m: fatbin at offset 0, entry at offset 0: expected "
                           "a 64-bit little-endian ELF file");
  // A message lists only a few targets, no matter how many there are.
  std::string entries;
  for (int arch = 1; arch < 2000; ++arch)
    entries += entry(2, arch, elf(kCuda, 90 << 8, ".text", "code"));
  EXPECT_LT(unpack(fatbin(entries)).size(), 600u);
}

TEST(Embedded, RefusesBinariesInsteadOfPtx) {
  // The file has 5 bytes, so it contains no complete header.
  EXPECT_EQ(unpack(fatbin(entry(1, 90,
                                "\x7f"
                                "ELF\x02"))),
            "m: expected PTX text, found an ELF file in place of the text");
  EXPECT_EQ(unpack(fatbin(entry(1, 90, "\x50\xed\x55\xba\x01"))),
            "m: expected PTX text, found a fatbin in place of the text");
}

/// Reads an image of unknown size. The memory after the image is not part of
/// it.
Image readWithoutSize(const std::string &bytes) {
  Image found;
  std::string more = bytes + "what follows";
  std::string error = readImage(more.data(), 0, "m", found);
  EXPECT_EQ(error, "");
  return found;
}

TEST(Embedded, FindsTheSizeOfBinaries) {
  std::string text = ptx("sm_90a"), code = elf(kCuda, 90 << 8, ".text", text),
              binary = fatbin(entry(1, 90, text));
  EXPECT_EQ(readWithoutSize(code).bytes, code);
  EXPECT_EQ(readWithoutSize(code).kind, Image::Cubin);
  EXPECT_EQ(readWithoutSize(binary).bytes, binary);
  EXPECT_EQ(readWithoutSize(binary).kind, Image::Fatbin);

  // The section table is last, as in files written by nvcc. .bss occupies no
  // bytes in the file.
  Elf64_Ehdr header;
  memcpy(&header, code.data(), sizeof header);
  Elf64_Shdr bss = {};
  bss.sh_type = SHT_NOBITS;
  bss.sh_offset = code.size();
  bss.sh_size = 1 << 20;
  std::string table = code.substr(header.e_shoff, 2 * sizeof(Elf64_Shdr));
  append(table, bss);
  header.e_shoff = code.size();
  header.e_shnum = 3;
  memcpy(code.data(), &header, sizeof header);
  code += table;
  EXPECT_EQ(readWithoutSize(code).bytes, code);

  // A segment ends after all sections.
  Elf64_Phdr segment = {};
  segment.p_offset = code.size() + sizeof segment;
  segment.p_filesz = 100;
  header.e_phoff = code.size();
  header.e_phnum = 1;
  header.e_phentsize = sizeof segment;
  memcpy(code.data(), &header, sizeof header);
  append(code, segment);
  code += std::string(100, 'x');
  EXPECT_EQ(readWithoutSize(code).bytes, code);

  Image found;
  code[EI_CLASS] = ELFCLASS32;
  std::string error = readImage(code.data(), 0, "m", found);
  EXPECT_EQ(error, "m: expected a 64-bit little-endian ELF file");

  for (uint64_t size :
       {~uint64_t(0), ~uint64_t(0) / 2, (uint64_t(1) << 32) + 1}) {
    memcpy(&binary[8], &size, sizeof size);
    EXPECT_EQ(readImage(binary.data(), 0, "m", found),
              "m: expected a fatbin of at most 4294967296 bytes");
  }
}

TEST(Embedded, PrefersPtxWithLines) {
  std::string text = ptx("sm_90a");
  std::string source =
      entry(2, 90, elf(kCuda, 90 << 8, ".nv_debug_ptx_txt", text));
  Image alone = image(fatbin(source)),
        both = image(fatbin(entry(1, 90, text) + source));
  EXPECT_EQ(unpackPtx(alone) + unpackPtx(both), "");
  EXPECT_TRUE(alone.lacksLines && !both.lacksLines);
}

TEST(Embedded, SaysHowToGetPtx) {
  std::string how = "; PTX comes from nvcc -gencode arch=compute_XX,"
                    "code=compute_XX, nvcc -ptx, "
                    "gpu-module-to-binary{format=isa} and "
                    "gpu-lower-to-nvvm-pipeline=\"cubin-format=isa\"";
  std::string cubin = elf(kCuda, 90 << 8, ".text.k", "code");
  EXPECT_EQ(unpack(cubin), "m: expected PTX for the simulator, found a cubin "
                           "with code for sm_90 only" +
                               how);
  EXPECT_EQ(unpack(fatbin(entry(2, 90, cubin) + entry(2, 100, cubin))),
            "m: expected PTX for the simulator, found a fatbin with code for "
            "sm_90, sm_100 only" +
                how);
  EXPECT_EQ(unpack(fatbin("")), "m: expected PTX for the simulator, found a "
                                "fatbin without any" +
                                    how);
}

TEST(Embedded, RefusesDamagedFiles) {
  std::string good = fatbin(entry(1, 90, ptx("sm_90a"))),
              file = elf(kCuda, 90 << 8, ".nv_debug_ptx_txt", ptx("sm_90a"));
  for (const std::string &whole : {good, file})
    for (size_t n = 4; n < whole.size(); ++n) {
      Image cut = image(whole.substr(0, n));
      std::string error = unpackPtx(cut);
      // An image is accepted only if just the end of the PTX is missing. The
      // PTX parser reports this damage.
      if (error.empty()) {
        EXPECT_GT(n, whole.size() - ptx("sm_90a").size()) << n;
      }
    }
  const struct {
    size_t at;
    uint64_t value;
    const char *message;
  } cases[] = {
      {8, ~0ull, "m: fatbin at offset 0: expected 18446744073709551615 bytes"},
      {24, ~0ull,
       "m: fatbin at offset 0, entry at offset 0: expected a header "
       "and its data, found only "},
      {16, 1,
       "m: fatbin at offset 0, entry at offset 0: expected a header "
       "and its data, found only "},
      {56, kLz4,
       "m: fatbin at offset 0, entry at offset 0: the LZ4 data is "
       "not well formed"},
  };
  for (const auto &entry : cases) {
    std::string bad = good;
    memcpy(&bad[entry.at], &entry.value, 8);
    if (entry.value == kLz4)
      bad[72] = 100;
    Image damaged = image(bad);
    std::string text = unpackPtx(damaged);
    EXPECT_EQ(text.substr(0, strlen(entry.message)), entry.message) << text;
  }
  std::string huge = fatbin(entry(1, 90, "x", kLz4, 1ull << 40));
  EXPECT_EQ(unpack(huge),
            "m: fatbin at offset 0, entry at offset 0: expected at most "
            "134217728 bytes uncompressed in all entries, found 1099511627776");
}

} // namespace
