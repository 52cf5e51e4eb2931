# Every unit of one instruction set exports its table and nothing else, in this build and at -O0,
# where the compiler inlines nothing that could hide a leak.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(units)
foreach(isa scalar avx2 avxvnni avx512 avx512vnni neon)
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
