# Templates against the reference: Python's jinja2 renders the same, or raises as well.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(render_jinja jinja/programs/render_jinja.cpp)
target_link_libraries(render_jinja PRIVATE test_support Boost::headers)
add_dependencies(jinja_tests render_jinja)
add_test(NAME jinja.oracle
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/jinja/oracle.py
                 $<TARGET_FILE:render_jinja>)
set_tests_properties(jinja.oracle PROPERTIES LABELS jinja TIMEOUT 600 SKIP_RETURN_CODE 77)
