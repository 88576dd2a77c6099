//===- Npy.cpp - Reader and writer of NumPy files -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file consists of "\x93NUMPY", a version, the header length, a Python dict
// literal and the items (NumPy Enhancement Proposal 1, numpy.lib.format). The
// header is parsed strictly, and the file size is checked before memory is
// allocated.
//===----------------------------------------------------------------------===//

#include "mxsim/io/Npy.h"
#include "mxsim/io/InputFile.h"
#include "mxsim/io/Memory.h"
#include "mxsim/io/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/stat.h>

using namespace mx;

namespace {

struct ItemType {
  const char *name; // as written in the file, without the byte order
  const char *dtype;
  size_t size;
};

const ItemType kItemTypes[] = {
    {"b1", "b1", 1},
    {"i1", "i1", 1},
    {"i2", "i2", 2},
    {"i4", "i4", 4},
    {"i8", "i8", 8},
    {"u1", "u1", 1},
    {"u2", "u2", 2},
    {"u4", "u4", 4},
    {"u8", "u8", 8},
    {"f2", "f2", 2},
    {"f4", "f4", 4},
    {"f8", "f8", 8},
    {"c8", "c8", 8},
    {"c16", "c16", 16},
    // For float8 and bfloat16 arrays of ml_dtypes, np.save stores only the size
    // of the type.
    {"V1", "u1", 1},
    {"f1", "u1", 1},
    {"V2", "u2", 2},
};

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
/// Limit on the number of dimensions, the same as in NumPy 2.
constexpr size_t kMaxRank = 64;
/// Limit on the header length. A header with a plain dtype and 64 dimensions is
/// far shorter.
constexpr uint64_t kMaxHeader = 1 << 16;

struct FileCloser {
  void operator()(FILE *file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, FileCloser>;

/// Quotes the first 40 bytes of a text, with '?' for unprintable bytes.
std::string quoted(const std::string &text) {
  std::string out = "'";
  for (size_t i = 0; i < text.size() && i < 40; ++i)
    out += text[i] >= 32 && text[i] < 127 ? text[i] : '?';
  return out + (text.size() > 40 ? "...'" : "'");
}

/// Computes the number of bytes; returns false if it exceeds 63 bits.
bool byteCount(const std::vector<int64_t> &shape, size_t itemSize,
               uint64_t &bytes) {
  bytes = itemSize;
  bool zero = false;
  for (int64_t dim : shape) {
    zero |= dim == 0;
    if (dim != 0 && __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return false;
    if (bytes > uint64_t(INT64_MAX))
      return false;
  }
  if (zero)
    bytes = 0;
  return true;
}

/// Parser of the dict literal. Each step returns an error message or "".
class HeaderParser {
public:
  explicit HeaderParser(const std::string &text) : text(text) {}

  std::string parse() {
    if (!take('{'))
      return expected("'{'");
    while (!take('}')) {
      std::string key;
      if (std::string e = parseString(key); !e.empty())
        return e;
      if (!take(':'))
        return expected("':'");
      std::string e;
      if (key == "descr")
        e = parseDescr();
      else if (key == "fortran_order")
        e = parseBool();
      else if (key == "shape")
        e = parseShape();
      else
        return "expected header keys descr, fortran_order and shape, found " +
               quoted(key);
      if (!e.empty())
        return e;
      if (!take(',') && peek() != '}')
        return expected("',' or '}'");
    }
    if (peek() != 0)
      return expected("the end of the header");
    const char *missing = !haveDescr     ? "descr"
                          : !haveFortran ? "fortran_order"
                          : !haveShape   ? "shape"
                                         : nullptr;
    if (missing)
      return std::string("expected header key ") + missing + ", found none";
    return "";
  }

  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;

private:
  char peek() {
    while (pos < text.size() && strchr(" \t\r\n", text[pos]) && text[pos])
      ++pos;
    return pos < text.size() ? text[pos] : 0;
  }
  bool take(char c) {
    if (peek() != c)
      return false;
    ++pos;
    return true;
  }
  std::string expected(const std::string &what) {
    peek();
    return "expected " + what + " at header byte " + std::to_string(pos) +
           ", found " +
           (pos < text.size() ? quoted(text.substr(pos)) : "its end");
  }

  std::string parseString(std::string &value) {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return expected("a string");
    size_t end = text.find(quote, ++pos);
    if (end == std::string::npos)
      return expected("a closing quote");
    value = text.substr(pos, end - pos);
    pos = end + 1;
    return "";
  }

  std::string parseDescr() {
    haveDescr = true;
    if (peek() == '[' || peek() == '(')
      return "expected a plain dtype, found a structured one";
    return parseString(descr);
  }

  std::string parseBool() {
    haveFortran = true;
    peek();
    for (const char *word : {"True", "False"})
      if (text.compare(pos, strlen(word), word) == 0) {
        fortranOrder = word[0] == 'T';
        pos += strlen(word);
        return "";
      }
    return expected("True or False");
  }

  std::string parseShape() {
    haveShape = true;
    shape.clear();
    if (!take('('))
      return expected("'('");
    while (!take(')')) {
      peek();
      size_t start = pos;
      int64_t dim = 0;
      for (; pos < text.size() && text[pos] >= '0' && text[pos] <= '9'; ++pos)
        if (__builtin_mul_overflow(dim, int64_t(10), &dim) ||
            __builtin_add_overflow(dim, int64_t(text[pos] - '0'), &dim)) {
          pos = start;
          return expected("a dimension below 2^63");
        }
      if (pos == start)
        return expected("a dimension that is not negative");
      take('L'); // suffix of Python 2 long integers
      shape.push_back(dim);
      if (shape.size() > kMaxRank)
        return "expected at most 64 dimensions, found more";
      if (!take(',') && peek() != ')')
        return expected("',' or ')'");
    }
    return "";
  }

  const std::string &text;
  size_t pos = 0;
  bool haveDescr = false, haveFortran = false, haveShape = false;
};

/// Parses the dtype of a descr such as "<f4" or "|u1".
std::string parseDtype(const std::string &descr, std::string &dtype,
                       size_t &size) {
  const char *supported = "expected a little-endian dtype of b1, i1-i8, u1-u8, "
                          "f2, f4, f8, c8 or c16, found ";
  if (descr.size() < 2)
    return supported + quoted(descr);
  for (const ItemType &type : kItemTypes)
    if (descr.compare(1, std::string::npos, type.name) == 0) {
      bool anyOrder = type.size == 1 || type.name[0] == 'V';
      if (descr[0] == '>' && !anyOrder)
        return "expected little-endian data, found big-endian dtype " +
               quoted(descr);
      if (descr[0] != '<' && !(anyOrder && strchr("|>", descr[0])))
        break;
      dtype = type.dtype;
      size = type.size;
      return "";
    }
  if (descr.find('O') != std::string::npos)
    return "expected plain data, found object dtype " + quoted(descr);
  return supported + quoted(descr);
}

std::string readError(FILE *file, const std::string &what, uint64_t expected,
                      uint64_t found) {
  if (ferror(file))
    return "cannot read " + what + ": " + strerror(errno);
  return "expected " + std::to_string(expected) + " bytes of " + what +
         ", found " + std::to_string(found) + " (truncated file)";
}

/// Reads everything before the items.
std::string readHeader(FILE *file, HeaderParser &parser, std::string &text,
                       uint64_t &headerEnd) {
  unsigned char prefix[12] = {};
  size_t n = fread(prefix, 1, 10, file);
  if (n < kMagicSize || memcmp(prefix, kMagic, kMagicSize) != 0) {
    if (ferror(file))
      return std::string("cannot read: ") + strerror(errno);
    return "expected a .npy file starting with \\x93NUMPY, found " +
           (n == 0 ? std::string("an empty file")
                   : quoted(std::string((char *)prefix,
                                        n < kMagicSize ? n : kMagicSize)));
  }
  if (n < 10)
    return readError(file, "header prefix", 10, n);
  unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0)
    return "expected .npy version 1.0, 2.0 or 3.0, found " +
           std::to_string(major) + "." + std::to_string(minor);
  uint64_t length = prefix[8] | prefix[9] << 8;
  headerEnd = 10;
  if (major > 1) {
    n = fread(prefix + 10, 1, 2, file);
    if (n < 2)
      return readError(file, "header prefix", 12, 10 + n);
    length |= uint64_t(prefix[10]) << 16 | uint64_t(prefix[11]) << 24;
    headerEnd = 12;
  }
  if (length > kMaxHeader)
    return "expected a header of at most " + std::to_string(kMaxHeader) +
           " bytes, found a length of " + std::to_string(length);
  text.resize(length);
  n = fread(&text[0], 1, length, file);
  if (n < length)
    return readError(file, "header", length, n);
  headerEnd += length;
  return parser.parse();
}

std::string readItems(FILE *file, uint64_t headerEnd, uint64_t bytes,
                      std::vector<uint8_t> &data) {
  auto noMemory = [&] {
    return "no memory for the " + std::to_string(bytes) + " bytes of data";
  };
  // Check the size of a regular file before allocating.
  struct stat info;
  bool isRegular = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
  if (isRegular) {
    uint64_t size = info.st_size;
    uint64_t found = size < headerEnd ? 0 : size - headerEnd;
    if (found != bytes)
      return "expected " + std::to_string(bytes) +
             " bytes of data after the header, found " + std::to_string(found) +
             (found < bytes ? " (truncated file)" : " (trailing bytes)");
  }
  // The size of a pipe is unknown, so grow the array as data arrives.
  uint64_t chunk = isRegular ? bytes : 64 << 20;
  data.clear();
  for (uint64_t got = 0; got < bytes;) {
    uint64_t want = std::min(bytes - got, chunk);
    if (!tryResize(data, got + want))
      return noMemory();
    size_t n = fread(data.data() + got, 1, want, file);
    got += n;
    if (n < want)
      return readError(file, "data", bytes, got);
  }
  if (fgetc(file) != EOF)
    return "expected " + std::to_string(bytes) +
           " bytes of data after the header, found more (trailing bytes)";
  return "";
}

std::string readFile(FILE *file, NpyArray &array) {
  std::string text;
  HeaderParser header(text);
  uint64_t headerEnd = 0;
  std::string e = readHeader(file, header, text, headerEnd);
  if (!e.empty())
    return e;
  NpyArray result;
  size_t itemSize = 0;
  e = parseDtype(header.descr, result.dtype, itemSize);
  if (!e.empty())
    return e;
  // With at most one dimension above 1, C and Fortran order are equal.
  int wide = 0;
  for (int64_t dim : header.shape)
    wide += dim > 1;
  if (header.fortranOrder && wide > 1)
    return "expected C order, found Fortran: save numpy.ascontiguousarray(x)";
  result.shape = header.shape;
  uint64_t bytes = 0;
  if (!byteCount(result.shape, itemSize, bytes))
    return "expected an array below 2^63 bytes, found shape " +
           npyTypeString(result);
  e = readItems(file, headerEnd, bytes, result.data);
  if (!e.empty())
    return e + " for " + npyTypeString(result);
  if (result.dtype == "b1")
    normalizeBools(result.data.data(), result.data.size());
  array = std::move(result);
  return "";
}

/// Returns a header of version 1.0, padded so that the items start at a
/// multiple of 64 bytes.
std::string makeHeader(const NpyArray &array) {
  bool oneByte = npyItemSize(array.dtype) == 1;
  std::string dict = std::string("{'descr': '") + (oneByte ? "|" : "<") +
                     array.dtype + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : array.shape)
    dict += std::to_string(dim) + (array.shape.size() == 1 ? "," : ", ");
  if (array.shape.size() > 1)
    dict.erase(dict.size() - 2);
  dict += "), }";
  dict.append(63 - (kMagicSize + 4 + dict.size()) % 64, ' ');
  dict += '\n';
  std::string header(kMagic, kMagicSize);
  header += {'\1', '\0', char(dict.size() & 255), char(dict.size() >> 8)};
  return header + dict;
}

} // namespace

size_t mx::npyItemSize(const std::string &dtype) {
  for (const ItemType &type : kItemTypes)
    if (dtype == type.dtype)
      return type.size;
  return 0;
}

void mx::normalizeBools(void *bytes, size_t count) {
  uint8_t *byte = static_cast<uint8_t *>(bytes);
  std::transform(byte, byte + count, byte, [](uint8_t b) { return b != 0; });
}

std::string mx::npyTypeString(const NpyArray &array) {
  std::string out;
  for (int64_t dim : array.shape)
    out += std::to_string(dim) + "x";
  return out + array.dtype;
}

std::string mx::readNpy(const std::string &path, NpyArray &array) {
  if (std::string e = checkInputFile(path); !e.empty())
    return e;
  File file(fopen(path.c_str(), "rb"));
  if (!file)
    return path + ": cannot open: " + strerror(errno);
  std::string e = readFile(file.get(), array);
  return e.empty() ? "" : path + ": " + e;
}

std::string mx::writeNpy(const std::string &path, const NpyArray &array) {
  uint64_t bytes = 0;
  size_t itemSize = npyItemSize(array.dtype);
  if (itemSize == 0)
    return path + ": cannot write dtype " + quoted(array.dtype);
  if (array.shape.size() > kMaxRank)
    return path + ": expected at most 64 dimensions, found " +
           std::to_string(array.shape.size());
  for (int64_t dim : array.shape)
    if (dim < 0)
      return path + ": expected dimensions that are not negative, found " +
             npyTypeString(array);
  if (!byteCount(array.shape, itemSize, bytes) || bytes != array.data.size())
    return path + ": expected " + std::to_string(bytes) + " bytes for " +
           npyTypeString(array) + ", found " +
           std::to_string(array.data.size());
  return writeOutputFile(
      path, {makeHeader(array),
             {reinterpret_cast<const char *>(array.data.data()), bytes}});
}
