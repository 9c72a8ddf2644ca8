# How every C file of the project is compiled, and what the kernels' file suffixes mean.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Unoptimised kernels make the suites of 64-bit counts too slow to run after every change.
set(CMAKE_C_FLAGS_DEBUG "-O1 -g3")

# Carried by our own targets only; a user of the installed package sees none of it.
add_library(rp_flags INTERFACE)
target_compile_definitions(rp_flags INTERFACE _GNU_SOURCE)
target_compile_options(rp_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wvla
  $<$<BOOL:${RP_WERROR}>:-Werror>
  -fno-omit-frame-pointer
  # Equal bits on every instruction set: a compiler must not fuse a multiply and an add on its own.
  -ffp-contract=off)

# The sanitizers cover the libraries and every program, also those that are built like a user's.
if(RP_SANITIZE)
  add_compile_options(-fsanitize=${RP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RP_SANITIZE})
endif()

# rp_isa_filter(VAR): drop from the list VAR the files of another processor's instruction sets and give
# the rest the flags that their suffix stands for.
function(rp_isa_filter var)
  set(files ${${var}})
  set(x86_suffixes avx2 avx512 avx512bf16)
  set(flags_avx2 -mavx2 -mfma -mf16c)
  set(flags_avx512 ${flags_avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq)
  set(flags_avx512bf16 ${flags_avx512} -mavx512bf16)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    foreach(suffix IN LISTS x86_suffixes)
      set(of_suffix ${files})
      list(FILTER of_suffix INCLUDE REGEX "_${suffix}\\.c$")
      set_source_files_properties(${of_suffix} PROPERTIES COMPILE_OPTIONS "${flags_${suffix}}")
    endforeach()
  else()
    list(FILTER files EXCLUDE REGEX "_(avx2|avx512|avx512bf16)\\.c$")
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(FILTER files EXCLUDE REGEX "_neon\\.c$")
  endif()
  set(${var} ${files} PARENT_SCOPE)
endfunction()
