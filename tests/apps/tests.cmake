# The script that compares two engines, with engines that only pretend.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME apps.bench_against
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apps/bench_against_test.py)
set_tests_properties(apps.bench_against PROPERTIES LABELS apps TIMEOUT 600)
