# The one place that knows how mx builds a library, a tool and a unit test:
# include paths, warning flags, run paths and the shared libMLIR.

include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-exceptions)
# Other versions of a compiler warn of other things.
set(MX_GCC_WITHOUT_WARNINGS 12)
string(REGEX MATCH "^[0-9]+" _mx_compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
if(NOT MX_ENABLE_WERROR STREQUAL "AUTO")
  set(_mx_werror ${MX_ENABLE_WERROR})
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT MX_SANITIZE
    AND _mx_compiler_major EQUAL MX_GCC_WITHOUT_WARNINGS)
  set(_mx_werror ON)
else()
  set(_mx_werror OFF)
endif()
if(_mx_werror)
  add_compile_options(-Werror)
endif()
if(MX_SANITIZE)
  add_compile_options(-fsanitize=${MX_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MX_SANITIZE})
  # In every program.
  add_library(mx-sanitizer-options OBJECT
    ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.c)
endif()

if(MX_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})
if(MX_BUILD_COMPILER)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  include_directories(SYSTEM ${MLIR_INCLUDE_DIRS})
  # Link the shared libMLIR: archives beside it would duplicate its state.
  set(MLIR_LINK_MLIR_DYLIB ON)
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
endif()

# What every library asks of its users: the language, and, where the package is
# found, MLIR's headers, which lie elsewhere on their machine (MXConfig.cmake).
add_library(MXUsage INTERFACE)
add_library(MX::MXUsage ALIAS MXUsage)
target_compile_features(MXUsage INTERFACE cxx_std_17)

set(MX_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" ${LLVM_LIBRARY_DIR})

# mx_add_library(name SOURCES... [LINK libs...] [DEPENDS targets...])
# A static library of the project.
function(mx_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(MX::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MXUsage)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY MX_LIBRARIES ${name})
endfunction()

# mx_use_exceptions(targets...): what the runtime is made of. Where the host of
# libmx_runtime has no memory for what a call needs, the exception is caught at
# the C interface; LLVM's and MLIR's code has none, and its tools end.
function(mx_use_exceptions)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fexceptions)
  endforeach()
endfunction()

# mx_compile_together(target): reading headers, and compiling the same templates
# of them again, takes half of the time of a file or more: eight files do it once.
function(mx_compile_together target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${MX_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# mx_precompile_headers(target): MLIR's headers take most of the time that a file
# of the compiler takes. What a file uses it includes nevertheless: it must
# compile without this, too.
function(mx_precompile_headers target)
  if(NOT MX_PRECOMPILE_HEADERS OR NOT MX_BUILD_COMPILER)
    return()
  endif()
  if(NOT TARGET mx-precompiled)
    add_library(mx-precompiled OBJECT ${CMAKE_SOURCE_DIR}/cmake/Precompiled.cpp)
    target_precompile_headers(mx-precompiled PRIVATE
      ${CMAKE_SOURCE_DIR}/cmake/Precompiled.h)
    # What ccache compares instead of a gigabyte.
    file(SHA256 ${CMAKE_SOURCE_DIR}/cmake/Precompiled.h sum)
    file(WRITE
      ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/mx-precompiled.dir/cmake_pch.hxx.gch.sum
      "LLVM ${LLVM_PACKAGE_VERSION}, ${sum}\n")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  target_precompile_headers(${target} REUSE_FROM mx-precompiled)
endfunction()

# mx_add_mlir_library(name SOURCES... [LINK libs...] [DEPENDS targets...])
# A static library of the compiler; users of it link libMLIR and libLLVM.
function(mx_add_mlir_library name)
  mx_add_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  mx_precompile_headers(${name})
  mx_compile_together(${name})
  # What takes time in these libraries is MLIR's code, which is compiled already:
  # -O3 makes them no faster (docs/contributing/Developing.md), and takes a third longer.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_property(GLOBAL APPEND PROPERTY MX_MLIR_LIBRARIES ${name})
endfunction()

# mx_add_tool(name SOURCES... MAIN function [LINK libs...] [NOT_IN_WHEEL])
# The sources define `function` instead of a main: libmx (lib/Wheel) has them in
# it too, so they are objects of a shared library. tools/Main.c calls them.
function(mx_add_tool name)
  cmake_parse_arguments(ARG "NOT_IN_WHEEL" "MAIN" "LINK" ${ARGN})
  add_library(${name}-main OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}-main PUBLIC MXVersion ${ARG_LINK})
  mx_add_main(${name} ${ARG_MAIN} ${name}-main)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${MX_RPATH}")
  set_property(GLOBAL APPEND PROPERTY MX_TOOLS ${name})
  if(NOT ARG_NOT_IN_WHEEL)
    set_property(GLOBAL APPEND PROPERTY MX_WHEEL_TOOLS ${name})
    set_property(GLOBAL PROPERTY MX_MAIN_OF_${name} ${ARG_MAIN})
  endif()
endfunction()

# mx_add_main(name function libs...): a program that calls the function.
function(mx_add_main name function)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tools/Main.c)
  target_compile_definitions(${name} PRIVATE MX_MAIN=${function})
  target_link_libraries(${name} PRIVATE ${ARGN}
    $<TARGET_NAME_IF_EXISTS:mx-sanitizer-options>)
endfunction()

# mx_add_unittest(name SOURCES... [LINK libs...])
# A GoogleTest binary below unittests/; lit finds those whose name ends in Tests.
function(mx_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main
    $<TARGET_NAME_IF_EXISTS:mx-sanitizer-options>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/unittests)
  set_property(GLOBAL APPEND PROPERTY MX_UNITTESTS ${name})
endfunction()

# mx_add_fuzzer(name libs...): the libFuzzer harness fuzz-NAME.cpp, in fuzz/.
function(mx_add_fuzzer name)
  add_executable(fuzz-${name} fuzz-${name}.cpp)
  target_link_libraries(fuzz-${name} PRIVATE ${ARGN} LLVM)
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz-${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()
