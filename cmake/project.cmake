# What every target shares: warnings, sanitizers, ccache, one precompiled header, and the functions that declare targets.

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(cpprestsdk REQUIRED)
find_package(CURL 7.85 REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
include(GoogleTest)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # base_dir and sloppiness let a second checkout, and a build with a precompiled header, hit the same cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime CCACHE_PCH_EXTSUM=1 ${CCACHE_PROGRAM})
endif()

set(INFERENCE_SANITIZE "" CACHE STRING "value of -fsanitize=, empty for none")
option(INFERENCE_FUZZ "declare the fuzz targets, which need libFuzzer" OFF)
add_custom_target(fuzzers COMMENT "all fuzz targets")

add_library(inference_options INTERFACE)
target_include_directories(inference_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(inference_options INTERFACE -Wall -Wextra -Wconversion -Werror)
# -O2: half the time to compile, and what we do is bound by allocation and the network.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # GCC 12 sees overflows, overreads and unset members in std::string's own code once it is inlined (gcc bugs 105329, 105651, 105562); newer
  # releases do not.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(inference_options INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  target_compile_options(inference_options INTERFACE -ffunction-sections -fdata-sections)
  target_link_options(inference_options INTERFACE -Wl,--gc-sections -Wl,--as-needed)
endif()
if(INFERENCE_SANITIZE)
  target_compile_options(inference_options INTERFACE -fsanitize=${INFERENCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(inference_options INTERFACE -fsanitize=${INFERENCE_SANITIZE})
endif()

# nlohmann/json takes seconds to parse in each translation unit; it and the standard headers are compiled once.
add_library(inference_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
target_link_libraries(inference_pch PUBLIC inference_options nlohmann_json::nlohmann_json)
target_precompile_headers(inference_pch PUBLIC <nlohmann/json.hpp> <chrono> <expected> <functional> <map> <memory> <optional> <string>
                          <string_view> <variant> <vector>)

# inference_library(name SOURCES a.cc b.cc DEPS inference_base … [PRIVATE_DEPS lib …])
function(inference_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC inference_options nlohmann_json::nlohmann_json ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  target_precompile_headers(${name} REUSE_FROM inference_pch)
endfunction()

# inference_test(name SOURCES x_test.cc … DEPS inference_base … [LABELS label …] [SECONDS number])
# `fast` tests, which are those without a label, need nothing but the build; others have a control plane of their own while they run (`./dev test` gives it).
# SECONDS is about how long it takes: the longest start first.
function(inference_test name)
  cmake_parse_arguments(ARG "" "SECONDS" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inference_options nlohmann_json::nlohmann_json ${ARG_DEPS} inference_source_path GTest::gtest
                        GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM inference_pch)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(ARG_LABELS)
    set(launcher ${CMAKE_SOURCE_DIR}/e2e/on_given_cluster.sh)
    set(resources RESOURCE_GROUPS "clusters:1")
  else()
    set(ARG_LABELS fast)
  endif()
  add_test(NAME ${name} COMMAND ${launcher} $<TARGET_FILE:${name}> --gtest_brief=1 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(ARG_SECONDS)
    list(APPEND resources COST ${ARG_SECONDS})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 1500 ${resources}
                       ENVIRONMENT "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0;TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp")
endfunction()

# inference_fuzzer(x_fuzz SOURCES x_fuzz.cc … DEPS inference_base … [SEEDS pattern …])
# Starts from corpus/x and from the project's files that match a pattern; `./dev test --only fuzz` runs it. Outside the preset `fuzz` there is no
# such target.
function(inference_fuzzer name)
  if(NOT INFERENCE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;SEEDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE inference_options nlohmann_json::nlohmann_json ${ARG_DEPS} -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzzers ${name})
  string(REGEX REPLACE "_fuzz$" "" corpus ${name})
  set(seeds "")
  if(ARG_SEEDS)
    list(TRANSFORM ARG_SEEDS PREPEND ${CMAKE_SOURCE_DIR}/)
    file(GLOB seeds CONFIGURE_DEPENDS ${ARG_SEEDS})
    list(JOIN seeds "," seeds)
    string(PREPEND seeds "-seed_inputs=")
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/cmake/fuzz.sh $<TARGET_FILE:${name}> ${CMAKE_SOURCE_DIR}/corpus/${corpus} ${seeds})
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 0)
endfunction()
