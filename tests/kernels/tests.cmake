# Every unit of one instruction set exports its table and nothing else, in this build and at -O0,
# where the compiler inlines nothing that could hide a leak.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(units)
foreach(isa scalar avx2 avxvnni avx512 avx512vnni neon neon_i8mm)
  if(TARGET maglio_isa_${isa})
    add_library(isa_${isa}_unoptimised OBJECT ${CMAKE_SOURCE_DIR}/src/kernels/isa_${isa}.cpp)
    target_include_directories(isa_${isa}_unoptimised PRIVATE ${CMAKE_SOURCE_DIR}/src
                                                              ${CMAKE_SOURCE_DIR}/include)
    get_target_property(flags maglio_isa_${isa} COMPILE_OPTIONS)
    if(NOT flags)
      set(flags)  # "flags-NOTFOUND"
    endif()
    target_compile_options(isa_${isa}_unoptimised PRIVATE ${flags} -O0)
    add_dependencies(kernels_tests isa_${isa}_unoptimised)
    list(APPEND units $<TARGET_OBJECTS:maglio_isa_${isa}> $<TARGET_OBJECTS:isa_${isa}_unoptimised>)
  endif()
endforeach()

# The AVX-VNNI unit in the encoding that AVX-512 machines have for the same operations.
if(TARGET maglio_isa_avxvnni)
  add_library(isa_avxvnni_evex OBJECT ${CMAKE_SOURCE_DIR}/src/kernels/isa_avxvnni.cpp)
  target_include_directories(isa_avxvnni_evex PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_compile_definitions(isa_avxvnni_evex PRIVATE MAGLIO_TABLE=kernels_avxvnni_evex)
  target_compile_options(isa_avxvnni_evex PRIVATE -fno-exceptions ${AVX2_FLAGS} -mavx512f -mavx512vl -mavx512vnni)
  target_link_libraries(kernels_tests PRIVATE isa_avxvnni_evex)
endif()

add_test(NAME kernels.isa_units_are_sealed
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_isa_symbols.py
                 --nm ${CMAKE_NM} ${units})
set_tests_properties(kernels.isa_units_are_sealed PROPERTIES LABELS kernels)

# The AVX-512 and AVX-VNNI units without the metal: the same source over SIMDe, on AVX2, among the tables of every equality test.
# -O0: g++ 12 crashes on these vectors at -O1 (scalar replacement), and without that pass compiles for two minutes.
if(TARGET maglio_isa_avx512)
  find_path(SIMDE_INCLUDE simde/x86/avx512.h)
  if(SIMDE_INCLUDE)
    set(simde_units avxvnni avx512 avx512vnni)
    list(TRANSFORM simde_units REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/kernels/simde/\\1.cpp")
    add_library(avx512_over_simde OBJECT ${simde_units})
    target_include_directories(avx512_over_simde PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                                         ${CMAKE_CURRENT_SOURCE_DIR})
    target_include_directories(avx512_over_simde SYSTEM PRIVATE ${SIMDE_INCLUDE})
    target_compile_options(avx512_over_simde PRIVATE ${AVX2_FLAGS} -O0 -Wno-psabi)
    if(MAGLIO_SANITIZE)
      target_compile_options(avx512_over_simde PRIVATE -fno-sanitize=all)
    endif()
    target_link_libraries(kernels_tests PRIVATE avx512_over_simde)
    target_compile_definitions(kernels_tests PRIVATE MAGLIO_TEST_SIMDE=1)
  endif()
endif()

# An emulated processor without AVX: it must choose the scalar table, and nothing else in the program may need more.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT MAGLIO_SANITIZE)
  add_test(NAME kernels.nehalem_chooses_scalar COMMAND sh -c "command -v qemu-x86_64-static ||\
 { echo 'skipped: qemu-x86_64-static is missing (tools/setup.sh test)'; exit 77; };\
 exec qemu-x86_64-static -cpu Nehalem $<TARGET_FILE:kernels_tests> --gtest_filter=Registry.*:Quantize.*:Matmul.EveryFormat*")
  set_tests_properties(kernels.nehalem_chooses_scalar PROPERTIES
    ENVIRONMENT MAGLIO_EXPECTED_ISA=scalar LABELS kernels SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
