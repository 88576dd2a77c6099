# How libraries, tools and unit tests are built: language, warnings, sanitizers, compiler
# cache, folders of outputs. Shared by the simulator and the compiler.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(MX_ENABLE_WERROR OFF CACHE STRING
  "Treat warnings as errors: ON, OFF, or AUTO, with the g++ that the suite is built with")
option(MX_UNITY_BUILD "Compile several files of a library at a time" ON)
option(MX_BUILD_FUZZERS "Build the libFuzzer harnesses (needs clang)" OFF)
set(MX_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

find_program(MX_CCACHE ccache)
if(MX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the source tree let several clones, and build directories
  # of one depth, share the cache. With precompiled headers ccache needs the promise
  # that they define nothing that changes from run to run (its manual,
  # "Precompiled headers").
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${MX_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
include(GNUInstallDirs)
find_package(Threads REQUIRED)

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fno-exceptions)
# The warnings of other compiler versions differ.
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
  # Linked into every program.
  add_library(mx-sanitizer-options OBJECT ${CMAKE_CURRENT_LIST_DIR}/SanitizerOptions.c)
endif()
if(MX_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# Requirements of every library on its users: the language, and MLIR's headers, which
# MXConfig.cmake adds.
add_library(MXUsage INTERFACE)
add_library(MX::MXUsage ALIAS MXUsage)
target_compile_features(MXUsage INTERFACE cxx_std_17)

set(MX_MAIN_SOURCE ${CMAKE_CURRENT_LIST_DIR}/Main.c)
set(MX_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")

# mx_add_library(name SOURCES... [LINK libs...] [DEPENDS targets...])
# A static library of the project whose CMakeLists.txt is read.
function(mx_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(MX::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(EXISTS ${PROJECT_BINARY_DIR}/include) # tablegen's
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MXUsage)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY MX_LIBRARIES ${name})
endfunction()

# mx_use_exceptions(targets...): for libraries of the runtime. If memory runs out in a host
# of libmx_runtime, the C interface catches the exception; LLVM's and MLIR's code is built
# without exceptions, and its tools end.
function(mx_use_exceptions)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE -fexceptions)
  endforeach()
endfunction()

# mx_compile_together(target): compiles twenty files at a time, because headers and
# their templates take half of the time of a file or more.
function(mx_compile_together target)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${MX_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 20)
endfunction()

# mx_add_tool(name SOURCES... MAIN function [LINK libs...] [NOT_IN_WHEEL])
# The sources define `function` instead of a main, so that libmx (python/CMakeLists.txt) can
# contain several tools: they are objects of a shared library. Main.c calls `function`.
function(mx_add_tool name)
  cmake_parse_arguments(ARG "NOT_IN_WHEEL" "MAIN" "LINK" ${ARGN})
  add_library(${name}-main OBJECT ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}-main PUBLIC ${ARG_LINK})
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
  add_executable(${name} ${MX_MAIN_SOURCE})
  target_compile_definitions(${name} PRIVATE MX_MAIN=${function})
  target_link_libraries(${name} PRIVATE ${ARGN}
    $<TARGET_NAME_IF_EXISTS:mx-sanitizer-options>)
endfunction()

# mx_add_unittest(name SOURCES... [LINK libs...])
# A GoogleTest binary in unittests/ of the project; lit finds the binaries whose name ends
# in Tests.
function(mx_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main
    $<TARGET_NAME_IF_EXISTS:mx-sanitizer-options>)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
endfunction()

# mx_add_fuzzer(name libs...): the libFuzzer harness fuzz-NAME.cpp, in fuzz/.
function(mx_add_fuzzer name)
  add_executable(fuzz-${name} fuzz-${name}.cpp)
  target_link_libraries(fuzz-${name} PRIVATE ${ARGN})
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(fuzz-${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
endfunction()
