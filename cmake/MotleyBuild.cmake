# SPDX-License-Identifier: Apache-2.0
# Flags and helpers that every folder's CMakeLists.txt uses.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
# Default flags of a build type, unless the user sets them (-DCMAKE_CXX_FLAGS_RELEASE=...).
macro(motley_default_flags build_type flags)
  foreach(language C CXX)
    string(STRIP "${CMAKE_${language}_FLAGS_${build_type}_INIT}" untouched)
    if("${CMAKE_${language}_FLAGS_${build_type}}" STREQUAL "${untouched}")
      set(CMAKE_${language}_FLAGS_${build_type} "${flags}")
    endif()
  endforeach()
endmacro()
motley_default_flags(RELEASE "-O2")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_compile_options(-Wall -Wextra -Wshadow -Wno-missing-field-initializers)
option(MOTLEY_WERROR "Treat warnings as errors" ON)
if(MOTLEY_WERROR)
  add_compile_options(-Werror)
endif()
# Fused multiply-adds would make portable arithmetic differ between machines. The kernel modules
# enable them for themselves.
add_compile_options(-ffp-contract=off)
# No program interposes functions of the library, so they may be inlined within a file, although the
# code also goes into libmotley.so. Simulated events take 4 % less time.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-semantic-interposition>)

# For ./dev test --asan and --tsan. Undefined behaviour ends the program, so that tests notice it.
set(MOTLEY_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
if(MOTLEY_SANITIZE)
  # With sanitizers, g++ 12 reports absent values of variants as uninitialised.
  add_compile_options(-fsanitize=${MOTLEY_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1 -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${MOTLEY_SANITIZE})
  motley_default_flags(RELWITHDEBINFO "-O1")
endif()
# Seconds after which a test counts as hanging. Sanitizers and emulators take up to twenty times as
# long.
if(MOTLEY_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(MOTLEY_TEST_SECONDS 1200)
else()
  set(MOTLEY_TEST_SECONDS 300)
endif()

option(MOTLEY_FUZZ "Build motley-fuzz; needs clang (./dev fuzz)" OFF)
if(MOTLEY_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Without this sloppiness ccache ignores files that use a precompiled header. The base directory
  # makes paths relative, so that several checkouts share compiled files.
  set(ccache_launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
                      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
endif()
find_program(LLD_PROGRAM ld.lld)
if(LLD_PROGRAM AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=lld)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)

set(MOTLEY_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <cstring> <deque> <fmt/format.h>
    <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <string> <string_view>
    <utility> <vector>)

# motley_precompile(NAME KIND k HEADERS <a> ...): precompiles headers that nearly every file of a
# kind of targets includes, with the first target of that kind. Reading them takes a third to a half
# of the compile time. GCC only, because ccache does not support clang's. Not on 64-bit Arm, where
# GCC 12 then fails on <arm_sve.h>, which Highway includes.
function(motley_precompile name)
  cmake_parse_arguments(ARG "" "KIND" "HEADERS" ${ARGN})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)")
    return()
  endif()
  # With precompiled headers GCC 12 warns wrongly about overlapping, overflowing or overlong copies
  # in std::string (its bug 105651).
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess -Wno-restrict
                                         -Wno-array-bounds -Wno-stringop-overflow
                                         -Wno-stringop-overread>)
  get_property(first GLOBAL PROPERTY MOTLEY_FIRST_${ARG_KIND})
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
    set_property(GLOBAL PROPERTY MOTLEY_FIRST_${ARG_KIND} ${name})
  endif()
endfunction()

# motley_library(NAME SOURCES a.cc ... DEPS motley_base ... PRIVATE lib ...): the one target of a
# folder. DEPS are the folders that it may include; PRIVATE are third-party libraries for its own
# sources; PRECOMPILE <h> are large headers that most of its files include.
function(motley_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE fmt::fmt ${ARG_PRIVATE})
  # Not under sanitizers: there, files must include what they use and compile without those
  # warnings.
  if(NOT MOTLEY_SANITIZE)
    set(kind library)
    if(ARG_PRECOMPILE)
      set(kind ${name})
    endif()
    motley_precompile(${name} KIND ${kind} HEADERS ${MOTLEY_COMMON_HEADERS} ${ARG_PRECOMPILE})
  endif()
endfunction()

# Paths of this checkout and its build folder for the tests. They are in a header and not among each
# test's options, so that another checkout recompiles only the files that include it.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_paths/test_paths.h CONTENT
     "#define MOTLEY_SOURCE_DIR \"@CMAKE_SOURCE_DIR@\"\n#define MOTLEY_BINARY_DIR \"@CMAKE_BINARY_DIR@\"\n"
     @ONLY)

# motley_test(NAME SOURCES a_test.cc ... DEPS motley_x ... [SLOW] [SECONDS n]): one gtest program
# per folder; each TEST is a ctest entry. SLOW ones run only with ./dev test --full. SECONDS: time
# after which each counts as hanging.
function(motley_test name)
  cmake_parse_arguments(ARG "SLOW" "SECONDS" "SOURCES;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} fmt::fmt GTest::gtest GTest::gmock
                        GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/test_paths)
  # Tests should compile fast; the code that they test is compiled as for users.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  motley_precompile(${name} KIND test HEADERS <functional> <map> <fmt/format.h> <gmock/gmock.h>
                    <gtest/gtest.h>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(ARG_SLOW)
    set(label slow)
    set(seconds 3600)
  else()
    set(label fast)
    set(seconds ${MOTLEY_TEST_SECONDS})
  endif()
  if(ARG_SECONDS)
    set(seconds ${ARG_SECONDS})
  endif()
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 120
                       PROPERTIES LABELS ${label} TIMEOUT ${seconds})
endfunction()

# A module that is built where it can be: the option MOTLEY_WITH_<name>. Ends the caller's file if
# the module is off.
macro(motley_optional_module name what)
  set(MOTLEY_WITH_${name} AUTO CACHE STRING "Build the ${what}: AUTO (when it can be), ON or OFF")
  set_property(CACHE MOTLEY_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(MOTLEY_WITH_${name} STREQUAL OFF)
    message(STATUS "${what}: off (MOTLEY_WITH_${name})")
    return()
  endif()
endmacro()
# This machine lacks what the module needs. Ends the caller's file, or the configuration if ON was
# asked for.
macro(motley_module_needs name what needs)
  if(NOT MOTLEY_WITH_${name} STREQUAL AUTO)
    message(FATAL_ERROR "MOTLEY_WITH_${name}=${MOTLEY_WITH_${name}} needs ${needs}")
  endif()
  message(STATUS "${what}: not built; it needs ${needs}")
  return()
endmacro()
