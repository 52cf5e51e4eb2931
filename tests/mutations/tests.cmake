# What the documents claim about the tests: every row of docs/coverage.md names a test that runs, and every listed
# mutation still finds its place and its test (tools/mutate.py applies them; that takes minutes and is run by hand).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs.coverage_rows_name_tests_that_run
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/check_coverage.py --ctest ${CMAKE_BINARY_DIR})
add_test(NAME docs.mutations_find_their_places
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/mutate.py --dry-run)
set_tests_properties(docs.coverage_rows_name_tests_that_run docs.mutations_find_their_places PROPERTIES LABELS docs)
