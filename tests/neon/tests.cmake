# NEON without the metal (docs/decisions/0030): a cross build, then the test programs of the numeric rooms under qemu.
# On AArch64 itself the ordinary tests run the NEON units.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" OR MAGLIO_SANITIZE)
  return()
endif()

function(add_neon_test name)
  add_test(NAME neon.${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/neon/run.sh ${ARGN})
  set_tests_properties(neon.${name} PROPERTIES LABELS neon SKIP_RETURN_CODE 77 TIMEOUT 1800)
endfunction()

add_neon_test(cross_build build)
set_tests_properties(neon.cross_build PROPERTIES FIXTURES_SETUP neon PROCESSORS 2 COST 1000)

add_neon_test(isa_units_are_sealed sealed)
add_neon_test(tensor max tensor)
add_neon_test(quant max quant)
add_neon_test(kernels max kernels)
add_neon_test(ops max ops)
# Without the four largest shapes, which take as long as all others together, and without the memory of the process,
# which is qemu's.
add_neon_test(model max model --gtest_filter=-*.APromptOf4097*:*FamilyGeometry*/1_7B:*/4B:*/8B:Loading.Memory*)
# What each processor chooses, and that the choice runs there: a stray instruction would be illegal.
set(quick --gtest_filter=Registry.*:Quantize.*:Matmul.EveryFormat*)
add_neon_test(cortex_a76_chooses_neon cortex-a76 kernels ${quick})
add_neon_test(cortex_a57_chooses_scalar cortex-a57 kernels ${quick})
set(tests isa_units_are_sealed tensor quant kernels ops model cortex_a76_chooses_neon cortex_a57_chooses_scalar)
list(TRANSFORM tests PREPEND neon.)
set_tests_properties(${tests} PROPERTIES FIXTURES_REQUIRED neon)
set_tests_properties(neon.cortex_a76_chooses_neon PROPERTIES ENVIRONMENT MAGLIO_EXPECTED_ISA=neon)
set_tests_properties(neon.cortex_a57_chooses_scalar PROPERTIES ENVIRONMENT MAGLIO_EXPECTED_ISA=scalar)
# "max" has everything that qemu knows.
set_tests_properties(neon.model neon.kernels PROPERTIES COST 100 ENVIRONMENT MAGLIO_EXPECTED_ISA=neon_i8mm)
