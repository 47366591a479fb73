# CUDA, only with -DCUZK_CUDA=ON: nvcc (toolkit 12.4 or later) on PATH or in CMAKE_CUDA_COMPILER.
# The runtime is linked statically and loads the driver when first used, so that programs start on
# machines without one.
option(CUZK_CUDA "Build the CUDA backend" OFF)
option(CUZK_LINEINFO "Source lines in device code, for profilers: programs of three times the size" OFF)
set(CUZK_STATIC_NEEDS -lpthread) # of whoever links a static library of ours
if(CUZK_CUDA)
  set(CUZK_STATIC_NEEDS -lstdc++ -ldl -lrt -lpthread)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "CUZK_CUDA is ON but nvcc was not found; put it on PATH or turn CUZK_CUDA off")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 12.4 REQUIRED)
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
endif()

# Flags for a target's .cu files. Device code is left uncompressed for tools/check_sass.py. C's
# _Alignas is spelled alignas in C++.
function(cuzk_cuda_flags target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${CUZK_LINEINFO}>>:-lineinfo>
    $<$<COMPILE_LANGUAGE:CUDA>:--no-compress --extended-lambda --expt-relaxed-constexpr
      -Xcompiler=-Wall,-Wextra,-Wno-unused-function,-Wno-pedantic,-Wno-unknown-pragmas
      --diag-suppress=177>)
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:_Alignas=alignas>)
endfunction()
